"""A trial's sources in this process: nodes, orders and labels as behind the wire, without Ray and gRPC."""

from __future__ import annotations

import time
from collections.abc import Mapping

from aggregator.fan_out import Gathered
from core.embedding.base import Embedder
from core.errors import AccessError, BudgetError, ConfigError
from core.records import PrivacyRequest, Query, SourceFailure, SourceReply
from sim.rounds import PreparedCorpus
from sim.simulated_source import SimulatedSource, simulated_gate
from sim.trial import Trial
from source_node.node import SourceNode


class LocalSources:
    """Asks every source of `trial` in turn and remembers the replies, for the next defense.

    Args:
        trial: who holds what and plays which part.
        prepared: the corpus with its vectors.
        embedder: embeds questions at the sources.
        retriever: retriever of every source, by name.
    """

    def __init__(self, trial: Trial, prepared: PreparedCorpus, embedder: Embedder, retriever: str) -> None:
        documents = prepared.corpus.documents
        self._nodes = {
            source: SimulatedSource(
                SourceNode(
                    source,
                    [documents[int(i)] for i in held],
                    prepared.vectors[held],
                    embedder,
                    retriever,
                    privacy=simulated_gate(source, trial.schedule[source].seed),
                ),
                trial.schedule[source],
            )
            for source, held in zip(trial.sources, trial.members, strict=True)
        }
        self._known: dict[tuple[str, str, int], Gathered] = {}

    def fan_out(self, names: Mapping[str, str]) -> LocalSources:
        """Itself: a source answers under its name of the round by its orders."""
        return self

    def gather(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> Gathered:
        """All replies to `query`; a source that refuses is a failure, as over the wire."""
        if privacy is not None:  # drawn afresh each time
            return self._ask(query, top_k, privacy)
        key = (query.request_id, query.text, top_k)
        if key not in self._known:
            self._known[key] = self._ask(query, top_k, None)
        return self._known[key]

    def _ask(self, query: Query, top_k: int, privacy: PrivacyRequest | None) -> Gathered:
        start = time.perf_counter()
        replies: list[SourceReply] = []
        failures: list[SourceFailure] = []
        for source, node in self._nodes.items():
            try:
                replies.append(node.retrieve(query, top_k, privacy))
            except (AccessError, BudgetError, ConfigError) as error:
                failures.append(SourceFailure(source, "refused", str(error)))
        return Gathered(tuple(replies), tuple(failures), 1000 * (time.perf_counter() - start))
