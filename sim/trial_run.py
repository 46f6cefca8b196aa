"""One trial worked through: every question to all sources, and their replies through every arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aggregator.fan_out import FanOut, Gathered
from core.embedding.base import Embedder
from core.llm import LLM
from core.paths import cache_dir
from core.reader import Reader
from core.records import Query
from core.seeding import derive_seed
from sim.arms import Arm, ArmRun, only
from sim.config import RunConfig
from sim.corpora import Corpus
from sim.output import RunFolder
from sim.progress import Progress, counting
from sim.recording import record_round
from sim.round_record import RoundRecord
from sim.trial import Case, Trial, request_id, tampers


class Dialer:
    """Fan-outs to the sources under the names that they go by in a round.

    Args:
        addresses: source id -> HOST:PORT.
        deadline: seconds for a whole fan-out.
    """

    def __init__(self, addresses: Mapping[str, str], deadline: float) -> None:
        self._addresses = dict(addresses)
        self._deadline = deadline
        self._known: dict[tuple[str, ...], FanOut] = {}

    def fan_out(self, names: Mapping[str, str]) -> FanOut:
        """The fan-out to all sources; `names` maps a source to another name that it answers by."""
        key = tuple(names.get(source, source) for source in self._addresses)
        if key not in self._known:
            dialled = dict(zip(key, self._addresses.values(), strict=True))
            self._known[key] = FanOut.connect(dialled, deadline_s=self._deadline)
        return self._known[key]

    def close(self) -> None:
        """Close every channel."""
        for fan_out in self._known.values():
            fan_out.close()


class TrialRun:
    """One trial being worked through, question by question."""

    def __init__(
        self,
        config: RunConfig,
        corpus: Corpus,
        trial: Trial,
        dialer: Dialer,
        embedder: Embedder,
        reader: Reader,
        llm: LLM | None,
        folder: RunFolder,
    ) -> None:
        self._config = config
        self._corpus = corpus
        self._trial = trial
        self._embedder = embedder
        self._dialer = dialer
        self._reader = reader
        self._llm = llm
        self._folder = folder
        self._tampers = tampers(config.attack)
        self.done = folder.done - trial.number * len(trial.cases)

    def work(self, arms: Sequence[Arm], report: Progress) -> None:
        """Ask every question that is not done, and store each round before the next one."""
        number, cases = self._trial.number, self._trial.cases
        runs = [self._open(arm) for arm in arms]
        try:
            if not self.done:
                self._warm_up([run for run in runs if run.arm.defended], report)
            title = f"trial {number + 1} of {self._config.trials}"
            with counting(report, title, len(cases), self.done):
                for case in cases[self.done :]:
                    records = self._round(case, runs)
                    files = {run.arm.name: run.reputation.path for run in runs if run.arm.defended}
                    self._folder.add(records, {arm: path for arm, path in files.items() if path is not None})
                    report.advance(note=_note(records.values()))
        finally:
            for run in runs:
                run.close()
        for arm in arms:
            self._folder.forget(arm.name, number)

    def _open(self, arm: Arm) -> ArmRun:
        path = None
        if arm.defended:
            path = self._folder.reputation_file(arm.name, self._trial.number)
            if self.done:
                self._folder.restore(arm.name, self._trial.number)
            else:
                self._folder.forget(arm.name, self._trial.number)
        seed = derive_seed(self._trial.seed, "aggregator")
        return ArmRun(arm, self._config, self._embedder, self._reader, self._llm, path, seed, cache_dir())

    def _warm_up(self, runs: Sequence[ArmRun], report: Progress) -> None:
        """Clean rounds on which reputations and thresholds settle; nothing of them is counted."""
        if not runs or not self._trial.warmup:
            return
        for run in runs:
            run.begin_warmup()
        with counting(report, "warming up", len(self._trial.warmup)):
            for i, question in enumerate(self._trial.warmup):
                name = request_id(self._trial.number, "warmup", str(i))
                gathered = self._gather(question.text, name, {})
                for run in runs:
                    run.learn(question.text, gathered)
                report.advance()
        for run in runs:
            run.end_warmup()

    def _round(self, case: Case, runs: Sequence[ArmRun]) -> dict[str, RoundRecord]:
        gathered: dict[bool, Gathered] = {}
        for attacked in sorted({run.arm.attacked for run in runs}):
            name, names = (case.attack_id, case.names) if attacked else (case.clean_id, {})
            gathered[attacked] = self._gather(case.question.text, name, names)
        return {run.arm.name: self._one(case, run, gathered[run.arm.attacked]) for run in runs}

    def _one(self, case: Case, run: ArmRun, gathered: Gathered) -> RoundRecord:
        arm = run.arm
        names = case.names if arm.attacked else {source: source for source in case.names}
        if arm.single:
            gathered = only(gathered, names[self._trial.lone])
        before = run.reputation.reliability(names.values())
        name = case.attack_id if arm.attacked else case.clean_id
        answer = run.ask(case.question.text, name, case.options, gathered)
        return record_round(
            self._trial.number,
            case,
            arm,
            answer,
            gathered,
            self._trial.labels(gathered.replies, case, arm.attacked and self._config.attacked),
            frozenset(self._corpus.qrels.get(case.question.query_id, ())),
            before,
            run.reputation.reliability(names.values()),
            forced_choice=self._reader.forced_choice,
            tampers=self._tampers,
        )

    def _gather(self, question: str, name: str, names: Mapping[str, str]) -> Gathered:
        return self._dialer.fan_out(names).gather(Query(question, name), self._config.top_k)


def _note(records: Iterable[RoundRecord]) -> str:
    """What a watcher should know of a round: which sources failed."""
    lost = sorted({failure.source_id for record in records for failure in record.failures})
    return f"{len(lost)} sources down" if lost else ""
