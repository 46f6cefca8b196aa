"""From a configuration to a running aggregator: the one place where its parts are chosen by name."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.aggregator import Aggregator
from aggregator.audit import TrailLog
from aggregator.config import AggregatorConfig, StageSpec
from aggregator.fan_out import FanOut
from aggregator.llm import open_llm
from aggregator.policies import open_policy, split
from aggregator.readers import open_reader
from aggregator.reputation import Reputation
from aggregator.stages import build_stages
from core.embedding import open_embedder
from core.errors import ConfigError
from core.stage import Resources
from core.tls import TlsFiles


def assemble(config: AggregatorConfig, tls: TlsFiles | None = None) -> Aggregator:
    """The aggregator that `config` describes; sources are dialled at the first question.

    Raises:
        ConfigError: no sources, or an unknown defense, reader, embedder or option.
        MissingPackageError: a chosen part is not installed.
        StoreError: the state folder is unusable.
    """
    if not config.sources:
        raise ConfigError("an aggregator needs at least one source (--source ID=HOST:PORT)")
    embedder = None if config.embedder == "none" else open_embedder(config.embedder)
    llm = None if config.llm is None else open_llm(config.llm)
    state = config.state
    reputation = Reputation(
        None if state is None else state / "reputation.sqlite",
        start=config.reliability_start,
        momentum=config.momentum,
    )
    resources = Resources(embedder=embedder, llm=llm, seed=config.seed)
    floor, policy = split(with_checkpoint(config))
    stages = build_stages(floor, resources, reputation)
    return Aggregator(
        FanOut.connect(config.sources, tls, config.deadline_s),
        stages.pipeline,
        open_reader(config.reader, embedder, config.llm_options),
        reputation,
        embedder,
        guards=stages.guards,
        auditors=stages.auditors,
        reader_k=config.reader_k,
        all_filtered=config.all_filtered,
        seed=config.seed,
        trail_log=None if state is None else TrailLog(state / "trail.jsonl"),
        orchestrator=None
        if policy is None
        else open_policy(policy, resources, reputation, floor=floor, state=state),
    )


def with_checkpoint(config: AggregatorConfig) -> Sequence[StageSpec]:
    """The stages with `checkpoint` among the options of `scr`.

    Raises:
        ConfigError: a checkpoint is given and no stage reads one.
    """
    if config.checkpoint is None:
        return config.defenses
    if not any(spec.name == "scr" for spec in config.defenses):
        raise ConfigError("checkpoint is given, but no defense 'scr' is there to read it")
    return [
        spec.model_copy(update={"options": {"checkpoint": str(config.checkpoint), **spec.options}})
        if spec.name == "scr"
        else spec
        for spec in config.defenses
    ]
