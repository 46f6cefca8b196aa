"""Whom or what a document is about: passages on different subjects neither agree nor conflict.

Sentences often leave the subject to the rest of the passage ("it was founded in 1512"), so that two of
them look alike although they speak of different things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.text import stop_words
from gnn.relations.facts import TOKEN, stem

FEATURES = ("subject_shared", "subject_mentioned", "subject_known")
_REMEMBERED = 10_000


class Subject(NamedTuple):
    """Stems of the names that a document is about, and of all its words."""

    names: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=_REMEMBERED)
def document_subject(sentences: tuple[str, ...]) -> Subject:
    """The names that a document repeats; where it repeats none, those of its first sentence with any.

    A word is a name if it is written with a capital and nowhere in the document without; one that opens
    a sentence counts where it is repeated, or where that sentence has no other.
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
        return Subject(frozenset(n for n, c in names.items() if c > 1 and 2 * c >= most), frozenset(every))
    return Subject(first - common, frozenset(every))


def subject_table(subjects: Sequence[Subject]) -> NDArray[np.float32]:
    """(len(FEATURES), n, n) of every two of n documents, symmetric, all in [0,1].

    How many of both subjects' names are the same, how many of them the other document mentions at all,
    and whether both subjects are known.
    """
    n = len(subjects)
    place = {name: k for k, name in enumerate(dict.fromkeys(n for s in subjects for n in s.names))}
    known = place.keys()
    about = np.zeros((n, len(place)), dtype=np.float32)
    mentions = np.zeros((n, len(place)), dtype=np.float32)
    for table, rows in (
        (about, [subject.names for subject in subjects]),
        (mentions, [known & subject.words for subject in subjects]),
    ):
        columns = [place[name] for row in rows for name in row]
        table[np.repeat(np.arange(n), [len(row) for row in rows]), columns] = 1.0
    size = about.sum(axis=1)
    least = np.maximum(size, 1)
    shared = (about @ about.T) / np.maximum(least[:, None], least[None, :])
    named = (about @ mentions.T) / least[:, None]  # share of the row's names that the column's document has
    both = np.outer(size > 0, size > 0)
    return np.stack([shared, (named + named.T) / 2, both]).astype(np.float32)
