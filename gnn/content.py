"""The content channel: does a text look made to be retrieved, copied or dropped into a round?

It never sees who sent a text and is never trained on tampering: a tampered honest document looks
honest by itself. Features compare a document with its own round, so that they carry over between
domains; the threshold does not, and is chosen on a domain's own clean rounds (`gnn.calibration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import and_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.text import content_words, words
from gnn.round import VerificationRound
from gnn.texts import as_line, document_words, word_line

FEATURES = (
    "question_run", "question_bigrams", "question_words", "question_words_best_sentence",
    "question_cosine", "question_cosine_margin", "sentence_cosine", "sentence_cosine_margin",
    "sentence_over_document", "coherence_best", "coherence_best_relative", "coherence_adjacent_min",
    "coherence_rest", "best_position", "one_sentence", "other_cosine_max", "other_cosine_top3",
    "other_near", "other_sentence_max", "holders", "holder_overlap", "length_ratio",
    "question_share", "rest_question_cosine", "question_drop",
)  # fmt: skip
N_FEATURES = len(FEATURES)
_PART = 512  # sentences compared at once


def content_features(given: VerificationRound) -> NDArray[np.float32]:
    """(n, N_FEATURES) for the n documents of a round, all finite."""
    out = np.zeros((len(given.candidates), N_FEATURES), dtype=np.float32)
    if not len(out):
        return out
    texts, holders = given.texts, given.holders
    q_cosine = given.vectors @ given.question_vector
    best_cosine, best = _sentences(out, given.sentences, given.sentence_vectors, given.question_vector)
    _question(out, given.question, texts, given.sentences, best)
    _others(out, given.cosine, holders)
    lengths = np.array([max(1, len(text)) for text in texts], dtype=np.float64)
    answered = max(1, int(holders.any(axis=0).sum()))
    out[:, 4] = q_cosine
    out[:, 5] = q_cosine - _median(q_cosine)
    out[:, 6] = best_cosine
    out[:, 7] = best_cosine - _median(best_cosine)
    out[:, 8] = best_cosine - q_cosine
    out[:, 19] = holders.sum(axis=1) / answered
    out[:, 20] = _holder_overlap(holders)
    out[:, 21] = np.clip(np.log(lengths / _median(lengths)), -3, 3)
    return out


def _median(values: NDArray[Any]) -> float:
    """The median of (n,) numbers, n > 0; numpy's own takes four times as long on so few."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _question(
    out: NDArray[np.float32],
    question: str,
    texts: Sequence[str],
    sentences: Sequence[Sequence[str]],
    best: NDArray[np.int64],
) -> None:
    """Columns 0-3 and 22: how much of the question stands in each document, and of it in the question."""
    tokens = words(question)
    asked = set(tokens)
    content = set(content_words(question)) or asked
    pairs = [(a, b, as_line((a, b))) for a, b in pairwise(tokens)]
    once = [pair not in pairs[:i] for i, pair in enumerate(pairs)]
    size, distinct, wanted = max(1, len(tokens)), max(1, sum(once)), max(1, len(content))
    rows = []
    for text, own, k in zip(texts, sentences, best.tolist(), strict=True):
        line, counts, total = document_words(text)
        common = counts.keys() & asked
        telling = common & content
        run, seen = int(bool(common)), 0
        if common:
            present = [a in common and b in common and pair in line for a, b, pair in pairs]
            if any(present):
                run, seen = _longest_run(tokens, present, line), sum(map(and_, present, once))
        said = word_line(own[k]) if telling else ""
        best_inside = sum([f" {word} " in said for word in telling])
        share = sum([counts[word] for word in common]) / max(1, total)
        rows.append((run / size, seen / distinct, len(telling) / wanted, best_inside / wanted, share))
    out[:, [0, 1, 2, 3, 22]] = rows


def _sentences(
    out: NDArray[np.float32],
    sentences: Sequence[Sequence[str]],
    vectors: NDArray[np.float32],
    question_vector: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns 9-14, 18, 23 and 24 from sentence vectors; returns each document's best cosine and sentence.

    Means over sentence pairs come from sums: all pairs of a document are (|sum v|^2 - sum |v|^2) / 2.
    """
    n = len(sentences)
    sizes = np.array([len(own) for own in sentences])
    best_cosine, best = np.zeros(n), np.zeros(n, dtype=np.int64)
    told = np.flatnonzero(sizes)
    if not len(told):
        return best_cosine, best
    size = sizes[told]
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    cosine = (vectors @ question_vector).astype(np.float64)
    table = np.full((len(told), int(size.max())), -np.inf)  # a document's cosines to the question, padded
    table[np.repeat(np.arange(len(told)), size), np.arange(len(cosine)) - np.repeat(starts, size)] = cosine
    at = table.argmax(axis=1)
    top = table.max(axis=1)
    best_cosine[told], best[told] = top, at
    chosen = vectors[starts + at]
    elsewhere = _nearest_elsewhere(chosen, vectors, np.repeat(np.arange(len(told)), size))
    out[told, 18] = np.where(np.isfinite(elsewhere), elsewhere, 0.0)
    out[told, 13] = at / np.maximum(1, size - 1)
    single = size == 1
    out[told[single], 14] = 1.0
    out[told[single, None], [9, 11, 12]] = 0.5
    out[told[single], 23] = top[single]
    several = ~single
    if not several.any():
        return best_cosine, best
    rows = told[several]
    size, top = size[several], top[several]
    total = vectors[starts[several]]
    for k in range(1, int(size.max())):
        more = np.flatnonzero(size > k)
        total[more] += vectors[starts[several][more] + k]
    chosen, lengths = chosen[several], np.einsum("ij,ij->i", vectors, vectors)  # squared; 1 but for the grid
    with_best = np.einsum("ij,ij->i", chosen, total) - lengths[(starts + at)[several]]
    own = np.add.reduceat(lengths, starts)[several]
    pairs = (np.einsum("ij,ij->i", total, total) - own) / 2 - with_best
    rest = with_best / (size - 1)
    among = np.divide(pairs, (size - 1) * (size - 2) / 2, out=rest.copy(), where=size > 2)
    out[rows, 9], out[rows, 12] = rest, among
    out[rows, 10] = out[rows, 9] - out[rows, 12]
    next_to = np.einsum("ij,ij->i", vectors[:-1], vectors[1:])
    next_to = np.append(next_to, np.inf)
    next_to[starts[1:] - 1] = np.inf  # a document's last sentence has no next one
    out[rows, 11] = np.minimum.reduceat(next_to, starts)[several]
    ordered = np.sort(table[several], axis=1)
    out[rows, 23] = (np.add.reduceat(cosine, starts)[several] - top) / (size - 1)
    out[rows, 24] = ordered[:, -1] - ordered[:, -2]
    return best_cosine, best


def _nearest_elsewhere(
    chosen: NDArray[np.float32], vectors: NDArray[np.float32], owner: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(n,) largest cosine of each document's `chosen` sentence (n, d) to one of another document.

    `owner` (s,) says whose each of `vectors` is. In parts, since all at once is (n, s) in memory.
    """
    nearest = np.full(len(chosen), -np.inf, dtype=np.float32)
    for start in range(0, len(vectors), _PART):
        part = slice(start, start + _PART)
        cosine = chosen @ vectors[part].T
        cosine[owner[part], np.arange(cosine.shape[1])] = -np.inf
        np.maximum(nearest, cosine.max(axis=1), out=nearest)
    return nearest


def _others(out: NDArray[np.float32], cosine: NDArray[np.float32], holders: NDArray[np.bool_]) -> None:
    """Columns 15-17: how similar (`cosine`, (n, n)) the documents of other sources are."""
    held = holders.astype(np.float32)
    similarity = np.where(held @ held.T > 0, np.float32(-1.0), cosine)
    k = min(3, len(similarity))
    nearest = np.partition(similarity, len(similarity) - k, axis=1)[:, -k:]
    some = nearest > -1.0
    found = some.any(axis=1)
    out[:, 15] = np.where(found, nearest.max(axis=1), 0.0)
    out[:, 16] = np.where(some, nearest, 0.0).sum(axis=1) / np.maximum(1, some.sum(axis=1))
    out[:, 17] = np.minimum(5, (similarity > 0.8).sum(axis=1)) / 5


def _longest_run(question: list[str], present: list[bool], line: str) -> int:
    """Length of the longest run of question tokens that stands literally in a document's `word_line`.

    `present[i]` says whether tokens i and i+1 stand there side by side: a longer run needs all its pairs.
    """
    longest = 2
    for start in range(len(question)):
        while all(present[start : start + longest]) and start + longest < len(question):
            if as_line(question[start : start + longest + 1]) not in line:
                break
            longest += 1
    return longest


def _holder_overlap(holders: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n,) share of a document's holders' other documents that the same set of holders also shares.

    Colluding sources return the same list; honest replicas overlap only by chance.
    """
    held = holders.astype(np.float64)
    if held.shape[1] < 2:
        return np.zeros(len(holders))
    shared = held.T @ held
    sizes = np.diagonal(shared)
    jaccard = shared / np.maximum(1.0, sizes[:, None] + sizes[None, :] - shared)
    np.fill_diagonal(jaccard, 0.0)
    members = held.sum(axis=1)
    return np.einsum("ij,ij->i", held @ jaccard, held) / np.maximum(1.0, members * (members - 1))
