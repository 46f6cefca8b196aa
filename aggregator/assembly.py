"""From a configuration to a running aggregator: the one place where its parts are chosen by name."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.aggregator import Aggregator
from aggregator.audit import TrailLog
from aggregator.calls import CallPolicy
from aggregator.config import AggregatorConfig, StageSpec
from aggregator.dialling import Dialling
from aggregator.fan_out import FanOut
from aggregator.llm import open_llm
from aggregator.policies import open_policy, split
from aggregator.quorum import Quorum
from aggregator.readers import open_reader, share_options
from aggregator.reputation import Reputation
from aggregator.roster import Roster
from aggregator.source_tokens import TokenShelf, read_source_tokens
from aggregator.stages import build_stages
from aggregator.state import database_path, tokens_path, trail_path
from aggregator.tunnel import DIALLED, TunnelHub
from core.embedding import open_embedder
from core.errors import ConfigError
from core.stage import Resources
from core.tls import TlsFiles


def assemble(
    config: AggregatorConfig, tls: TlsFiles | None = None, hub: TunnelHub | None = None
) -> Aggregator:
    """The aggregator that `config` describes; sources are dialled at the first question.

    The sources in `config.dialled` are expected at `hub`.

    Raises:
        ConfigError: no sources and no hub, dialled ones without a hub, or an unknown defense, reader,
            embedder or option.
        MissingPackageError: a chosen part is not installed.
        StoreError: the state folder is unusable.
    """
    state = config.state
    roster = Roster(database_path(state))
    if config.dialled and hub is None:
        raise ConfigError("sources that dial need a place to do so: --accept-dialled HOST:PORT is missing")
    twice = sorted(set(config.sources) & set(config.dialled))
    if twice:
        raise ConfigError(f"source {twice[0]!r} has an address and is named by --dialled")
    listed = roster.apply({**config.sources, **dict.fromkeys(config.dialled, DIALLED)})
    if not listed and hub is None:  # where sources dial in, an operator may add the first
        raise ConfigError("an aggregator needs at least one source (--source ID=HOST:PORT)")
    embedder = None if config.embedder == "none" else open_embedder(config.embedder)
    for_reader, for_stages = share_options(config.reader, config.llm, config.llm_options)
    llm = None if config.llm is None else open_llm(config.llm, for_stages)
    reputation = Reputation(
        database_path(state),
        start=config.reliability_start,
        momentum=config.momentum,
    )
    resources = Resources(embedder=embedder, llm=llm, seed=config.seed)
    floor, policy = split(with_checkpoint(config))
    stages = build_stages(floor, resources, reputation)
    configured = {} if config.source_tokens is None else read_source_tokens(config.source_tokens)
    tokens = TokenShelf(None if state is None else tokens_path(state), configured)
    dialling = Dialling(tls, config.deadline_s, hub, tokens)
    clients = [dialling.client(source, entry.address) for source, entry in listed.items()]
    fan_out = FanOut(clients, config.deadline_s, _policy(config))
    for source, entry in listed.items():
        if entry.drained:
            fan_out.drain(source)
    return Aggregator(
        fan_out,
        stages.pipeline,
        open_reader(config.reader, embedder, for_reader),
        reputation,
        embedder,
        guards=stages.guards,
        auditors=stages.auditors,
        reader_k=config.reader_k,
        all_filtered=config.all_filtered,
        seed=config.seed,
        trail_log=None if state is None else TrailLog(trail_path(state)),
        orchestrator=None
        if policy is None
        else open_policy(policy, resources, reputation, floor=floor, state=state),
        quorum=Quorum(config.quorum, config.on_quorum),
        roster=roster,
        dialling=dialling,
    )


def _policy(config: AggregatorConfig) -> CallPolicy:
    return CallPolicy(
        config.retries,
        config.retry_backoff_s,
        config.hedge_after_s,
        config.breaker_failures,
        config.breaker_reset_s,
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
