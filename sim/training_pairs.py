"""Sentence pairs with known relations, for training the relation scorer.

Small rounds are made of real documents in several versions: reworded, tampered, both. Two versions of
one sentence agree if the fact behind them was left alone in both and conflict if it was altered in one;
sentences of different documents, and different sentences of one, say nothing about each other, however
similar they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.seeding import generator
from gnn.relations.align import align
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL
from gnn.round import document_sentences
from sim.attacks.reword import reword
from sim.attacks.tamper import tamper
from sim.attacks.view import CorpusView, view_of
from sim.corpora.records import Corpus
from sim.rounds import PreparedCorpus

_VERSIONS = 3
_DOCUMENTS = 3
_NEAR_MISSES = 7  # further documents of the question, as they are: similar, and about something else
_SAME = 0.98  # two documents of a corpus this similar in a sentence may well be copies: no label
_MOST_SENTENCES = 8


@dataclass(frozen=True)
class LabelledPairs:
    """Aligned sentences: `left`, `right` texts, `context` (p, 3), `label` (p,) of `gnn.relations.scorer`."""

    left: list[str]
    right: list[str]
    context: NDArray[np.float32]
    label: NDArray[np.int64]


@dataclass(frozen=True)
class _Version:
    """One telling of a document: sentences as told, and the fact key behind each of them."""

    told: list[str]
    facts: list[tuple[int, int, str]]


def labelled_pairs(
    prepared: PreparedCorpus, questions: Sequence[str], embedder: Embedder, seed: int
) -> Iterator[LabelledPairs]:
    """Pairs of one small round for each question; documents are the question's nearest ones."""
    corpus, vectors = prepared.corpus, prepared.vectors
    texts = [document.text for document in corpus.documents]
    asked = embedder.embed(list(questions))
    view = view_of(corpus)
    nearest = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")
    groups = _groups(corpus)
    for k, row in enumerate(nearest):
        rng = generator(seed, "pairs", corpus.name, k)
        versions: list[_Version] = []
        for i in _spread(row, groups, _DOCUMENTS, rng):
            others = groups.get(int(i), [int(i)])
            for v in range(_VERSIONS):
                source = others[v % len(others)]
                altered = v == 1 or (v == 2 and rng.random() < 0.5)
                made = _version(texts[source], int(i), source != int(i), altered, view, rng)
                if made is not None:
                    versions.append(made)
        told = {version.facts[0][0] for version in versions}
        known = {j for i in told for j in groups.get(i, [i])}
        near = [int(i) for i in row[:12] if int(i) not in known][:_NEAR_MISSES]
        for i in near:
            sentences = document_sentences(texts[i])[:_MOST_SENTENCES]
            if sentences:
                versions.append(_Version(sentences, [(i, k, s) for k, s in enumerate(sentences)]))
        if len(versions) > 1:
            yield _pairs(versions, embedder)


def _groups(corpus: Corpus) -> dict[int, list[int]]:
    """Document index -> indices of all independent wordings of the same facts, itself first."""
    if corpus.groups is None:
        return {}
    members: dict[int, list[int]] = {}
    for i, group in enumerate(corpus.groups):
        members.setdefault(group, []).append(i)
    return {i: [i, *(j for j in members[g] if j != i)] for i, g in enumerate(corpus.groups)}


def _spread(
    row: NDArray[np.int64], groups: dict[int, list[int]], n: int, rng: np.random.Generator
) -> list[int]:
    """The nearest document and others of the nearest ten, no two wordings of the same facts."""
    pool = [int(row[0]), *(int(i) for i in rng.permutation(row[1:10]))]
    chosen: list[int] = []
    for i in pool:
        if len(chosen) < n and not any(i in groups.get(c, ()) for c in chosen):
            chosen.append(i)
    return chosen


def _version(
    text: str, document: int, other_wording: bool, altered: bool, view: CorpusView, rng: np.random.Generator
) -> _Version | None:
    """A telling of `text`; None where an edit moved the sentence boundaries."""
    original = document_sentences(text)[:_MOST_SENTENCES]
    joined = " ".join(original)
    base = document_sentences(joined)
    told = base
    if altered:
        told = document_sentences(tamper(joined, view.domain, rng, view.lexicon))
        if len(told) != len(base):
            return None
    facts = [
        # wordings of one group tell the same facts in another order: matched by alignment alone
        (document, -1 if other_wording else i, sentence if not other_wording else "")
        for i, sentence in enumerate(told)
    ]
    if other_wording:
        facts = [(document, -1, "altered" if told[i] != base[i] else "") for i in range(len(told))]
    if rng.random() < 0.6:
        told = [reword(sentence, int(rng.integers(2**62))) for sentence in told]
    return _Version(told, facts)


def _pairs(versions: list[_Version], embedder: Embedder) -> LabelledPairs:
    flat = [sentence for version in versions for sentence in version.told]
    facts = [fact for version in versions for fact in version.facts]
    document_of = np.repeat(np.arange(len(versions)), [len(v.told) for v in versions])
    vectors = embedder.embed(flat)
    whole = embedder.embed([" ".join(version.told) for version in versions])
    cosine = whole @ whole.T
    allowed = ~np.eye(len(versions), dtype=bool)
    found = align(vectors, document_of, allowed)
    labels = np.array(
        [
            _label(facts[a], facts[b], bool(mutual), float(cosine))
            for a, b, mutual, cosine in zip(found.left, found.right, found.mutual, found.cosine, strict=True)
        ],
        dtype=np.int64,
    )
    keep = labels >= 0
    i, j = document_of[found.left], document_of[found.right]
    context = np.column_stack([found.cosine, found.mutual, cosine[i, j]]).astype(np.float32)
    return LabelledPairs(
        [flat[k] for k in found.left[keep]],
        [flat[k] for k in found.right[keep]],
        context[keep],
        labels[keep],
    )


def _label(a: tuple[int, int, str], b: tuple[int, int, str], mutual: bool, cosine: float) -> int:
    """Relation of two tellings; -1 where it is not known."""
    if a[0] != b[0]:
        return NEUTRAL if cosine < _SAME else -1
    if a[1] == -1 or b[1] == -1:
        # independent wordings: only mutual best matches are taken to speak of the same fact
        if not mutual:
            return -1
        altered = (a[2] == "altered") + (b[2] == "altered")
        return AGREE if altered == 0 else (CONFLICT if altered == 1 else -1)
    if a[1] != b[1]:
        return NEUTRAL
    return AGREE if a[2] == b[2] else CONFLICT
