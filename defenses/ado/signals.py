"""What the Sentinel sees: cheap numbers about a query, its retrieval and the user's recent past.

ADO section 4.3.2 names M_LEX, M_CMP, M_INT (before retrieval) and M_DIS, M_DRP (after it). Ours add
the length and the cues of the query, how much of a document the query already quotes, how tightly
the best documents cluster, and what the verification graph knows. No signal means anything by its
absolute size: `defenses.ado.calibrate` says what is normal in a deployment.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from core.records import Candidate, DocumentKey
from core.stage import StageInput
from core.text import jaccard, stop_words, words
from defenses import cues

MAX_TOKENS = 512  # of a query that are looked at: bounds time and memory whatever is sent
_TOP = 10  # best documents whose text is compared with the query
_TOP_LONG = 4  # the same for a long query, which costs more per document
_NEIGHBOURHOOD = 20  # best documents whose geometry is measured
_PIECE = 5  # words in a run that counts as quoted
_LONG_QUERY = 20  # words from which a query may be a quotation; a shorter one is a question


@dataclass(frozen=True, slots=True)
class QuerySignals:
    """Numbers known before retrieval.

    `overlap`: M_LEX, largest Jaccard of content words with one of the user's recent queries, [0,1];
    `complexity`: M_CMP, share of characters that are neither alphanumeric nor blank, [0,1];
    `velocity`: M_INT, log(1 + queries per minute) over the user's recent window, ≥ 0;
    `length`: words; `blanks`: placeholders such as `[MASK]`; `extraction`, `membership`,
    `instruction`: distinct cues of each kind.
    """

    overlap: float = 0.0
    complexity: float = 0.0
    velocity: float = 0.0
    length: float = 0.0
    blanks: float = 0.0
    extraction: float = 0.0
    membership: float = 0.0
    instruction: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrievalSignals:
    """Numbers known after retrieval; None where the aggregator has no embedder or no verifier.

    `dispersion`: M_DIS, mean over dimensions of the variance of the best vectors; `drop_off`: M_DRP,
    best minus k-th best own similarity; `tightness`: largest mean cosine of a document to its two
    nearest neighbours, [-1,1]; `question_echo`: largest share of the question's trigrams that one
    document holds, [0,1]; `quoted`: how much a long query (20 words) quotes one document and no other, as a
    share of the document or of the query, [0,1], 0 for a short one;
    `credibility_spread`: standard deviation of the verifier's credibilities; `disagreement`: largest
    difference of two sources' mean credibility, [0,1].
    """

    dispersion: float | None = None
    drop_off: float | None = None
    tightness: float | None = None
    question_echo: float | None = None
    quoted: float | None = None
    credibility_spread: float | None = None
    disagreement: float | None = None


QUERY_SIGNALS = tuple(field.name for field in fields(QuerySignals))
RETRIEVAL_SIGNALS = tuple(field.name for field in fields(RetrievalSignals))


@dataclass(frozen=True, slots=True)
class PastQuery:
    """A query as it is remembered: when it came (seconds) and its content words."""

    time: float
    content: frozenset[str]


class QueryHistory:
    """The recent queries of each named user, in memory, bounded; users unseen longest are forgotten.

    Anonymous callers (user id "") have no history: they are not one person.

    Args:
        window: queries remembered per user (the repository's value: 10).
        max_users: users remembered.
    """

    def __init__(self, window: int = 10, max_users: int = 10_000) -> None:
        self._window = window
        self._max_users = max_users
        self._users: OrderedDict[str, deque[PastQuery]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._users)

    def observe(self, user_id: str, text: str, now: float) -> tuple[PastQuery, ...]:
        """Remember `text` as asked at `now`; returns what was remembered before it, oldest first."""
        if not user_id:
            return ()
        entry = PastQuery(now, content_set(text))
        with self._lock:
            past = self._users.setdefault(user_id, deque(maxlen=self._window))
            before = tuple(past)
            past.append(entry)
            self._users.move_to_end(user_id)
            while len(self._users) > self._max_users:
                self._users.popitem(last=False)
        return before


def content_set(text: str) -> frozenset[str]:
    """Distinct content words of the first `MAX_TOKENS` words (of all words where none is content)."""
    tokens = words(text)[:MAX_TOKENS]
    content = frozenset(token for token in tokens if token not in stop_words())
    return content or frozenset(tokens)


def query_signals(text: str, past: Sequence[PastQuery], now: float) -> QuerySignals:
    """Signals of the query `text` asked at `now` (seconds) after the same user's `past` queries."""
    folded = cues.fold(text[: 16 * MAX_TOKENS])
    content = content_set(folded)
    return QuerySignals(
        overlap=max((jaccard(content, old.content) for old in past), default=0.0),
        complexity=sum(not (c.isalnum() or c.isspace()) for c in folded) / max(1, len(folded)),
        velocity=_velocity(past, now),
        length=float(len(words(folded)[:MAX_TOKENS])),
        blanks=float(cues.occurrences(folded, cues.PLACEHOLDER)),
        extraction=float(cues.count(folded, cues.EXTRACTION)),
        membership=float(cues.count(folded, cues.MEMBERSHIP)),
        instruction=float(cues.count(folded, cues.INSTRUCTION) + cues.count(folded, cues.CONTROL)),
    )


def retrieval_signals(
    given: StageInput, credibility: Mapping[DocumentKey, float] | None = None, top_k: int = 5
) -> RetrievalSignals:
    """Signals of a fused round.

    Args:
        given: the round, documents in the aggregator's own order.
        credibility: the verifier's credibility of each document, where one has run.
        top_k: the k of the score drop-off.
    """
    documents = given.documents
    if not documents:
        return RetrievalSignals()
    spread, disagreement = _graph(documents, credibility or {})
    question_echo, quoted = _echoes(given.query.text, documents[:_TOP])
    dispersion = drop_off = tightness = None
    if given.vectors is not None:
        best = np.asarray(given.vectors[:_NEIGHBOURHOOD], dtype=np.float64)
        dispersion = float((best * best).mean() - (best.mean(axis=0) ** 2).mean())
        if len(best) >= 3:
            cosine = best @ best.T
            np.fill_diagonal(cosine, -1.0)
            tightness = float(np.partition(cosine, -2, axis=1)[:, -2:].mean(axis=1).max())
        if given.query_vector is not None:
            similarity = np.sort(best @ np.asarray(given.query_vector, dtype=np.float64))[::-1]
            drop_off = float(abs(similarity[0] - similarity[min(top_k, len(similarity)) - 1]))
    return RetrievalSignals(dispersion, drop_off, tightness, question_echo, quoted, spread, disagreement)


def as_mapping(signals: QuerySignals | RetrievalSignals) -> dict[str, float]:
    """Known signals by name, without the unknown ones."""
    values = {field.name: getattr(signals, field.name) for field in fields(signals)}
    return {name: float(value) for name, value in values.items() if value is not None}


def _velocity(past: Sequence[PastQuery], now: float) -> float:
    """log(1 + queries per minute) over the window; two queries at one instant count as 10 ms apart."""
    if not past:
        return 0.0
    span = max(0.01, now - past[0].time)
    return math.log1p(60.0 * len(past) / span)


def _echoes(question: str, documents: Sequence[Candidate]) -> tuple[float, float]:
    """(question_echo, quoted): runs of the question looked for in each document, as text for speed."""
    asked = words(question)[:MAX_TOKENS]
    trigrams, pieces = _runs(asked, 3), _runs(asked, _PIECE)
    if not trigrams:
        return 0.0, 0.0
    echo = 0.0
    quotations: list[float] = []
    long = len(asked) >= _LONG_QUERY
    # a quotation is the most similar text there is: its document comes first
    for document in documents[:_TOP_LONG] if long else documents:
        tokens = words(document.text[: 16 * MAX_TOKENS].lower())[:MAX_TOKENS]
        text = f" {' '.join(tokens)} "
        echo = max(echo, sum(run in text for run in trigrams) / len(trigrams))
        if long and len(tokens) >= _PIECE:
            shared = sum(run in text for run in pieces)
            quotations.append(min(1.0, max(shared / (len(tokens) - _PIECE + 1), shared / len(pieces))))
    best, second = sorted([*quotations, 0.0, 0.0], reverse=True)[:2]
    # several texts that hold the same long question were made for it: that accuses them, not the user
    return echo, best - second


def _runs(tokens: Sequence[str], n: int) -> set[str]:
    return {f" {' '.join(tokens[i : i + n])} " for i in range(len(tokens) - n + 1)}


def _graph(
    documents: Sequence[Candidate], credibility: Mapping[DocumentKey, float]
) -> tuple[float | None, float | None]:
    known = [(document, credibility[document.key]) for document in documents if document.key in credibility]
    if len(known) < 2:
        return None, None
    by_source: dict[str, list[float]] = {}
    for document, value in known:
        for source in document.sources:
            by_source.setdefault(source, []).append(value)
    means = [float(np.mean(values)) for values in by_source.values()]
    return float(np.std([value for _, value in known])), max(means) - min(means)
