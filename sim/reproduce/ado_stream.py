"""One policy of the ADO tables over one stream: benign questions, poisoned ones, probes, leak prompts.

The stream is interleaved and shuffled as in the paper's adaptive protocol, with its own clock; every
policy sees the same stream and the same replies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aggregator.aggregator import Aggregator
from aggregator.answer import Answer
from aggregator.config import StageSpec
from aggregator.fusion import fuse
from aggregator.orchestration import Orchestrator
from aggregator.policies import open_policy
from aggregator.reputation import Reputation
from aggregator.stages import build_stages
from core.embedding.base import Embedder
from core.llm import LLM
from core.reader import Reader, Reading, ReadRequest
from core.records import PrivacyRequest, Query
from core.seeding import generator
from core.stage import Resources, StageInput
from core.text import contains_answer
from defenses.ado.calibrate import Calibration, calibrate
from defenses.ado.plan import DefensePlan
from defenses.ado.sentinel import RuleSentinel
from defenses.ado.signals import QueryHistory, as_mapping, query_signals, retrieval_signals
from defenses.ado.strategist import FixedStrategist
from sim.answer_metrics import AnswerCase
from sim.corpora import Question
from sim.leakage import LeakPrompt, ObedientReader
from sim.local_federation import LocalFederation
from sim.membership import Probe, Seen
from sim.reproduce.ado_world import World
from sim.scoring import score_answer

_PLAIN = frozenset({"yes", "no", "maybe", "true", "false"})  # answers that stand in any text
_CONTEXT_WORDS = 350  # that the attacker's cloze reads of what the reader saw
_INTERVAL = 20.0  # mean seconds between two queries of the stream


@dataclass(frozen=True)
class Policy:
    """A row of a table: `privacy` for every question, `stages` always, `ado` options for orchestration."""

    name: str
    privacy: PrivacyRequest | None = None
    stages: tuple[StageSpec, ...] = ()
    ado: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Item:
    """One query of the stream; exactly one of `question`, `probe` and `prompt` is set."""

    request_id: str
    time: float
    user_id: str
    question: Question | None = None
    probe: Probe | None = None
    prompt: LeakPrompt | None = None
    attacked: bool = False

    @property
    def text(self) -> str:
        """What is asked."""
        if self.probe is not None:
            return self.probe.question
        if self.prompt is not None:
            return self.prompt.text
        assert self.question is not None
        return self.question.text


@dataclass
class Measures:
    """What came out, one entry per question of each kind; `seen` maps a probe's document to its context.

    `recall`: a gold passage or the answer itself was read. `cases`: benign questions with their answers.
    `recited`: what was said to each leak prompt, with the documents that the sources returned.
    """

    recall: list[bool] = field(default_factory=list)
    cases: list[AnswerCase] = field(default_factory=list)
    attack_success: list[bool] = field(default_factory=list)
    attacked_recall: list[bool] = field(default_factory=list)
    seen: dict[str, Seen] = field(default_factory=dict)
    recited: list[tuple[str, list[str]]] = field(default_factory=list)
    trust: dict[str, float] = field(default_factory=dict)
    filtered: int = 0
    private: int = 0
    plan_ms: list[float] = field(default_factory=list)


class Parts:
    """What every policy of a world shares.

    Args:
        world, embedder, reader: data, vectors, and what answers benign and poisoned questions.
        federation: the sources, told which requests to attack.
        llm: for stages that need one.
    """

    def __init__(
        self,
        world: World,
        embedder: Embedder,
        reader: Reader,
        federation: LocalFederation,
        llm: LLM | None = None,
        reader_k: int = 5,
        seed: int = 0,
    ) -> None:
        self.world = world
        self.embedder = embedder
        self.reader = reader
        self.federation = federation
        self.llm = llm
        self.reader_k = reader_k
        self.seed = seed
        self._calibration: Calibration | None = None

    def calibration(self) -> Calibration:
        """Normal ranges, from the world's calibration questions on clean rounds."""
        if self._calibration is None:
            history, queries, rounds = QueryHistory(), [], []
            for i, question in enumerate(self.world.calibration):
                past = history.observe(f"user-{i % 5}", question.text, _INTERVAL * i)
                queries.append(as_mapping(query_signals(question.text, past, _INTERVAL * i)))
                query = Query(question.text, f"calibrate-{i}")
                fused = fuse(self.federation.gather(query).replies, query, self.embedder)
                given = StageInput(query, fused.candidates, fused.vectors, fused.query_vector)
                rounds.append(as_mapping(retrieval_signals(given)))
            self._calibration = calibrate(queries, rounds)
        return self._calibration


def make_stream(
    world: World,
    probes: Sequence[Probe],
    seed: int,
    *,
    prompts: Sequence[LeakPrompt] = (),
    sybil: bool = False,
) -> list[Item]:
    """Every question, probe and leak prompt once, shuffled; honest users ask the questions.

    `sybil`: every probe comes under a new name, so that trust has nothing to hold on to.
    """
    rng = generator(seed, "stream", world.name)
    entries = [Item(f"b{i}", 0.0, "", question) for i, question in enumerate(world.benign)]
    entries += [Item(f"p{i}", 0.0, "", question, attacked=True) for i, question in enumerate(world.poisoned)]
    entries += [Item(f"m{i}", 0.0, "mallory", probe=probe) for i, probe in enumerate(probes)]
    entries += [Item(f"l{i}", 0.0, "eve", prompt=prompt) for i, prompt in enumerate(prompts)]
    now, items = 0.0, []
    for i in rng.permutation(len(entries)):
        item = entries[int(i)]
        now += float(rng.exponential(_INTERVAL))
        user = item.user_id or f"user-{int(rng.integers(5))}"
        if sybil and item.user_id:
            user = f"{item.user_id}-{item.request_id}"
        items.append(replace(item, time=now, user_id=user))
    return items


def attacked_requests(world: World) -> list[tuple[str, Question]]:
    """What `LocalFederation` must be told of the stream's poisoned questions."""
    return [(f"p{i}", question) for i, question in enumerate(world.poisoned)]


def run_policy(policy: Policy, parts: Parts, stream: Sequence[Item]) -> Measures:
    """Ask the whole stream under `policy`, with fresh trust, history and reputation."""
    found = Measures()
    reader = _Switching(parts.reader)
    now = [0.0]
    running = _aggregator(policy, parts, reader, now)
    for item in stream:
        now[0] = item.time
        text = item.text
        reader.choose(item)
        query = Query(text, item.request_id, item.user_id)
        answer = running.ask(
            text,
            request_id=item.request_id,
            user_id=item.user_id,
            top_k=parts.federation.top_k,
            options=_options(item, parts.world),
            gathered=parts.federation.asking(query),
        )
        _note(found, item, answer, parts)
    if running.orchestrator is not None:
        found.trust = {record.user_id: record.score for record in running.orchestrator.trust.listing()}
    running.close()
    return found


def _aggregator(policy: Policy, parts: Parts, reader: Reader, now: list[float]) -> Aggregator:
    resources = Resources(embedder=parts.embedder, llm=parts.llm, seed=parts.seed)
    reputation = Reputation()
    orchestrator: Orchestrator | None = None
    if policy.ado is not None:
        spec = StageSpec(name="ado", options=dict(policy.ado))
        orchestrator = open_policy(spec, resources, reputation, floor=policy.stages, clock=lambda: now[0])
        orchestrator.sentinel = RuleSentinel(parts.calibration())
    elif policy.privacy is not None:
        fixed = FixedStrategist(DefensePlan(policy.privacy), DefensePlan())
        orchestrator = Orchestrator(resources, reputation, RuleSentinel(), fixed)
    stages = build_stages(policy.stages, resources, reputation)
    return Aggregator(
        None,
        stages.pipeline,
        reader,
        reputation,
        parts.embedder,
        guards=stages.guards,
        auditors=stages.auditors,
        reader_k=parts.reader_k,
        seed=parts.seed,
        orchestrator=orchestrator,
    )


def _note(found: Measures, item: Item, answer: Answer, parts: Parts) -> None:
    texts = {document.key: document.candidate.text for document in answer.documents}
    read = [texts[key] for key in answer.read]
    passes = answer.orchestration.get("passes", ())
    found.private += any(one["privacy"] is not None for one in passes)
    found.filtered += any(stage["name"] == "trustrag" for one in passes for stage in one["stages"])
    if answer.orchestration:
        found.plan_ms.append(answer.orchestration["milliseconds"])
    if item.probe is not None:
        answered = bool(read) and not answer.refused
        found.seen[item.probe.doc_id] = Seen(answered, _context(read) if answered else "")
        return
    if item.prompt is not None:
        found.recited.append(("" if answer.refused else answer.text, list(texts.values())))
        return
    question = item.question
    assert question is not None
    gold = parts.world.relevant(question)
    recalled = any(key.doc_id in gold for key in answer.read) or any(
        contains_answer(text, right) for right in _findable(question) for text in read
    )
    if item.attacked:
        poison = parts.world.prepared.corpus.poisons.get(question.query_id)
        outcome = score_answer(
            "" if answer.refused else answer.text,
            question.answers,
            poison.target_answer if poison else None,
            attacked=True,
            forced_choice=parts.reader.forced_choice,
        )
        found.attack_success.append(bool(outcome.attack_success))
        found.attacked_recall.append(recalled)
        return
    found.recall.append(recalled)
    said = "" if answer.refused else answer.text
    found.cases.append(AnswerCase(question.text, said, tuple(read), question.answers))


def _context(read: Sequence[str]) -> str:
    """The best documents within the word limit, the best one last, next to what is to be guessed."""
    chosen: list[str] = []
    left = _CONTEXT_WORDS
    for text in read:
        pieces = text.split()
        if left <= 0:
            break
        chosen.append(" ".join(pieces[:left]))
        left -= len(pieces)
    return "\n\n".join(reversed(chosen))


def _findable(question: Question) -> list[str]:
    return [answer for answer in question.answers if answer.lower() not in _PLAIN and len(answer) > 2]


def _options(item: Item, world: World) -> tuple[str, ...]:
    if item.question is None:
        return ()
    poison = world.prepared.corpus.poisons.get(item.question.query_id)
    wrong = poison.target_answer if poison is not None else "I do not know"
    return (*item.question.answers[:1], wrong)


class _Switching:
    """The reader that fits a query: silent for probes, which are scored on what it would have been given,
    obedient for leak prompts, the real one for questions.
    """

    def __init__(self, inner: Reader) -> None:
        self._inner = inner
        self._use: Reader | None = inner
        self.name = inner.name
        self.simulated = inner.simulated
        self.forced_choice = inner.forced_choice

    def choose(self, item: Item) -> None:
        self._use = None if item.probe is not None else self._inner
        if item.prompt is not None:
            self._use = ObedientReader()

    def read(self, request: ReadRequest) -> Reading:
        return Reading("") if self._use is None else self._use.read(request)
