"""What the TRIS tables share: data, reader, the metered model, arms, rows, and the finished table."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from aggregator.llm import open_llm
from aggregator.llm.cache import ResponseCache
from aggregator.readers import open_reader
from core.config import StrictModel, parse
from core.embedding import open_embedder
from core.errors import ConfigError, DataError
from core.paths import cache_dir
from core.reader import Reader
from core.seeding import generator
from core.stage import DocumentStage, Resources
from defenses.tris.stage import TrisStage
from defenses.trustrag import TrustRagStage
from sim.bootstrap import ratio, ratio_interval
from sim.corpora import Question, load_corpus, select_questions
from sim.progress import Progress, counting
from sim.reproduce.table import Key, ReproduceOptions, Row, Table
from sim.reproduce.tris_pool import Asked, Pool, Round, craft
from sim.reproduce.tris_published import SOURCE
from sim.rounds import PreparedCorpus, prepare
from sim.sweep.metering import Meter, MeteredLLM
from sim.sweep.work import MEMORY

DATASETS = ("nq", "hotpotqa")


class TrisSettings(StrictModel):
    """`--set KEY=VALUE` of the TRIS tables.

    `k`: candidates. `clusters`, `min_candidates`: of layer 1 (the paper clusters from 3 documents on).
    `poisons`: per question. `verified`: questions on which arms with layer 3 are measured, which asks the
    model of each document. `white_box`: HotFlip beside the black box. `robustrag`: the isolating readers, on
    `verified` questions. The federation of `tris-adaptive`: `sources`, `malicious`, `top_k`.
    """

    k: int = Field(default=50, ge=3, le=500)
    reader: str = "extractive"
    reader_k: int = Field(default=5, ge=1, le=50)
    clusters: int = Field(default=3, ge=2, le=20)
    min_candidates: int = Field(default=3, ge=3)
    poisons: int = Field(default=5, ge=1, le=20)
    verified: int = Field(default=5, ge=1)
    white_box: bool = False
    robustrag: bool = False
    sources: int = Field(default=10, ge=2, le=100)
    malicious: float = Field(default=0.4, gt=0, le=1)
    top_k: int = Field(default=5, ge=1, le=50)


@dataclass(frozen=True)
class World:
    """One data set and the questions under test, each with a poison record."""

    name: str
    path: str
    prepared: PreparedCorpus
    questions: tuple[Question, ...]


class Lab:
    """One table's measurements.

    Args:
        table: its name.
        options: what the command was asked with.
        questions: the default number; `--full` takes all that have a poison record (the paper: 100).

    Raises:
        ConfigError: no data, or a setting that is unknown or wrong.
    """

    def __init__(self, table: str, options: ReproduceOptions, progress: Progress, questions: int) -> None:
        if options.dataset is None:
            raise ConfigError(
                f"{table} is measured on data: give --dataset PATH, a BEIR-style folder with poison.jsonl or "
                f"one that holds {' and '.join(DATASETS)}"
            )
        self.table = table
        self.options = options
        self.progress = progress
        given: dict[str, Any] = (
            {"white_box": True, "robustrag": True, "verified": 100} if options.full else {}
        )
        self.settings = parse(TrisSettings, {**given, **options.setting}, f"{table} --set")
        self.n_questions = options.queries or (1000 if options.full else questions)
        self.embedder = open_embedder(options.embedder, options.cache_dir)
        self.meter = Meter()
        self.llm_failures = 0
        self._folders = _folders(options.dataset)

    @cached_property
    def worlds(self) -> list[World]:
        """The data sets, embedded."""
        found = []
        for name, path in self._folders.items():
            chosen = self.options
            corpus = load_corpus(path, chosen.queries_file, chosen.qrels, chosen.poison)
            asked = [q for q in select_questions(corpus) if q.query_id in corpus.poisons and q.answers]
            if not asked:
                raise DataError(f"{path}: no question has a poison record (poison.jsonl) and an answer")
            self.progress.say(f"{name}: {len(corpus.documents)} documents")
            prepared = prepare(corpus, self.embedder)
            found.append(World(name, path, prepared, tuple(asked[: self.n_questions])))
        return found

    @cached_property
    def llm(self) -> MeteredLLM:
        """The model of layer 3 and of readers, each answer made once."""
        chosen = self.options
        inner = open_llm(chosen.llm or "smollm2", cache_dir=chosen.cache_dir)
        return MeteredLLM(inner, ResponseCache(cache_dir(chosen.cache_dir) / MEMORY), self.meter)

    @cached_property
    def reader(self) -> Reader:
        """The reader of every arm."""
        return self.open_reader(self.settings.reader)

    def open_reader(self, name: str) -> Reader:
        """A reader over the lab's model."""
        return open_reader(
            name, self.embedder, cache_dir=self.options.cache_dir, opening=lambda spec, options: self.llm
        )

    def tris(self, **changed: Any) -> TrisStage:
        """TRIS as set up here; `changed` are keys of its configuration. Layer 3 only where asked for."""
        chosen = self.settings
        values = {"clusters": chosen.clusters, "min_candidates": chosen.min_candidates, **changed}
        llm = self.llm if values.get("verifier", "off") != "off" else None
        return TrisStage(values, Resources(self.embedder, llm, self.options.seed))

    def trustrag(self) -> TrustRagStage:
        """Stage 1 of TrustRAG at its published thresholds."""
        return TrustRagStage({}, Resources(self.embedder, None, self.options.seed))

    def pool(self, world: World) -> Pool:
        """The candidates of `world`."""
        chosen = self.settings
        return Pool(world.prepared, self.embedder, self.reader, chosen.k, chosen.reader_k, self.options.seed)

    def craft(self, world: World, attack: str, n: int | None = None) -> list[Asked]:
        """The questions of `world` with their poisons."""
        return craft(world.prepared, world.questions, attack, n or self.settings.poisons, self.options.seed)

    def measure(
        self, title: str, pool: Pool, asked: Sequence[Asked], stage: DocumentStage | None, **given: Any
    ) -> list[Round]:
        """One arm over `asked`; `given` goes to `Pool.round`."""
        found = []
        with counting(self.progress, title, len(asked)), _quiet_fallback():
            for one in asked:
                found.append(pool.round(one, stage, **given))
                self.llm_failures += found[-1].llm_failures
                self.progress.advance()
        return found

    def row(self, key: Key, published: float | None, rounds: Sequence[Round], name: str) -> Row:
        """A row of percent: `asr`, `accuracy`, `target` (given, attacked or not), `tpr`, `tnr`, `atr`."""
        counts = [COUNTS[name](found) for found in rounds]
        tops, bottoms = [c[0] for c in counts], [c[1] for c in counts]
        rng = self.draws(name, *map(str, key.values()))
        value, interval = ratio(tops, bottoms), ratio_interval(tops, bottoms, range(len(tops)), rng)
        return Row(
            {**key, "metric": name},
            published,
            None if value is None else 100 * value,
            "%",
            None if interval is None else (100 * interval[0], 100 * interval[1]),
        )

    def draws(self, *path: str) -> np.random.Generator:
        """The Generator of one interval."""
        return generator(self.options.seed, "bootstrap", self.table, *path)

    def finish(
        self,
        rows: Sequence[Row],
        notes: Sequence[str],
        *,
        federated: bool = False,
        source: str = SOURCE,
        depth: int | None = None,
    ) -> Table:
        """The table with its settings, and what differs from the paper.

        Args:
            federated: measured in a federation.
            source: whose table it is, where it is not TRIS's.
            depth: candidates, where they are not `k`.
        """
        chosen = self.settings
        sizes = ", ".join(
            f"{w.name} {len(w.prepared.corpus.documents)} documents and {len(w.questions)} questions"
            for w in self.worlds
        )
        settings = {
            "dataset": self.options.dataset,
            "data": sizes,
            "embedder": self.embedder.identity,
            "llm": self.options.llm or "smollm2",
            "seed": self.options.seed,
            **chosen.model_dump(mode="json"),
        }
        reader = (
            "the embedded SmolLM2-135M forced to choose between the right answer and the attack's target, "
            "which without any attack takes the target now and then (the floor)"
            if chosen.reader == "choice"
            else f"reader {chosen.reader}{', which no language model moves' if self.reader.simulated else ''}"
        )
        place = (
            f"{chosen.sources} sources of which {chosen.malicious:g} return the poisons, {chosen.top_k} "
            "documents each, deduplicated"
            if federated
            else f"one index, the first {depth or chosen.k} by cosine with the question's poisons among them"
        )
        if self.llm_failures:
            notes = (
                *notes,
                f"{self.llm_failures} calls of the model failed in a stage: those documents were not judged.",
            )
        measured = f"Measured: {reader}; {self.options.embedder} retrieves; {place}; {sizes}."
        if source != SOURCE:
            return Table(self.table, source, settings, rows, (*notes, measured))
        differing = (
            "Published: GPT-3.5-turbo, Contriever, 10 x 10 questions, k=50 of a Wikipedia subset of unknown "
            "size, a judge of layer 1 other than the retriever (the paper found no difference; here they are "
            "one).",
            "The paper publishes these tables' cells only in part (its appendix is not among our sources): "
            "what it does not state in its text has no published value.",
        )
        return Table(self.table, source, settings, rows, (*notes, measured, *differing))


@contextmanager
def _quiet_fallback() -> Iterator[None]:
    """Without TRIS's warning of each round that it left unfiltered: at k=5 that is most of them."""
    log = logging.getLogger(TrisStage.__module__)
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _count(yes: bool | None) -> tuple[float, float]:
    return (0.0, 0.0) if yes is None else (float(yes), 1.0)


COUNTS: Mapping[str, Any] = {
    "asr": lambda r: _count(r.outcome.attack_success),
    "accuracy": lambda r: _count(r.outcome.correct),
    "target": lambda r: _count(r.outcome.target_given),
    "tpr": lambda r: (float(r.clean_kept), float(r.clean)),
    "tnr": lambda r: (float(r.poisons - r.poisons_kept), float(r.poisons)),
    "atr": lambda r: (float(r.poisons_kept), float(r.poisons)),
}


def rate(rounds: Sequence[Round], name: str) -> float:
    """A metric of `COUNTS` in percent; NaN where it does not apply."""
    counts = [COUNTS[name](found) for found in rounds]
    value = ratio([c[0] for c in counts], [c[1] for c in counts])
    return float("nan") if value is None else 100 * value


def removed(attacked: float, defended: float, floor: float) -> float | None:
    """Share in percent of what the attack adds over the floor that the defense takes away again."""
    added = attacked - floor
    return None if not added > 0 else 100 * (attacked - defended) / added


def _folders(dataset: str) -> dict[str, str]:
    """Name and path of each data set of `dataset`: itself, or those of `DATASETS` in it."""
    folder = Path(dataset)
    if dataset == "synthetic" or (folder / "corpus.jsonl").is_file():
        return {folder.name: dataset}
    found = {name: str(folder / name) for name in DATASETS if (folder / name / "corpus.jsonl").is_file()}
    if not found:
        raise DataError(
            f"{folder}: neither a data set (corpus.jsonl) nor a folder with {' or '.join(DATASETS)}"
        )
    return found
