"""Whom or what a document is about: passages on different subjects neither agree nor conflict.

Sentences often leave the subject to the rest of the passage ("it was founded in 1512"), so that two of
them look alike although they speak of different things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.text import stop_words
from gnn.relations.facts import TOKEN, stem

FEATURES = ("subject_shared", "subject_mentioned", "subject_known")
_REMEMBERED = 10_000
_MOST_NAMES = 64  # no passage of five real collections has half as many: bounds what a made-up one costs
_DENSE = 50_000  # documents times names up to which a product of matrices is the quickest
_AT_ONCE = 1_000_000  # names in common that are counted in one go


class Subject(NamedTuple):
    """Stems of the names that a document is about, and of all its words."""

    names: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=_REMEMBERED)
def document_subject(sentences: tuple[str, ...]) -> Subject:
    """The names that a document repeats; where it repeats none, those of its first sentence with any.

    A word is a name if it is written with a capital and nowhere in the document without; one that opens
    a sentence counts where it is repeated, or where that sentence has no other. At most `_MOST_NAMES` count,
    the most frequent ones.
    """
    counts: Counter[str] = Counter()
    common: set[str] = set()
    every: set[str] = set()
    first: frozenset[str] = frozenset()
    for sentence in sentences:
        inside: set[str] = set()
        opening: set[str] = set()
        for i, token in enumerate(TOKEN.findall(sentence)):
            if not token[0].isalpha():
                continue
            whole = token.replace("\u2019", "'")
            lower = (whole[:-2] if whole.endswith("'s") else whole).lower()
            root = stem(lower)
            every.add(root)
            if not token[0].isupper():
                common.add(root)
            elif len(lower) > 1 and lower not in stop_words():
                counts[root] += 1
                (inside if i else opening).add(root)
        first = first or frozenset(inside or opening)
    names = {name: count for name, count in counts.items() if name not in common}
    most = max(names.values(), default=0)
    if most > 1:
        about = [n for n, c in names.items() if c > 1 and 2 * c >= most]
        about.sort(key=names.__getitem__, reverse=True)  # of equal ones the first
    else:
        about = sorted(first - common)
    return Subject(frozenset(about[:_MOST_NAMES]), frozenset(every))


def subject_features(
    subjects: Sequence[Subject], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(p, len(FEATURES)) of the pairs `i[k]`, `j[k]` of n documents, the same for either order, in [0,1].

    How many of both subjects' names are the same, how many of them the other document mentions at all,
    and whether both subjects are known.
    """
    place = {name: k for k, name in enumerate(dict.fromkeys(n for s in subjects for n in s.names))}
    known = place.keys()
    about = _entries([subject.names for subject in subjects], place)
    mentioned = _entries([known & subject.words for subject in subjects], place)
    size = np.bincount(about[0], minlength=len(subjects))
    least = np.maximum(size, 1).astype(np.float32)
    common = _Multiplied if len(subjects) * len(place) <= _DENSE else _Common
    named = common(about, mentioned, len(subjects))
    out = np.empty((len(i), len(FEATURES)), dtype=np.float32)
    out[:, 0] = common(about, about, len(subjects)).of(i, j) / np.maximum(least[i], least[j])
    out[:, 1] = (named.of(i, j) / least[i] + named.of(j, i) / least[j]) / 2
    out[:, 2] = (size[i] > 0) & (size[j] > 0)
    return out


_Entries = tuple[NDArray[np.int64], NDArray[np.int64]]


def _entries(rows: Sequence[Set[str]], place: Mapping[str, int]) -> _Entries:
    """Document and number of each name in `rows`."""
    numbers = np.array([place[name] for row in rows for name in row], dtype=np.int64)
    return np.repeat(np.arange(len(rows)), [len(row) for row in rows]), numbers


class _Multiplied:
    """How many of the names that `one` gives a document does `other` give another one, by a product."""

    def __init__(self, one: _Entries, other: _Entries, n: int) -> None:
        names = 1 + max(int(part[1].max(initial=-1)) for part in (one, other))
        tables = np.zeros((2, n, names), dtype=np.float32)
        tables[0][one] = 1.0
        tables[1][other] = 1.0
        self._counts = tables[0] @ tables[1].T

    def of(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float32]:
        """(p,) counts of the pairs `i[k]`, `j[k]`."""
        return self._counts[i, j]


class _Common:
    """The same by a join over names: of many documents few share one, so a product would do far more."""

    def __init__(self, one: _Entries, other: _Entries, n: int) -> None:
        holders = other[0][np.argsort(other[1], kind="stable")]
        count = np.bincount(other[1], minlength=int(one[1].max(initial=-1)) + 1)
        before = np.cumsum(count) - count

        def cells(part: slice) -> NDArray[np.int64]:
            """Both documents of each match of these entries of `one`, as one number."""
            documents, names = one[0][part], one[1][part]
            matches = count[names]
            first = before[names] - np.cumsum(matches) + matches
            found = holders[np.repeat(first, matches) + np.arange(matches.sum())]
            return np.repeat(documents, matches) * n + found

        self._n = n
        if count[one[1]].sum() <= _AT_ONCE:
            self._cells, self._counts = np.unique(cells(slice(None)), return_counts=True)
        else:  # long documents with each other's names, as a liar may send: a sort would take gigabytes
            table = np.zeros(n * n, dtype=np.int64)
            step = max(1, _AT_ONCE // n)  # no entry has more than n matches
            for start in range(0, len(one[0]), step):
                table += np.bincount(cells(slice(start, start + step)), minlength=n * n)
            self._cells = np.flatnonzero(table)
            self._counts = table[self._cells]

    def of(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float32]:
        """(p,) counts of the pairs `i[k]`, `j[k]`."""
        if not len(self._cells):
            return np.zeros(len(i), dtype=np.float32)
        wanted = i * self._n + j
        at = np.minimum(np.searchsorted(self._cells, wanted), len(self._cells) - 1)
        return np.where(self._cells[at] == wanted, self._counts[at], 0).astype(np.float32)
