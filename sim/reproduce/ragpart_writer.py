"""AdvRAGgen's writer after preference training, for tables that ask for it (`--set train=ROUNDS`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.config import dump
from core.embedding.base import Embedder
from core.errors import ConfigError, DataError
from core.paths import cache_dir
from core.seeding import generator
from core.text import content_hash
from sim.attacks.preference import PreferenceConfig, train_writer
from sim.attacks.writers import Writer, open_writer
from sim.corpora import Corpus, select_questions
from sim.progress import Progress
from sim.reproduce.retrieval import Scene
from sim.reproduce.table import ReproduceOptions


def trained_writer(
    options: ReproduceOptions,
    corpus: Corpus,
    embedder: Embedder,
    scene: Scene,
    *,
    rounds: int,
    pairs: int,
    progress: Progress,
) -> Writer:
    """A writer trained on `pairs` questions that `scene` does not measure; kept in the cache folder.

    Raises:
        ConfigError: the language model cannot be trained here. DataError: no question is left to train on.
        MissingPackageError: trl is not installed.
    """
    config = PreferenceConfig(rounds=rounds)
    told = training_documents(corpus, scene, pairs, options.seed)
    base = _base(options)
    key = content_hash(
        "\x1f".join([str(base), dump(config), str(options.seed), embedder.identity, str(told)])
    )
    folder = cache_dir(options.cache_dir) / "writers" / key[:16]
    if not folder.is_dir():
        train_writer(base, folder, told, embedder, config, options.seed, progress)
    return open_writer(f"transformers:{folder}")


def training_documents(corpus: Corpus, scene: Scene, pairs: int, seed: int) -> list[tuple[str, str]]:
    """(question, document) pairs: questions outside `scene`, documents of it that no attack touches."""
    measured = {asked.query_id for asked in scene.asked}
    questions = [q for q in select_questions(corpus) if q.query_id not in measured][:pairs]
    if not questions:
        raise DataError(f"{corpus.name}: every question is measured, none is left to train a writer on")
    touched = scene.adversarial.union(*(asked.gold for asked in scene.asked))
    rows = np.array([row for row in range(len(scene.texts)) if row not in touched])
    rng = generator(seed, "writer", corpus.name)
    drawn = rng.choice(rows, size=min(len(questions), len(rows)), replace=False)
    return [
        (question.text, scene.texts[row]) for question, row in zip(questions, drawn.tolist(), strict=False)
    ]


def _base(options: ReproduceOptions) -> Path:
    name, _, argument = (options.llm or "smollm2").partition(":")
    if name == "smollm2":
        from aggregator.llm.smollm2 import converted

        return converted(options.cache_dir)
    if name == "transformers" and Path(argument).is_dir():
        return Path(argument)
    raise ConfigError(
        f"--set train needs a local causal model, smollm2 or transformers:FOLDER, not {options.llm!r}"
    )
