"""Cells of one group worked through in one process, over one set of sources, embeddings and replies."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from aggregator.fan_out import Gathered
from aggregator.llm import open_llm
from aggregator.llm.cache import ResponseCache
from aggregator.policies import POLICIES
from core.embedding import open_embedder
from core.embedding.cache import CachedEmbedder
from core.errors import ScrError
from core.llm import LLM
from core.paths import cache_dir
from core.reader import Reader
from core.records import Query
from core.seeding import derive_seed
from sim.arms import Arm, ArmRun, only, plan_arms
from sim.config import RunConfig
from sim.corpora import load_corpus, select_questions
from sim.metrics import kept_benign, latency, rejected_malicious, summarise
from sim.models import Opening, run_reader, stage_model
from sim.output import RunFolder
from sim.progress import Quiet
from sim.round_record import RoundRecord
from sim.rounds import PreparedCorpus, prepare
from sim.sweep.cell import Cell
from sim.sweep.metering import Meter, MeteredLLM
from sim.sweep.sources import LocalSources
from sim.trial import Case, Trial, plan_trial
from sim.trial_run import TrialRun

MEMORY = "sweep.sqlite"  # of what language models answered, in the cache folder


def work(
    cells: Sequence[Cell], out: str, cache: str, done: Callable[[], None] | None = None
) -> list[tuple[str, str]]:
    """Work through cells of one group and write each; (key, reason) of those that failed.

    What fails for a reason of its own (a model that does not answer, say) fails alone. `done` is called
    after each cell.
    """
    os.environ["SCR_CACHE"] = cache
    failed = []
    group: Group | None = None
    for cell in cells:
        try:
            group = group or Group(cell.config)
            cell.write(Path(out), {"place": dict(cell.place), **group.run(cell)})
        except ScrError as error:
            failed.append((cell.key, f"{cell.place['attack']} / {cell.place['defense']}: {error}"))
        if done is not None:
            done()
    return failed


class Group:
    """What cells of one group share."""

    def __init__(self, config: RunConfig) -> None:
        self.prepared, self.embedder = corpus_of(corpus_key(config), config.embedder)
        corpus = self.prepared.corpus
        questions = select_questions(corpus, config.queries)
        self.trials = [
            plan_trial(number, config, corpus, self.prepared.labels, questions)
            for number in range(config.trials)
        ]
        self.sources = [
            LocalSources(trial, self.prepared, self.embedder, config.retriever) for trial in self.trials
        ]

    def run(self, cell: Cell) -> dict[str, Any]:
        """Metrics, cost and outcomes of one cell."""
        config = cell.config
        meter = Meter()
        with tempfile.TemporaryDirectory() as scratch:
            reader = _reader(config, self.embedder, meter, scratch)
            llm = cast("MeteredLLM | None", stage_model(config, _opening(meter)))
            (arm,) = plan_arms(config, compare=False)
            folder = RunFolder(None, arm.name, [arm.name], {})
            for trial, sources in zip(self.trials, self.sources, strict=True):
                run = TrialRun(
                    config, self.prepared.corpus, trial, sources, self.embedder, reader, llm, folder
                )
                run.work([arm], Quiet())
            cost = self._cost(cell, arm, reader, llm, meter)
        rounds = folder.rounds[arm.name]
        stages = [name for name in config.stage_names if name not in POLICIES]
        metrics = summarise(rounds, config.as_json(), stages, arm.attacked)
        for name in ("config", "latency_ms", "sources", "schema"):  # not of many rounds side by side
            del metrics[name]
        return {"metrics": metrics, "cost": cost, "rounds": [outcome(record) for record in rounds]}

    def _cost(
        self, cell: Cell, arm: Arm, reader: Reader, llm: MeteredLLM | None, meter: Meter
    ) -> dict[str, Any]:
        """Processor time and model calls of rounds asked again, by an arm of their own.

        Vectors are remembered by then, as they are in a deployment; the first round is not counted,
        since it loads what loads late.
        """
        config, trial, sources = cell.config, self.trials[0], self.sources[0]
        seed = derive_seed(trial.seed, "aggregator")
        run = ArmRun(arm, config, self.embedder, reader, llm, None, seed, cache_dir())
        milliseconds, calls = [], []
        try:
            for case in (trial.cases[0], *trial.cases[: cell.timed]):
                gathered = _gathered(sources, trial, arm, case, config.top_k)
                meter.take()
                start = time.process_time()
                name = case.attack_id if arm.attacked else case.clean_id
                run.ask(case.question.text, name, case.options, gathered)
                spent = time.process_time() - start
                asked, charged = meter.take()
                milliseconds.append(1000 * (spent + charged))
                calls.append(asked)
        finally:
            run.close()
        return {
            "cpu_ms": latency(milliseconds[1:]),
            "llm_calls": sum(calls[1:]) / len(calls[1:]),
            "n": len(calls) - 1,
        }


def _gathered(sources: LocalSources, trial: Trial, arm: Arm, case: Case, top_k: int) -> Gathered:
    """The replies to a question as the rounds got them."""
    name = case.attack_id if arm.attacked else case.clean_id
    found = sources.gather(Query(case.question.text, name), top_k)
    return only(found, case.names[trial.lone]) if arm.single else found


def outcome(record: RoundRecord) -> dict[str, Any]:
    """What of a round is compared between cells."""
    kept, benign = kept_benign(record)
    rejected, malicious = rejected_malicious(record)
    return {
        "query_id": record.query_id,
        "trial": record.trial,
        "correct": record.correct,
        "target_given": record.target_given,
        "attack_success": record.attack_success,
        "refused": record.refused,
        "kept": int(kept),
        "benign": int(benign),
        "rejected": int(rejected),
        "malicious": int(malicious),
    }


def _reader(config: RunConfig, embedder: CachedEmbedder, meter: Meter, scratch: str) -> Reader:
    """The reader, its model metered; a memory of its own would hide calls, so it begins empty."""
    return run_reader(config, embedder, scratch, _opening(meter))


def _opening(meter: Meter) -> Opening:
    def opening(spec: str, options: Mapping[str, Any] | None) -> LLM:
        return MeteredLLM(_model(spec, json.dumps(options or {})), _memory(str(cache_dir())), meter)

    return opening


@lru_cache(maxsize=4)
def _model(spec: str, options: str) -> LLM:
    """One loaded model for all cells of this process that ask for the same."""
    return open_llm(spec, json.loads(options))


@lru_cache(maxsize=2)
def _memory(cache: str) -> ResponseCache:
    return ResponseCache(Path(cache) / MEMORY)


def corpus_key(config: RunConfig) -> tuple[Any, ...]:
    """The settings that decide the corpus, as `load_corpus` takes them."""
    return (
        config.dataset,
        config.queries_file,
        config.qrels,
        config.poison,
        config.documents,
        config.seed if config.dataset == "synthetic" else 0,
        config.replication,
    )


@lru_cache(maxsize=2)
def corpus_of(key: tuple[Any, ...], embedder: str) -> tuple[PreparedCorpus, CachedEmbedder]:
    """A corpus with its vectors, kept for the next group of this process."""
    opened = open_embedder(embedder)
    return prepare(load_corpus(*key), opened), opened
