"""From an arm's answer to the record of the round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from aggregator.answer import Answer
from aggregator.fan_out import Gathered
from aggregator.hooks import CHECK_FAILED
from core.records import DocumentKey
from core.verdict import Verdict
from sim.arms import Arm
from sim.labels import Label
from sim.metrics import STEPS
from sim.relations import Relation, by_position
from sim.round_record import Failure, ProbeRecord, ReturnedDocument, RoundRecord, StageVerdict, finite
from sim.scoring import score_answer
from sim.texts import text_hash
from sim.trial import Case

_NOBODY: Mapping[str, float] = MappingProxyType({})


def record_round(
    trial: int,
    case: Case,
    arm: Arm,
    answer: Answer,
    gathered: Gathered,
    labels: Mapping[DocumentKey, Label],
    gold: frozenset[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    forced_choice: bool,
    tampers: bool,
    probes: tuple[ProbeRecord, ...] = (),
    trust: Mapping[str, float] = _NOBODY,
    relations: Sequence[Relation] = (),
) -> RoundRecord:
    """The record of one round of `arm`.

    Args:
        gathered: what the arm was given.
        labels: ground truth of every document in `gathered`.
        gold: ids of the documents that answer the question, empty where nobody says.
        before, after: reliability of every source around the round.
        forced_choice: whether the reader chose among given answers.
        tampers: whether the attack alters documents instead of pushing an answer.
        probes: what an attacker among the users asked since the round before.
        trust: what is thought of the users after the round.
        relations: what a verifier saw between the documents.
    """
    documents = _documents(answer, gathered, labels, gold)
    positions = {DocumentKey(one.source_id, one.doc_id): i for i, one in enumerate(documents)}
    attacked = arm.attacked and case.active
    unjudged = answer.refused and answer.text == CHECK_FAILED  # a breakdown is no defense that held
    outcome = score_answer(
        "" if answer.refused else answer.text,
        case.question.answers,
        case.target,
        attacked=attacked,
        tampers=tampers,
        forced_choice=forced_choice,
    )
    return RoundRecord(
        trial=trial,
        index=case.index,
        request_id=answer.query.request_id,
        query_id=case.question.query_id,
        query=case.question.text,
        answers=case.question.answers,
        target=case.target,
        attacked=attacked,
        malicious_sources=case.malicious if arm.attacked else (),
        documents=documents,
        n_gold=len(gold) or None,
        answer=answer.text,
        abstained=answer.abstained,
        refused=answer.refused,
        correct=outcome.correct,
        target_given=None if unjudged else outcome.target_given,
        attack_success=None if unjudged else outcome.attack_success,
        failures=tuple(Failure(failure.source_id, failure.kind) for failure in gathered.failures),
        stage_errors={stage.stage: stage.error for stage in answer.stages if stage.error is not None},
        warnings=answer.warnings,
        reliability_before=dict(before),
        reliability_after=dict(after),
        latency_ms={step: _rounded(answer.latencies.get(step)) for step in STEPS},
        plan=tuple(one["explained"] for one in answer.orchestration.get("passes", ())),
        probes=probes,
        trust=dict(trust),
        relations=by_position(relations, positions),
        llm_failures={stage.stage: stage.llm_failures for stage in answer.stages if stage.llm_failures},
    )


def _documents(
    answer: Answer, gathered: Gathered, labels: Mapping[DocumentKey, Label], gold: frozenset[str]
) -> tuple[ReturnedDocument, ...]:
    """Every document of every source, each with what became of the candidate that stands for it."""
    judged = {document.key: document for document in answer.documents}
    read = {key: position for position, key in enumerate(answer.read, start=1)}
    verdicts: dict[DocumentKey, list[StageVerdict]] = {key: [] for key in judged}
    for stage in answer.stages:
        for verdict in stage.verdicts:
            verdicts[verdict.key].append(_verdict(stage.stage, verdict))
    found = []
    for document in (document for reply in gathered.replies for document in reply.documents):
        standing = answer.members.get(document.key)
        if standing is None:  # refused before any document was looked at
            continue
        one, label = judged[standing], labels[document.key]
        found.append(
            ReturnedDocument(
                source_id=document.source_id,
                doc_id=document.doc_id,
                text_hash=text_hash(document.text),
                label=label,
                kept=one.kept,
                rank=one.candidate.rank,
                similarity=finite(one.candidate.similarity),
                credibility=finite(one.credibility),
                read=read.get(standing),
                gold=document.doc_id in gold and label != "malicious",
                verdicts=tuple(verdicts[standing]),
            )
        )
    return tuple(found)


def _verdict(stage: str, verdict: Verdict) -> StageVerdict:
    return StageVerdict(
        stage=stage,
        action=verdict.action.value,
        credibility=finite(verdict.credibility),
        reason=verdict.reason,
        evidence={name: finite(value) for name, value in verdict.evidence.items()},
    )


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 3)
