"""Rounds without network or Ray, for training and for checks: the same orders, sources and labels.

The honest search is exact cosine top-k with ties by document id, as the dense retriever of a source
node does it, but the scores of a question are computed once for all sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from core.records import (
    DocumentKey,
    NodeDescription,
    PrivacyRequest,
    Query,
    RetrievedDocument,
    SourceReply,
)
from core.seeding import derive_seed, generator
from sim.attacks.base import AttackOptions
from sim.attacks.schedule import build_schedule
from sim.behaviors import open_behavior
from sim.corpora.records import Corpus, Question
from sim.labels import Label, Labeller
from sim.partition import Partition, cluster_labels, partition
from sim.simulated_source import SimulatedSource
from source_node.index import best, checked_vectors, cosine_scores, embed_documents, id_ranks

CLUSTERS = 10  # categories made for a corpus that names none


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """A corpus with what is computed once for all partitions: (n, d) vectors, category labels, id ranks."""

    corpus: Corpus
    vectors: Vectors
    labels: tuple[str | int, ...]
    ranks: NDArray[np.int32]


@dataclass(frozen=True)
class SimulatedRound:
    """One question asked of all sources.

    `labels` has an entry for each document of each reply; `malicious` names the malicious sources as
    they appear in `replies`; `attacked` says whether they attack in this round; `target_answer` is what
    the attack wants the reader to say (a poison record's target where there is no attack), else None.
    """

    request_id: str
    question: Question
    replies: tuple[SourceReply, ...]
    labels: Mapping[DocumentKey, Label]
    malicious: frozenset[str]
    attacked: bool
    target_answer: str | None = None
    relevant: frozenset[str] = field(default_factory=frozenset)


def prepare(corpus: Corpus, embedder: Embedder) -> PreparedCorpus:
    """`corpus` embedded in file order in fixed batches, with clusters where it names no categories."""
    vectors = embed_documents(corpus.documents, embedder)
    named = [document.category for document in corpus.documents]
    labels: tuple[str | int, ...]
    if any(category is None for category in named):
        labels = tuple(int(label) for label in cluster_labels(vectors, CLUSTERS, seed=0))
    else:
        labels = tuple(category or "" for category in named)
    return PreparedCorpus(corpus, vectors, labels, id_ranks(corpus.documents))


def source_names(n_sources: int) -> list[str]:
    """`source-00`, `source-01`, ...: equally wide, so that their order is that of their numbers."""
    width = max(2, len(str(n_sources - 1)))
    return [f"source-{j:0{width}d}" for j in range(n_sources)]


def place_malicious(sources: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """floor(share * n) of `sources` at random, in their own order.

    Raises:
        ConfigError: share outside [0,1].
    """
    if not 0.0 <= share <= 1.0:
        raise ConfigError(f"malicious share must be in [0,1], not {share}")
    count = int(np.floor(share * len(sources) + 1e-9))
    return [sources[i] for i in sorted(rng.permutation(len(sources))[:count])]


def share_warning(malicious: int, n_sources: int) -> str | None:
    """A line saying that the guarantee ends, where honest sources are no majority."""
    if malicious * 2 < n_sources:
        return None
    return (
        f"{malicious} of {n_sources} sources are malicious: with half or more the guarantee ends "
        "(an honest majority is assumed)"
    )


class RoundFactory:
    """A partitioned federation under attack, asked in process.

    Args:
        corpus: the data set, or one prepared already (its embedding is then not looked up again).
        embedder: makes document and question vectors; `core.embedding.open_embedder()` caches them.
        n_sources: sources, of which `floor(malicious * n_sources)` are malicious.
        malicious: share in [0,1]; see `warning` from 0.5.
        alpha: Dirichlet concentration; small is uneven.
        replication: holders of each document (or of each group of facts).
        top_k: documents per reply.
        attack: entry of `sim.attacks.ATTACKS`.
        options: its options.
        behavior: entry of `sim.behaviors.BEHAVIORS`, as `name` or `name:N`.
        seed: partition, placement and attack draws descend from it.

    Raises:
        ConfigError: a name or value is wrong.
        DataError: more sources than documents.
    """

    def __init__(
        self,
        corpus: Corpus | PreparedCorpus,
        embedder: Embedder,
        n_sources: int = 10,
        malicious: float = 0.4,
        alpha: float = 0.5,
        replication: int = 1,
        top_k: int = 5,
        attack: str = "none",
        options: AttackOptions | None = None,
        behavior: str = "steady",
        seed: int = 0,
    ) -> None:
        self.prepared = corpus if isinstance(corpus, PreparedCorpus) else prepare(corpus, embedder)
        self.corpus = self.prepared.corpus
        self.sources = source_names(n_sources)
        self.malicious = place_malicious(self.sources, malicious, generator(seed, "malicious"))
        self.warning = share_warning(len(self.malicious), n_sources)
        self.partition: Partition = partition(
            self.prepared.labels,
            n_sources,
            alpha,
            replication,
            generator(seed, "partition"),
            groups=self.corpus.groups,
        )
        self._embedder = embedder
        self._top_k = top_k
        self._attack = attack
        self._options = options or AttackOptions()
        self._behavior = open_behavior(behavior)
        self._seed = seed
        self._originals = self.corpus.texts()

    def rounds(
        self, questions: Sequence[Question], warmup: int = 0, offset: int = 0
    ) -> Iterator[SimulatedRound]:
        """One round a question, in order; the first `warmup` are clean and not counted by behaviours.

        Request ids go on from `offset`, so that a later call of the same factory draws afresh where
        draws belong to a round.
        """
        named = [(f"r{offset + i:06d}", question, i >= warmup) for i, question in enumerate(questions)]
        schedule = build_schedule(
            self.corpus,
            named,
            self.malicious,
            self.sources,
            self._attack,
            self._options,
            self._top_k,
            derive_seed(self._seed, "attack"),
            self._behavior,
            self.shared(),
        )
        scores = _Scores(self.prepared, self._embedder)
        nodes = [
            SimulatedSource(_Shard(source, held, self.prepared, scores), schedule[source])
            for source, held in zip(self.sources, self.partition.members, strict=True)
        ]
        labeller = Labeller(
            schedule, self._originals, {node.orders.source_id: node.wording for node in nodes}
        )
        for request_id, question, _ in named:
            query = Query(question.text, request_id)
            replies = tuple(node.retrieve(query, self._top_k) for node in nodes)
            orders = [schedule[source].orders[request_id] for source in self.malicious]
            poison = self.corpus.poisons.get(question.query_id)
            targets = [order.target for order in orders if order.target]
            yield SimulatedRound(
                request_id=request_id,
                question=question,
                replies=replies,
                labels=labeller.label_all(replies, request_id),
                malicious=frozenset(
                    order.alias or source for source, order in zip(self.malicious, orders, strict=True)
                ),
                attacked=any(order.attack for order in orders),
                target_answer=targets[0] if targets else poison.target_answer if poison else None,
                relevant=frozenset(self.corpus.qrels.get(question.query_id, ())),
            )

    def shared(self) -> frozenset[str]:
        """Ids of the documents that several sources hold."""
        several = np.flatnonzero(self.partition.holders() > 1)
        return frozenset(self.corpus.documents[i].doc_id for i in several)


class _Scores:
    """The cosine of every document to the question asked last."""

    def __init__(self, prepared: PreparedCorpus, embedder: Embedder) -> None:
        self._prepared = prepared
        self._embedder = embedder
        self._asked: str | None = None
        self._scores = np.zeros(0, dtype=np.float32)

    def of(self, text: str) -> NDArray[np.float32]:
        if text != self._asked:
            vector = checked_vectors(self._embedder, [text])[0]
            self._scores = cosine_scores(self._prepared.vectors, vector)
            self._asked = text
        return self._scores


class _Shard:
    """A source's documents behind the face of a node."""

    def __init__(
        self, source_id: str, members: NDArray[np.int64], prepared: PreparedCorpus, scores: _Scores
    ) -> None:
        self._source_id = source_id
        self._members = members
        self._ranks = prepared.ranks[members]
        self._documents = prepared.corpus.documents
        self._scores = scores

    def describe(self) -> NodeDescription:
        return NodeDescription(self._source_id, len(self._members), "dense")

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply:
        scores = self._scores.of(query.text)[self._members]
        found = []
        for rank, i in enumerate(best(scores, top_k, self._ranks), start=1):
            document = self._documents[int(self._members[i])]
            found.append(
                RetrievedDocument(
                    self._source_id,
                    document.doc_id,
                    document.text,
                    document.title,
                    document.category,
                    float(scores[i]),
                    rank,
                )
            )
        return SourceReply(self._source_id, tuple(found))
