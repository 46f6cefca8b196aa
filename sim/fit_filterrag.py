"""Trains ML-FilterRAG's forest: poisons and true passages of development questions, as the paper does.

Five PoisonedRAG texts and the five passages nearest to each question. Questions are those that training
has for training, with a prepared poison; accuracy is told of questions that it has for validation. Test
questions are never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from aggregator.llm import open_llm
from aggregator.llm.cache import ResponseCache
from core.config import StrictModel
from core.embedding import open_embedder
from core.embedding.base import Embedder
from core.errors import DataError
from core.llm import LLM, Capability, ScoringLLM, require_llm
from core.paths import cache_dir
from defenses.forest import Forest, fit
from defenses.ml_filterrag import FEATURES, FeatureConfig, Features
from sim.corpora import Question, load_corpus, select_questions
from sim.progress import Progress, counting
from sim.reproduce.tris_pool import craft
from sim.rounds import PreparedCorpus, prepare
from sim.sweep.metering import Meter, MeteredLLM
from sim.sweep.work import MEMORY
from sim.training_rounds import split_of
from source_node.index import cosine_scores

_EACH = 5  # poisons, and passages, of a question


class FitOptions(StrictModel):
    """Keys of the YAML that `scr sim fit --config` takes.

    `dataset`: BEIR-style folders with poison.jsonl. `skip`: the first so many questions of each are left to
    experiments (`scr sim sweep --preset rivals` asks 10 of the filters that ask a model). `queries`: at most
    so many of each folder are trained on; `held_out`: as many at most tell the accuracy (None: as many).
    """

    dataset: tuple[str, ...] = Field(min_length=1)
    skip: int = Field(default=20, ge=0)
    queries: int = Field(default=20, ge=1)
    held_out: int | None = Field(default=None, ge=0)
    llm: str = "smollm2"
    embedder: str = "all-MiniLM-L6-v2"
    features: FeatureConfig = FeatureConfig(max_tokens=8)
    trees: int = Field(default=40, ge=1, le=500)
    depth: int = Field(default=4, ge=1, le=12)
    seed: int = Field(default=0, ge=0)
    cache_dir: Path | None = None


def fit_filterrag(options: FitOptions, progress: Progress, llm: LLM | None = None) -> Forest:
    """The forest, its `about` with what it was trained on and its accuracy there and on validation questions.

    `llm` stands in place of the model that the options name.

    Raises:
        DataError: a folder has no question to train on.
        ConfigError: the model gives no log-probabilities.
        LLMError: the model failed.
    """
    embedder = open_embedder(options.embedder, options.cache_dir)
    opened = llm or open_llm(options.llm, cache_dir=options.cache_dir)
    require_llm(opened, "scr sim fit ml_filterrag", [Capability.LOGPROBS])
    memory = ResponseCache(cache_dir(options.cache_dir) / MEMORY)
    remembering = cast("ScoringLLM", MeteredLLM(opened, memory, Meter()))
    features = Features(options.features, remembering, embedder)
    rows: dict[str, list[NDArray[np.float64]]] = {"train": [], "validation": []}
    bad: dict[str, list[bool]] = {"train": [], "validation": []}
    counts: dict[str, dict[str, int]] = {}
    for path in options.dataset:
        corpus = load_corpus(path)
        questions = [q for q in select_questions(corpus)[options.skip :] if q.query_id in corpus.poisons]
        prepared = prepare(corpus, embedder)
        counts[corpus.name] = {}
        most = {"train": options.queries, "validation": options.held_out}
        for split, limit in most.items():
            chosen = [q for q in questions if split_of(q) == split]
            chosen = chosen[: options.queries if limit is None else limit]
            counts[corpus.name][split] = len(chosen)
            with counting(progress, f"{corpus.name} {split}", len(chosen)):
                for question in chosen:
                    for text, poison in _texts(prepared, question, embedder, options.seed):
                        rows[split].append(features.of(question.text, text))
                        bad[split].append(poison)
                    progress.advance()
        if not counts[corpus.name]["train"]:
            raise DataError(
                f"{path}: no question for training has a poison record after the first {options.skip}; "
                "lower --skip"
            )
    x, y = np.stack(rows["train"]), np.array(bad["train"])
    about = {
        "defense": "ml_filterrag",
        "llm": opened.name,
        "taken": options.features.model_dump(mode="json"),
        "questions": counts,
        "skip": options.skip,
        "rows": len(y),
        "seed": options.seed,
    }
    forest = fit(x, y, FEATURES, about, trees=options.trees, depth=options.depth, seed=options.seed)
    told: dict[str, float | None] = {}
    for split in ("train", "validation"):
        told[f"{split}_accuracy"] = _accuracy(forest, rows[split], bad[split])
    return Forest(forest.features, forest.trees, {**about, **told})


def _texts(
    prepared: PreparedCorpus, question: Question, embedder: Embedder, seed: int
) -> list[tuple[str, bool]]:
    """Poisons and the nearest passages of a question, each with whether it is a poison."""
    (asked,) = craft(prepared, [question], "poisonedrag", _EACH, seed)
    scores = cosine_scores(prepared.vectors, embedder.embed([question.text])[0])
    nearest = np.argsort(-scores, kind="stable")[:_EACH]
    documents = prepared.corpus.documents
    return [(text, True) for text in asked.texts] + [(documents[int(i)].text, False) for i in nearest]


def _accuracy(forest: Forest, rows: Sequence[NDArray[np.float64]], bad: Sequence[bool]) -> float | None:
    if not rows:
        return None
    return float(((forest.probability(np.stack(rows)) > 0.5) == np.array(bad)).mean())
