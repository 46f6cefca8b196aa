"""The content features, document by document in plain loops: what `gnn.content` is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.text import content_words, words

FEATURES = (
    "question_run", "question_bigrams", "question_words", "question_words_best_sentence",
    "question_cosine", "question_cosine_margin", "sentence_cosine", "sentence_cosine_margin",
    "sentence_over_document", "coherence_best", "coherence_best_relative", "coherence_adjacent_min",
    "coherence_rest", "best_position", "one_sentence", "other_cosine_max", "other_cosine_top3",
    "other_near", "other_sentence_max", "holders", "holder_overlap", "length_ratio",
    "question_share", "rest_question_cosine", "question_drop",
)  # fmt: skip
N_FEATURES = len(FEATURES)


def content_features(
    question: str,
    texts: Sequence[str],
    sentences: Sequence[Sequence[str]],
    sentence_vectors: NDArray[np.float32],
    document_vectors: NDArray[np.float32],
    question_vector: NDArray[np.float32],
    holders: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """(n, N_FEATURES) for n documents of one round, all finite.

    `sentence_vectors` (s, d) lists the sentences of all documents in order; `holders` (n, m).
    """
    n = len(texts)
    out = np.zeros((n, N_FEATURES), dtype=np.float32)
    if n == 0:
        return out
    q_tokens = words(question)
    q_content = set(content_words(question)) or set(q_tokens)
    q_bigrams = set(pairwise(q_tokens))
    similarity = document_vectors @ document_vectors.T
    other = ~((holders.astype(np.int64) @ holders.T.astype(np.int64)) > 0)
    elsewhere = np.where(other, similarity, -1.0)
    q_cosine = document_vectors @ question_vector
    s_cosine = sentence_vectors @ question_vector if len(sentence_vectors) else np.zeros(0)
    lengths = np.array([max(1, len(text)) for text in texts], dtype=np.float64)
    best_cosine = np.zeros(n)
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])])
    cross = sentence_vectors @ sentence_vectors.T if len(sentence_vectors) else np.zeros((0, 0))
    for i, own in enumerate(sentences):
        tokens = words(texts[i])
        grams = set(pairwise(tokens))
        run = _longest_run(q_tokens, tokens)
        a, b = int(starts[i]), int(starts[i + 1])
        row = out[i]
        row[0] = run / max(1, len(q_tokens))
        row[1] = len(q_bigrams & grams) / max(1, len(q_bigrams))
        row[2] = len(q_content & set(tokens)) / max(1, len(q_content))
        row[22] = sum(token in q_tokens for token in tokens) / max(1, len(tokens))
        if b > a:
            best = a + int(np.argmax(s_cosine[a:b]))
            best_cosine[i] = s_cosine[best]
            row[3] = len(q_content & set(words(own[best - a]))) / max(1, len(q_content))
            row[13] = (best - a) / max(1, b - a - 1)
            outside = np.ones(len(sentence_vectors), dtype=bool)
            outside[a:b] = False
            row[18] = cross[best][outside].max() if outside.any() else 0.0
            if b - a > 1:
                inner = cross[a:b, a:b]
                rest = np.delete(inner[best - a], best - a)
                among = np.delete(np.delete(inner, best - a, 0), best - a, 1)
                upper = among[np.triu_indices(b - a - 1, 1)]
                row[9] = rest.mean()
                row[12] = upper.mean() if len(upper) else rest.mean()
                row[10] = row[9] - row[12]
                row[11] = np.diagonal(inner, 1).min()
                ordered = np.sort(s_cosine[a:b])
                row[23] = np.delete(s_cosine[a:b], best - a).mean()
                row[24] = ordered[-1] - ordered[-2]
            else:
                row[9] = row[12] = row[11] = 0.5
                row[23] = best_cosine[i]
                row[14] = 1.0
        near = np.sort(elsewhere[i])[::-1][:3]
        near = near[near > -1.0]
        row[15] = near[0] if len(near) else 0.0
        row[16] = near.mean() if len(near) else 0.0
        row[17] = min(5, int((elsewhere[i] > 0.8).sum())) / 5
    count = holders.sum(axis=1)
    answered = max(1, int(holders.any(axis=0).sum()))
    out[:, 4] = q_cosine
    out[:, 5] = q_cosine - np.median(q_cosine)
    out[:, 6] = best_cosine
    out[:, 7] = best_cosine - np.median(best_cosine)
    out[:, 8] = best_cosine - q_cosine
    out[:, 19] = count / answered
    out[:, 20] = _holder_overlap(holders)
    out[:, 21] = np.clip(np.log(lengths / np.median(lengths)), -3, 3)
    return out


def _longest_run(question: list[str], tokens: list[str]) -> int:
    """Length of the longest run of question tokens that stands literally in the document."""
    if not question or not tokens:
        return 0
    where: dict[str, list[int]] = {}
    for position, token in enumerate(question):
        where.setdefault(token, []).append(position)
    longest = 0
    previous: dict[int, int] = {}
    for token in tokens:
        current = {p: previous.get(p - 1, 0) + 1 for p in where.get(token, ())}
        if current:
            longest = max(longest, max(current.values()))
        previous = current
    return longest


def _holder_overlap(holders: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n,) share of a document's holders' other documents that the same set of holders also shares.

    Colluding sources return the same list; honest replicas overlap only by chance.
    """
    held = holders.astype(np.float64)
    shared = held.T @ held
    sizes = np.diagonal(shared)
    if held.shape[1] < 2:
        return np.zeros(len(holders))
    jaccard = shared / np.maximum(1.0, sizes[:, None] + sizes[None, :] - shared)
    np.fill_diagonal(jaccard, 0.0)
    out = np.zeros(len(holders))
    for i, row in enumerate(holders):
        members = np.flatnonzero(row)
        if len(members) > 1:
            block = jaccard[np.ix_(members, members)]
            out[i] = block.sum() / (len(members) * (len(members) - 1))
    return out
