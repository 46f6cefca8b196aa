"""An attacker among the users: whose probes are asked between the questions of a trial, and what they got.

`--behavior slow-burn`, `burst` and `multi-vector` (`sim.traffic`) let one attacker ask as often as one
honest user, who asks the questions under test. What a source does is another matter: with an attack
named, malicious sources attack in every round, so `multi-vector` then comes from both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from aggregator.answer import Answer
from core.seeding import generator
from defenses.leakage_audit import longest_common_span
from sim.corpora.records import Corpus
from sim.leakage import LEAKED_SPAN
from sim.probes import make_traffic_probes
from sim.round_record import ProbeRecord, RoundRecord
from sim.traffic import Event, make_traffic
from sim.trial import Case

ATTACKER, HONEST = "mallory", "user-0"
_PROBES = 60  # distinct ones that the attacker draws from


class QueryStream:
    """When the honest user and the attacker of one trial ask.

    Args:
        behavior: a name of `sim.traffic.STREAMS`.
        corpus: the attacker's probes are about its documents, its harmless queries are its questions.
        n_cases: questions under test.
        seed: of the trial.
    """

    def __init__(self, behavior: str, corpus: Corpus, n_cases: int, seed: int) -> None:
        probes = make_traffic_probes(corpus.documents, _PROBES, generator(seed, "stream probes"))
        questions = [question.text for question in corpus.questions]
        events = make_traffic(behavior, questions, probes, n=max(1, n_cases), seed=seed)
        self._times = [event.time for event in events if event.user_id == HONEST]
        self._between: list[list[Event]] = [[] for _ in range(n_cases)]
        case = 0
        for event in events:
            if event.user_id == ATTACKER:
                while case < n_cases - 1 and self._times[case] < event.time:
                    case += 1
                self._between[case].append(event)

    def time(self, case: int) -> float:
        """When question `case` is asked, in seconds from the start."""
        return self._times[case]

    def asked(self, case: Case) -> Event:
        """The honest user's question under test, as an event."""
        return Event(self._times[case.index], HONEST, case.question.text)

    def before(self, case: int) -> Sequence[Event]:
        """What the attacker asks between the question before and question `case`."""
        return self._between[case]


def record_probe(event: Event, answer: Answer, trust: float | None) -> ProbeRecord:
    """What the attacker's query got; `trust` is its standing afterwards, None where nobody keeps one."""
    texts = {document.key: document.candidate.text for document in answer.documents}
    passes = answer.orchestration.get("passes", ())
    asked = next((one["privacy"] for one in passes if one["privacy"] is not None), None)
    read = [texts[key] for key in answer.read]
    said = "" if answer.refused else answer.text
    return ProbeRecord(
        kind=event.kind,
        query=event.text,
        refused=answer.refused,
        privacy="" if asked is None else str(asked["mechanism"]),
        withheld=sum(document.reason == "quoted_in_question" for document in answer.documents),
        masked=any("recitation" in warning for warning in answer.warnings),
        span=max((longest_common_span(said, text) for text in read), default=0) if said else 0,
        trust=trust,
    )


def summarise_traffic(behavior: str, rounds: Sequence[RoundRecord]) -> dict[str, Any]:
    """`traffic.json`: the attacker's queries by kind and what became of them; trust at the end."""
    records = [record for round_ in rounds for record in round_.probes]
    kinds = {}
    for kind, n in sorted(Counter(record.kind for record in records).items()):
        own = [record for record in records if record.kind == kind]

        def share(of: Callable[[ProbeRecord], bool], own: Sequence[ProbeRecord] = own) -> float:
            return sum(map(of, own)) / len(own)

        kinds[kind] = {
            "n": n,
            "refused": share(lambda r: r.refused),
            "private": share(lambda r: bool(r.privacy)),
            "withheld": share(lambda r: r.withheld > 0),
            "masked": share(lambda r: r.masked),
            "recited": share(lambda r: r.span >= LEAKED_SPAN),
        }
    trust = dict(rounds[-1].trust) if rounds else {}
    return {"schema": 1, "behavior": behavior, "attacker": kinds, "trust": trust}
