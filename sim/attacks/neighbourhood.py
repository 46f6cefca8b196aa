"""The honest surroundings of a question, as an attacker who knows the corpus and an embedder sees them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.embedding.base import Embedder, Vectors, unit_rows
from core.text import contains_answer, content_words

_LOOKED_AT = 40  # runs that share most of the question's words; only these are embedded
_NEAR = 10


@dataclass(frozen=True)
class Neighbourhood:
    """Documents near a question: `texts`, the unit vector of their `centre` (d,), and of the `query` (d,).

    `sentences` are theirs without any that holds an answer or the target, `sentence_vectors` (s, d).
    """

    query: Vectors
    centre: Vectors
    texts: tuple[str, ...]
    sentences: tuple[str, ...]
    sentence_vectors: Vectors


def neighbourhood(
    question: str, runs: Sequence[Sequence[str]], avoid: Collection[str], embedder: Embedder
) -> Neighbourhood:
    """The ten documents of `runs` (sentences each) nearest to `question` among those that share its words.

    Without any, the centre is the question itself.
    """
    query = embedder.embed([question])[0]
    shortlist = _by_words(question, runs)
    texts = [" ".join(run) for run in shortlist]
    vectors = embedder.embed(texts)
    order = np.argsort(-(vectors @ query), kind="stable")[:_NEAR] if texts else np.zeros(0, dtype=int)
    near = [shortlist[i] for i in order]
    told = list(dict.fromkeys(s for run in near for s in run if not _holds(s, avoid)))
    centre = unit_rows(vectors[order].mean(0, keepdims=True))[0] if near else query
    return Neighbourhood(query, centre, tuple(texts[i] for i in order), tuple(told), embedder.embed(told))


def _holds(sentence: str, avoid: Collection[str]) -> bool:
    return any(contains_answer(sentence, answer) for answer in avoid)


def _by_words(question: str, runs: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The runs that share most of the question's rarer content words."""
    found, frequency = _word_sets(tuple(map(tuple, runs)))
    asked = set(content_words(question))
    weights = {word: math.log(1 + len(found) / frequency[word]) for word in asked if frequency[word]}
    scores = [sum(weights.get(word, 0.0) for word in asked & words) for words in found]
    order = sorted(range(len(runs)), key=lambda i: (-scores[i], i))[:_LOOKED_AT]
    return [runs[i] for i in order if scores[i] > 0]


@lru_cache(maxsize=4)
def _word_sets(runs: tuple[tuple[str, ...], ...]) -> tuple[list[frozenset[str]], Counter[str]]:
    found = [frozenset(content_words(" ".join(run))) for run in runs]
    return found, Counter(word for words in found for word in words)
