"""What Tables 7 to 17 of the RAGPart paper share here: settings, scene, attacks, defenses, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from pydantic import Field

from aggregator.llm import open_llm
from core.config import StrictModel, parse
from core.embedding import open_embedder
from core.embedding.base import Embedder
from core.embedding.minilm import MiniLMEmbedder
from core.errors import ConfigError
from core.llm import LLM
from core.seeding import generator
from core.stage import Resources
from defenses.paraphrase import ParaphraseStage
from defenses.perplexity import PerplexityStage
from defenses.ragmask.mask import MaskConfig, Masker, Mode
from defenses.ragpart.poll import Aggregation
from sim.attacks.advraggen import BestOfCrafter
from sim.attacks.crafting import Crafter
from sim.attacks.hotflip import HotFlipConfig, HotFlipCrafter, SpreadCrafter
from sim.attacks.query_as_poison import QueryCrafter
from sim.attacks.whitebox import WhiteBox
from sim.attacks.writers import Writer, open_writer
from sim.bootstrap import ratio, ratio_interval
from sim.corpora import Corpus, load_corpus
from sim.progress import Progress
from sim.reproduce.ragpart_published import ATTACKS, CONTRADICTIONS, SOURCE
from sim.reproduce.ragpart_writer import trained_writer
from sim.reproduce.retrieval import (
    Masking,
    Rates,
    Retrieval,
    Scene,
    Staged,
    Undefended,
    Voting,
    measure,
    poison,
)
from sim.reproduce.retrieval import set_scene as stage_scene
from sim.reproduce.table import ReproduceOptions, Row, Table

PAPER_QUESTIONS = 512
WOVEN = "advraggen_woven"  # ours: the topic all over the document, against defenses that judge pieces


class LabSettings(StrictModel):
    """`--set KEY=VALUE` of these tables.

    `p`: documents retrieved; 8, since a question has six to eight related documents in these corpora, and
    fewer places leave the weaker attacks nothing to win. `alpha`: RAGMask examines alpha * p. `fragments`,
    `segment`, `delta`, `mode`: as the defenses have them. `per_question`: irrelevant documents made
    adversarial, of at least `min_words` words.
    `iterations`, `candidates`, `tokens`, `places`: HotFlip's. `stop_at`: HotFlip stops at this cosine.
    `samples`: AdvRAGgen's paraphrases per document. `train`: rounds of preference training that its
    language model goes through first, on `train_pairs` questions that are not measured. `baselines`: the
    perplexity filter and paraphrasing too. `retriever`: whose published figures stand beside.
    """

    p: int = Field(default=8, ge=1)
    alpha: float = Field(default=2.5, ge=1.0)
    fragments: int = Field(default=5, ge=1)
    segment: int = Field(default=10, ge=1)
    delta: float = Field(default=0.03, ge=0.0)
    mode: Mode = Mode.EXACT
    per_question: int = Field(default=3, ge=1)
    min_words: int = Field(default=50, ge=0)
    iterations: int = Field(default=6, ge=1)
    candidates: int = Field(default=12, ge=1)
    tokens: int | None = Field(default=None, ge=1, le=128)
    places: int = Field(default=3, ge=1)
    stop_at: float = Field(default=0.8, gt=0.0, le=1.0)
    samples: int = Field(default=16, ge=1)
    train: int = Field(default=0, ge=0)
    train_pairs: int = Field(default=12, ge=1)
    baselines: bool = False
    retriever: Literal["contriever", "ance", "me5", "gte-large"] = "contriever"


class Lab:
    """One table's measurements.

    Args:
        table: its name.
        options: what the command was asked with.
        questions, documents: the default size; `--full` is the paper's number of questions and the
            whole corpus, with 30 iterations of 100 candidates for HotFlip.

    Raises:
        ConfigError: no dataset, or a setting that is unknown or wrong.
    """

    def __init__(
        self,
        table: str,
        options: ReproduceOptions,
        progress: Progress,
        questions: int,
        documents: int | None = None,
    ) -> None:
        if options.dataset is None:
            raise ConfigError(f"{table} is measured on data: give --dataset PATH (a BEIR-style folder)")
        self.table = table
        self.options = options
        self.progress = progress
        given: dict[str, Any] = {"iterations": 30, "candidates": 100} if options.full else {}
        self.settings = parse(LabSettings, {**given, **options.setting}, f"{table} --set")
        self.n_questions = options.queries or (PAPER_QUESTIONS if options.full else questions)
        self.n_documents = options.documents or (None if options.full else documents)

    @cached_property
    def embedder(self) -> Embedder:
        """The retriever's embedder, cached on disk."""
        return open_embedder(self.options.embedder, self.options.cache_dir)

    @cached_property
    def clean(self) -> Scene:
        """The scene before any attack."""
        chosen, corpus = self.options, self.load()
        self.progress.say(f"{corpus.name}: {len(corpus.documents)} documents")
        return stage_scene(
            corpus,
            self.embedder,
            self.n_questions,
            chosen.seed,
            n_documents=self.n_documents,
            per_question=self.settings.per_question,
            min_words=self.settings.min_words,
        )

    def load(self) -> Corpus:
        """The whole data set."""
        chosen = self.options
        assert chosen.dataset is not None
        return load_corpus(chosen.dataset, chosen.queries_file, chosen.qrels, chosen.poison)

    @property
    def corpus(self) -> str:
        """The paper's data set that is nearest: `fiqa` for finance, else `nq`."""
        return "fiqa" if "fin" in str(self.options.dataset).lower() else "nq"

    def attacked(self, attack: str) -> Scene:
        """The scene with every irrelevant document poisoned by `attack`."""
        found = poison(
            self.clean, self._crafter(attack), self.options.seed, self.progress, self.options.cache_dir
        )
        return self.clean.with_texts(found)

    def undefended(self, scene: Scene) -> Undefended:
        """No defense."""
        return Undefended(scene.texts, self.embedder)

    def voting(self, scene: Scene, k: int, n: int | None = None, *, naive: bool = False) -> Voting:
        """RAGPart or the naive baseline, by majority."""
        size = n or self.settings.fragments
        self.progress.say(f"{'mixes' if naive else 'fragments'} of {len(scene.texts)} documents, N={size}")
        return Voting(
            scene.texts, self.embedder, size, k, Aggregation.MAJORITY, naive=naive, seed=self.options.seed
        )

    def masking(self, scene: Scene, *, segment: int | None = None, delta: float | None = None) -> Masking:
        """RAGMask."""
        config = MaskConfig(
            segment=segment or self.settings.segment,
            delta=self.settings.delta if delta is None else delta,
            mode=self.settings.mode,
        )
        return Masking(
            self.undefended(scene), scene.texts, Masker(config, self.embedder), self.settings.alpha
        )

    def baselines(self, scene: Scene) -> dict[str, Retrieval]:
        """The paper's baselines, where they are asked for: a model's perplexity and its paraphrases.

        Without a language model named, the embedded one reads and the dictionary paraphrases.
        """
        if not self.settings.baselines:
            return {}
        first, alpha, named = self.undefended(scene), self.settings.alpha, self.options.llm
        reads = self._reader
        writes = Resources(self.embedder, reads if named else None, self.options.seed)
        paraphrase = ParaphraseStage({"keep": self.settings.p, "alpha": alpha}, writes)
        return {
            "perplexity": Staged(first, scene.texts, PerplexityStage({}, Resources(llm=reads)), alpha),
            "paraphrase": Staged(first, scene.texts, paraphrase, alpha),
        }

    @cached_property
    def _reader(self) -> LLM:
        """The baselines' language model, opened once for all scenes: its weights take seconds to load."""
        return open_llm(self.options.llm or "smollm2", cache_dir=self.options.cache_dir)

    def rates(self, scene: Scene, retrieval: Retrieval) -> Rates:
        """SR and ASR of one defense in one scene."""
        return measure(scene, retrieval, self.settings.p)

    def row(
        self, key: Mapping[str, str | int | float], published: float | None, hits: Sequence[bool], unit: str
    ) -> Row:
        """A row whose measured value is the share of `hits`, in percent, with its interval."""
        ones = [1.0] * len(hits)
        share = ratio([float(hit) for hit in hits], ones)
        rng = generator(self.options.seed, "bootstrap", self.table, *map(str, key.values()))
        interval = ratio_interval([float(hit) for hit in hits], ones, range(len(hits)), rng)
        return Row(
            key,
            None if published is None else float(published),
            None if share is None else 100 * share,
            unit,
            None if interval is None else (100 * interval[0], 100 * interval[1]),
        )

    def finish(self, rows: Sequence[Row], notes: Sequence[str] = ()) -> Table:
        """The table with its settings, and what differs from the paper."""
        chosen = self.settings
        settings = {
            "dataset": self.options.dataset,
            "documents": len(self.clean.texts),
            "questions": len(self.clean.asked),
            "embedder": self.embedder.identity,
            "writer": self.options.llm or "rules",
            **chosen.model_dump(mode="json"),
        }
        number = self.table.rpartition("-")[2]
        differing = (
            f"Published: {chosen.retriever} on {self.corpus.upper()} (2,681,468 or 57,638 documents, 512 "
            f"questions); measured: {self.options.embedder} on {len(self.clean.texts)} documents and "
            f"{len(self.clean.asked)} questions.",
            f"Not published and chosen here: p={chosen.p}, alpha={chosen.alpha:g}, fragments of equally many "
            "words, masks that take a segment out of the text, ties by similarity, dot product of "
            "averages, HotFlip's budget and where its spread-out tokens stand.",
            f"RAGMask's delta is {chosen.delta:g}, where the paper's tables settle on 0.01: at 0.01 this "
            "embedder loses honest documents with the poisons.",
            "AdvRAGgen stands for AdvRAGgen-lite: the paper's three rewards choose the best of "
            f"{chosen.samples} paraphrases, where the paper trains Mistral-7B by online DPO.",
        )
        return Table(
            self.table, f"{SOURCE}, Table {number}", settings, rows, (*notes, *differing, *CONTRADICTIONS)
        )

    def _crafter(self, attack: str) -> Crafter:
        chosen = self.settings
        flips = HotFlipConfig(
            iterations=chosen.iterations,
            candidates=chosen.candidates,
            tokens=chosen.tokens,
            stop_at=chosen.stop_at,
            places=chosen.places,
        )
        if attack == "query_as_poison":
            return QueryCrafter()
        if attack in ("advraggen", WOVEN):
            writer = open_writer("woven-rules") if attack == WOVEN else self._writer()
            return BestOfCrafter(writer, chosen.samples, embedder=self.embedder)
        if attack not in ATTACKS:
            raise ConfigError(f"unknown attack {attack!r}; known: {', '.join(ATTACKS)}")
        made = HotFlipCrafter if attack == "hotflip" else SpreadCrafter
        return made(flips, _white_box(self.embedder))

    def _writer(self) -> Writer:
        if not self.settings.train:
            return open_writer(self.options.llm or "rules")
        return trained_writer(
            self.options,
            self.load(),
            self.embedder,
            self.clean,
            rounds=self.settings.train,
            pairs=self.settings.train_pairs,
            progress=self.progress,
        )


def _white_box(embedder: Embedder) -> WhiteBox:
    inner = getattr(embedder, "inner", embedder)
    if not isinstance(inner, MiniLMEmbedder):
        raise ConfigError(
            f"HotFlip needs gradients, which embedder {embedder.identity} does not give: minilm"
        )
    return _opened(inner)


@lru_cache(maxsize=1)
def _opened(embedder: MiniLMEmbedder) -> WhiteBox:
    return WhiteBox(embedder)


def percent(hits: Sequence[bool]) -> float:
    """Share of true ones in percent."""
    return 100 * float(np.mean(hits)) if len(hits) else 0.0
