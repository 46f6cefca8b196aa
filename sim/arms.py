"""The arms of a run: the chosen defense, and the baselines that it is compared with on the same replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aggregator.aggregator import Aggregator, Prepared
from aggregator.answer import Answer
from aggregator.config import StageSpec
from aggregator.fan_out import Gathered
from aggregator.policies import open_policy, split
from aggregator.reputation import Reputation
from aggregator.stages import build_stages
from core.embedding.base import Embedder
from core.llm import LLM
from core.reader import Reader
from core.stage import Resources, SettlingStage
from sim.config import SINGLE_SOURCE, RunConfig
from sim.relations import Relation, RelationWatch

if TYPE_CHECKING:
    from aggregator.orchestration import Orchestrator


class Settling(Protocol):
    """What learns from clean rounds: a stage, or the orchestrator of stages."""

    def begin_warmup(self) -> None: ...

    def end_warmup(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One row of the comparison.

    `attacked` says which of a question's two fan-outs it reads, `single` that it reads one malicious
    source alone, `defended` that the chosen stages run.
    """

    name: str
    title: str
    attacked: bool
    single: bool = False
    defended: bool = False


def plan_arms(config: RunConfig, compare: bool) -> tuple[Arm, ...]:
    """The arms of a run in the order of the table; the chosen defense is the last."""
    chosen = " + ".join("SCR" if name == "scr" else name for name in config.stage_names)
    single = config.defense[0] == SINGLE_SOURCE
    if config.stage_names:
        main = Arm("defended", chosen, config.attacked, defended=True)
    elif single:
        main = Arm("ss_rag", "single source (SS-RAG)", config.attacked, single=True)
    else:
        main = Arm("ms_rag", "undefended (MS-RAG)", config.attacked)
    if not compare:
        return (main,)
    others = [Arm("no_attack", "no attack, undefended", False)]
    if config.attacked:
        if config.stage_names:
            others.append(Arm("no_attack_defended", f"no attack, {chosen}", False, defended=True))
        others.append(Arm("ms_rag", "undefended (MS-RAG)", True))
        others.append(Arm("ss_rag", "single source (SS-RAG)", True, single=True))
    elif main.name == "ms_rag":
        return (replace(main, title="no attack, undefended"),)
    return (*(arm for arm in others if arm.name != main.name), main)


class ArmRun:
    """An arm at work in one trial: its own aggregator and its own reputation, fresh or restored.

    Args:
        arm: which arm.
        config: the run's settings.
        embedder, reader, llm: shared by all arms.
        reputation: SQLite file of the reputation; None keeps it in memory.
        seed: what the aggregator's draws descend from, equal for all arms.
        cache_dir: handed to stages.
    """

    def __init__(
        self,
        arm: Arm,
        config: RunConfig,
        embedder: Embedder,
        reader: Reader,
        llm: LLM | None,
        reputation: Path | None,
        seed: int,
        cache_dir: Path,
    ) -> None:
        self.arm = arm
        self.reputation = Reputation(reputation)
        resources = Resources(embedder=embedder, llm=llm, seed=seed, cache_dir=str(cache_dir))
        self.now = 0.0  # of the users' clock, for orchestrated defenses
        floor, policy = split(stage_specs(config) if arm.defended else ())
        stages = build_stages(floor, resources, self.reputation)
        self._watch = RelationWatch(stages.pipeline)
        self._orchestrator: Orchestrator | None = None
        self._settling: list[Settling] = [
            place.stage for place in stages.pipeline.stages if isinstance(place.stage, SettlingStage)
        ]
        if policy is not None:
            self._orchestrator = open_policy(
                policy, resources, self.reputation, floor=floor, clock=lambda: self.now
            )
            self._settling.append(self._orchestrator)
        self._top_k = config.top_k
        self._aggregator = Aggregator(
            None,
            stages.pipeline,
            reader,
            self.reputation,
            embedder,
            guards=stages.guards,
            auditors=stages.auditors,
            reader_k=config.reader_k,
            all_filtered=config.all_filtered,
            seed=seed,
            orchestrator=self._orchestrator,
        )

    def ask(
        self,
        question: str,
        request_id: str,
        options: Sequence[str],
        gathered: Prepared,
        user_id: str = "",
    ) -> Answer:
        """The arm's answer to `question` from what was gathered, or is then gathered."""
        return self._aggregator.ask(
            question,
            top_k=self._top_k,
            request_id=request_id,
            user_id=user_id,
            options=options,
            gathered=gathered,
        )

    def relations(self) -> tuple[Relation, ...]:
        """What a verifier among the chosen stages saw between the documents of the last round."""
        return self._watch.take()

    def trust(self) -> dict[str, float]:
        """What is thought of each user; empty where nobody keeps account."""
        if self._orchestrator is None:
            return {}
        return {record.user_id: record.score for record in self._orchestrator.trust.listing()}

    def resume_users(self, trust: Mapping[str, float], asked: Sequence[tuple[float, str, str]]) -> None:
        """Go on with what was thought of the users and what they `asked` (time, user, text) before."""
        if self._orchestrator is not None:
            for user, score in trust.items():
                self._orchestrator.trust.put(user, score)
            for time, user, text in asked:
                self._orchestrator.history.observe(user, text, time)

    def begin_warmup(self) -> None:
        """Tell stages that settle on clean rounds that those begin."""
        for stage in self._settling:
            stage.begin_warmup()

    def learn(self, question: str, gathered: Gathered) -> None:
        """Judge a clean round without reading an answer from it."""
        documents = [document for reply in gathered.replies for document in reply.documents]
        if documents:
            self._aggregator.verify(question, documents, learn=True)

    def end_warmup(self) -> None:
        """Tell them that the clean rounds are over."""
        for stage in self._settling:
            stage.end_warmup()

    def close(self) -> None:
        """Close the reputation."""
        self.reputation.close()


def stage_specs(config: RunConfig) -> tuple[StageSpec, ...]:
    """The chosen stages with their settings; `checkpoint` goes to `scr`.

    `targeted` without a setting is aimed at what the run does: poisoning sources, or else probing users.
    """
    specs = []
    for name in config.stage_names:
        settings = config.stages.get(name)
        spec = StageSpec(name=name, **(settings.model_dump() if settings is not None else {}))
        if name == "scr" and config.checkpoint is not None:
            spec = spec.model_copy(update={"options": {"checkpoint": str(config.checkpoint), **spec.options}})
        if name == "targeted":
            against = "poisoning" if config.attacked else "membership"
            spec = spec.model_copy(update={"options": {"against": (against,), **spec.options}})
        specs.append(spec)
    return tuple(specs)


def only(gathered: Gathered, source_id: str) -> Gathered:
    """What one source alone brought."""
    return Gathered(
        replies=tuple(reply for reply in gathered.replies if reply.source_id == source_id),
        failures=tuple(failure for failure in gathered.failures if failure.source_id == source_id),
        milliseconds=gathered.milliseconds,
    )
