"""One trial worked through: every question to all sources, and their replies through every arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from aggregator.fan_out import FanOut, Gathered
from core.embedding.base import Embedder
from core.llm import LLM
from core.paths import cache_dir
from core.reader import Reader
from core.records import PrivacyRequest, Query
from core.seeding import derive_seed
from sim.arms import Arm, ArmRun, only
from sim.behaviors import open_behavior, stream_of
from sim.config import RunConfig
from sim.corpora import Corpus
from sim.output import RunFolder
from sim.progress import Progress, counting
from sim.query_streams import ATTACKER, HONEST, QueryStream, record_probe
from sim.recording import record_round
from sim.round_record import ProbeRecord, RoundRecord
from sim.trial import Case, Trial, request_id, tampers


class Asking(Protocol):
    """The sources of one fan-out."""

    def gather(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> Gathered: ...


class Sources(Protocol):
    """All sources of a trial, behind the wire (`Dialer`) or in this process."""

    def fan_out(self, names: Mapping[str, str]) -> Asking:
        """The fan-out to all; `names` maps a source to another name that it answers by."""
        ...


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
        dialer: Sources,
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
        behavior = stream_of(open_behavior(config.behavior))
        self._stream = (
            QueryStream(behavior, corpus, len(trial.cases), derive_seed(trial.seed, "stream"))
            if behavior
            else None
        )
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
                    records, texts = self._round(case, runs)
                    files = {run.arm.name: run.reputation.path for run in runs if run.arm.defended}
                    kept = {arm: path for arm, path in files.items() if path is not None}
                    self._folder.add(records, kept, texts)
                    report.watch(_states(case, records.values()))
                    report.advance()
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
        run = ArmRun(arm, self._config, self._embedder, self._reader, self._llm, path, seed, cache_dir())
        if self.done and self._stream is not None:
            asked = [
                (event.time, event.user_id, event.text)
                for case in self._trial.cases[: self.done]
                for event in (*self._stream.before(case.index), self._stream.asked(case))
            ]
            run.resume_users(self._folder.rounds[arm.name][-1].trust, asked)
        return run

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

    def _round(self, case: Case, runs: Sequence[ArmRun]) -> tuple[dict[str, RoundRecord], list[str]]:
        """The record of every arm, and the texts of all documents that any of them was given."""
        gathered: dict[bool, Gathered] = {}
        for attacked in sorted({run.arm.attacked for run in runs}):
            name, names = (case.attack_id, case.names) if attacked else (case.clean_id, {})
            gathered[attacked] = self._gather(case.question.text, name, names)
        ones = {run.arm.name: self._one(case, run, gathered[run.arm.attacked]) for run in runs}
        texts = [
            document.text
            for _, given in ones.values()
            for reply in given.replies
            for document in reply.documents
        ]
        return {arm: record for arm, (record, _) in ones.items()}, texts

    def _one(self, case: Case, run: ArmRun, gathered: Gathered) -> tuple[RoundRecord, Gathered]:
        arm = run.arm
        names = case.names if arm.attacked else {source: source for source in case.names}
        name = case.attack_id if arm.attacked else case.clean_id
        probes = self._probe(case, run)
        given = [self._share(gathered, run, names)]

        def prepared(privacy: PrivacyRequest | None) -> Gathered:
            if privacy is not None:  # a plan asks again; everybody else reads what all were told
                again = self._gather(case.question.text, name, case.names if arm.attacked else {}, privacy)
                given[0] = self._share(again, run, names)
            return given[0]

        user = ""
        if self._stream is not None:
            user, run.now = HONEST, self._stream.time(case.index)
        before = run.reputation.reliability(names.values())
        answer = run.ask(case.question.text, name, case.options, prepared, user)
        record = record_round(
            self._trial.number,
            case,
            arm,
            answer,
            given[0],
            self._trial.labels(given[0].replies, case, arm.attacked and self._config.attacked),
            frozenset(self._corpus.qrels.get(case.question.query_id, ())),
            before,
            run.reputation.reliability(names.values()),
            forced_choice=self._reader.forced_choice,
            tampers=self._tampers,
            probes=probes,
            trust=run.trust() if self._stream is not None else {},
            relations=run.relations(),
        )
        return record, given[0]

    def _probe(self, case: Case, run: ArmRun) -> tuple[ProbeRecord, ...]:
        """Ask what the attacker among the users asks before this question."""
        found = []
        for number, event in enumerate(self._stream.before(case.index) if self._stream is not None else ()):
            name = request_id(self._trial.number, f"probe/{case.index}", str(number))
            run.now = event.time
            options = ("yes", "no") if self._reader.forced_choice else ()
            gather = partial(self._gather, event.text, name, {})
            answer = run.ask(event.text, name, options, gather, ATTACKER)
            found.append(record_probe(event, answer, run.trust().get(ATTACKER)))
        return tuple(found)

    def _share(self, gathered: Gathered, run: ArmRun, names: Mapping[str, str]) -> Gathered:
        """What of `gathered` the arm reads."""
        return only(gathered, names[self._trial.lone]) if run.arm.single else gathered

    def _gather(
        self, question: str, name: str, names: Mapping[str, str], privacy: PrivacyRequest | None = None
    ) -> Gathered:
        return self._dialer.fan_out(names).gather(Query(question, name), self._config.top_k, privacy)


def _states(case: Case, records: Iterable[RoundRecord]) -> dict[str, str | None]:
    """Why each source gave nothing in a round, None where it answered."""
    kinds = {failure.source_id: failure.kind for record in records for failure in record.failures}
    return {source: kinds.get(source, kinds.get(name)) for source, name in case.names.items()}
