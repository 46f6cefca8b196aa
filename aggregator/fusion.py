"""From the replies of all sources to one ordered list of distinct texts (Byzantine rules 1 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core import bounds
from core.embedding.base import Embedder
from core.errors import WireError
from core.records import Candidate, DocumentKey, Query, RetrievedDocument, SourceReply
from core.seeding import derive_seed
from core.text import content_hash, squash

_RRF = 60  # the usual constant of reciprocal rank fusion


@dataclass(frozen=True)
class Fused:
    """The candidates of a round in the aggregator's own order.

    `vectors` is (n, d) float32, row i for `candidates[i]`; it and `query_vector` are None where there
    is no embedder or no document. `members` leads from every document of every reply, copies
    included, to the candidate that stands for it.
    """

    candidates: tuple[Candidate, ...]
    vectors: NDArray[np.float32] | None = None
    query_vector: NDArray[np.float32] | None = None
    members: Mapping[DocumentKey, DocumentKey] = field(default_factory=dict)


class _Copy(NamedTuple):
    """One source's best copy of a text; `position` counts the distinct texts before it, from 1."""

    position: int
    document: RetrievedDocument


def fuse(replies: Sequence[SourceReply], query: Query, embedder: Embedder | None, seed: int = 0) -> Fused:
    """Deduplicate by content and order by own similarity, or by rank fusion without an embedder.

    Equal texts (white space squashed) are one candidate held by every source that returned them;
    further copies from one source change nothing. What sources claim (score, rank) is not read: a
    document's position in its reply stands in for its rank. A title or category counts only where
    all holders agree on it, because the text alone is what gets verified. Ties are broken by a draw
    from `seed`, which favours no source and no text an attacker could prepare.

    Document keys must be unique over all replies.
    """
    copies, members = _group(replies)
    if not copies:
        return Fused(())
    hashes = list(copies)
    keys = [min(copies[h].values(), key=lambda copy: copy.position).document.key for h in hashes]
    texts = [copies[h][key.source_id].document.text for h, key in zip(hashes, keys, strict=True)]
    vectors = query_vector = similarity = None
    if embedder is None:
        strength = [sum(1.0 / (_RRF + copy.position) for copy in copies[h].values()) for h in hashes]
    else:
        vectors = embedder.embed(texts)
        query_vector = embedder.embed([query.text])[0]
        similarity = np.clip(vectors @ query_vector, -1.0, 1.0)
        strength = similarity.tolist()
    order = sorted(range(len(hashes)), key=lambda i: (-strength[i], derive_seed(seed, hashes[i])))
    candidates = []
    for rank, i in enumerate(order, start=1):
        documents = [copy.document for copy in copies[hashes[i]].values()]
        others = tuple(document.key for document in documents if document.key != keys[i])
        candidates.append(
            Candidate(
                key=keys[i],
                text=texts[i],
                title=_unanimous(document.title for document in documents) or "",
                category=_unanimous(document.category for document in documents),
                holders=(keys[i], *others),
                rank=rank,
                similarity=None if similarity is None else float(similarity[i]),
            )
        )
    standing = dict(zip(hashes, keys, strict=True))
    return Fused(
        tuple(candidates),
        None if vectors is None else vectors[order],
        query_vector,
        {key: standing[digest] for key, digest in members.items()},
    )


def _group(
    replies: Sequence[SourceReply],
) -> tuple[dict[str, dict[str, _Copy]], dict[DocumentKey, str]]:
    """Content hash -> source id -> that source's first copy; and document key -> content hash."""
    copies: dict[str, dict[str, _Copy]] = {}
    members: dict[DocumentKey, str] = {}
    for reply in replies:
        position = 1
        for document in reply.documents:
            digest = content_hash(squash(document.text))
            members[document.key] = digest
            holders = copies.setdefault(digest, {})
            if document.source_id not in holders:
                holders[document.source_id] = _Copy(position, document)
                position += 1
    return copies, members


def _unanimous(values: Iterable[str | None]) -> str | None:
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def submitted(documents: Sequence[RetrievedDocument]) -> list[SourceReply]:
    """Documents that a caller retrieved, as if each source had replied with its own.

    Raises:
        WireError: a document is out of bounds, stands twice, or there is none.
    """
    listed = bounds.distinct(bounds.counted(documents, "documents", bounds.MAX_SUBMITTED))
    if not listed:
        raise WireError("no documents to verify")
    replies: dict[str, list[RetrievedDocument]] = {}
    for document in listed:
        bounds.identifier(document.source_id, "source_id")
        replies.setdefault(document.source_id, []).append(bounds.document(document))
    return [SourceReply(source, tuple(own)) for source, own in replies.items()]
