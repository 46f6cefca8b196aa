"""A federation in this process: real source nodes with real privacy, and an attack's orders.

For measurements that ask many questions under several policies; no network, no Ray, the same
`SourceNode` and `SimulatedSource` as everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from aggregator.fan_out import Gathered
from core.embedding.base import Embedder
from core.errors import AccessError, BudgetError, ConfigError
from core.records import PrivacyRequest, Query, SourceFailure, SourceReply
from core.seeding import derive_seed, generator
from sim.attacks.base import AttackOptions
from sim.attacks.schedule import build_schedule
from sim.corpora.records import Question
from sim.labels import Labeller
from sim.partition import partition
from sim.rounds import PreparedCorpus, place_malicious, source_names
from sim.simulated_source import SimulatedSource, simulated_gate
from source_node.node import SourceNode
from source_node.privacy import PrivacyGate, PrivacyPolicy


class LocalFederation:
    """Sources over one corpus, of which some attack the requests named in `attacked`.

    Args:
        prepared: the corpus with its vectors.
        embedder: the one that made them.
        n_sources, malicious, alpha, replication: as in `sim.rounds.RoundFactory`.
        attack, options: what malicious sources do.
        attacked: (request id, question) of the requests that they attack.
        top_k: documents per reply.
        privacy: every source's policy; None offers all mechanisms at any ε.
        seed: partition, placement, attack and privacy noise descend from it.
    """

    def __init__(
        self,
        prepared: PreparedCorpus,
        embedder: Embedder,
        *,
        n_sources: int = 10,
        malicious: float = 0.4,
        alpha: float = 0.5,
        replication: int = 1,
        attack: str = "none",
        options: AttackOptions | None = None,
        attacked: Sequence[tuple[str, Question]] = (),
        top_k: int = 5,
        privacy: PrivacyPolicy | None = None,
        seed: int = 0,
    ) -> None:
        corpus = prepared.corpus
        self.sources = source_names(n_sources)
        self.malicious = place_malicious(self.sources, malicious, generator(seed, "malicious"))
        self.top_k = top_k
        parts = partition(
            prepared.labels,
            n_sources,
            alpha,
            replication,
            generator(seed, "partition"),
            groups=corpus.groups,
        )
        shared = [corpus.documents[i].doc_id for i in np.flatnonzero(parts.holders() > 1)]
        schedule = build_schedule(
            corpus,
            [(request_id, question, True) for request_id, question in attacked],
            self.malicious if attack != "none" else (),
            self.sources,
            attack,
            options or AttackOptions(),
            top_k,
            derive_seed(seed, "attack"),
            shared=shared,
        )
        self._nodes = [
            SimulatedSource(
                SourceNode(
                    source,
                    [corpus.documents[int(i)] for i in held],
                    prepared.vectors[held],
                    embedder,
                    privacy=simulated_gate(source, seed)
                    if privacy is None
                    else PrivacyGate(privacy, seed=seed),
                ),
                schedule[source],
            )
            for source, held in zip(self.sources, parts.members, strict=True)
        ]
        self.labeller = Labeller(schedule, corpus.texts())

    def gather(self, query: Query, privacy: PrivacyRequest | None = None) -> Gathered:
        """All replies to `query`; a source that refuses is a failure, as over the wire."""
        start = time.perf_counter()
        replies: list[SourceReply] = []
        failures: list[SourceFailure] = []
        for source, node in zip(self.sources, self._nodes, strict=True):
            try:
                replies.append(node.retrieve(query, self.top_k, privacy))
            except (AccessError, BudgetError, ConfigError) as error:
                failures.append(SourceFailure(source, "refused", str(error)))
        return Gathered(tuple(replies), tuple(failures), 1000 * (time.perf_counter() - start))

    def asking(self, query: Query) -> Callable[[PrivacyRequest | None], Gathered]:
        """How `Aggregator.ask` gathers the replies to `query` with the privacy that a plan asks for."""
        return lambda privacy: self.gather(query, privacy)
