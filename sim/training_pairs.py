"""Sentence pairs with known relations, for training the relation scorer.

Small rounds are made of real documents in several versions: reworded, tampered, both. Two versions of
one sentence agree if the fact behind them was left alone in both and conflict if it was altered in one;
sentences of different documents, and different sentences of one, say nothing about each other, however
similar they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.records import Document
from core.seeding import generator
from gnn.relations.documents import pair_sentences
from gnn.relations.pairs import SentencePairs
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL
from gnn.round import document_sentences, on_grid
from sim.attacks.reword import reword
from sim.attacks.tamper import tamper
from sim.attacks.view import CorpusView, view_of
from sim.corpora.records import Corpus
from sim.rounds import PreparedCorpus

UNKNOWN = -1
_VERSIONS = 3
_DOCUMENTS = 3
_NEAR_MISSES = 7  # further documents of the question, as they are: similar, and about something else
_SAME = 0.98  # two documents of a corpus this similar in a sentence may well be copies: no label
_MOST_SENTENCES = 8


@dataclass(frozen=True)
class LabelledPairs:
    """Aligned sentences with the labels of `gnn.relations.scorer`.

    `label` (p,) of each row of `pairs`; `documents` (k,) is what each two documents say about each other.
    """

    pairs: SentencePairs
    label: NDArray[np.int64]
    documents: NDArray[np.int64]

    @classmethod
    def of(
        cls, found: SentencePairs, label: NDArray[np.int64], relation: Callable[[int, int], int]
    ) -> LabelledPairs:
        """The pairs of known `label`; `relation` gives that of two documents, by their numbers."""
        keep = np.flatnonzero(label != UNKNOWN)
        pairs = found.rows(keep)
        documents = [relation(a, b) for a, b in pairs.documents.tolist()]
        return cls(pairs, label[keep], np.array(documents, dtype=np.int64))


@dataclass(frozen=True)
class _Told:
    """A sentence as told: `key` its place in the document, or -1 where another wording tells the facts.

    `said` is its text before any rewording, `facts` are the numbers of the facts that it tells (None:
    nobody knows), `altered` says that it was tampered with, and `lost` which of its facts no longer have
    their value.
    """

    text: str
    document: int
    key: int
    said: str
    facts: frozenset[int] | None = None
    altered: bool = False
    lost: frozenset[int] = frozenset()


_Version = list[_Told]


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
    rounds: list[tuple[list[_Version], list[str]]] = []
    for k, row in enumerate(nearest):
        rng = generator(seed, "pairs", corpus.name, k)
        versions: list[_Version] = []
        whole: list[str] = []  # texts of the versions
        for i in _spread(row, groups, _DOCUMENTS, rng):
            others = groups.get(int(i), [int(i)])
            for v in range(_VERSIONS):
                source = others[v % len(others)]
                altered = v == 1 or (v == 2 and rng.random() < 0.5)
                made = _version(corpus.documents[source], int(i), source != int(i), altered, view, rng)
                if made is not None:
                    versions.append(made)
                    whole.append(_whole(made, texts[source]))
        told = {version[0].document for version in versions}
        known = {j for i in told for j in groups.get(i, [i])}
        near = [int(i) for i in row[:12] if int(i) not in known][:_NEAR_MISSES]
        for i in near:
            sentences = document_sentences(texts[i])[:_MOST_SENTENCES]
            if sentences:
                versions.append([_Told(s, i, k, s) for k, s in enumerate(sentences)])
                whole.append(texts[i])
        if len(versions) > 1:
            rounds.append((versions, whole))
    # once, so that batches are full; each round finds its vectors in the cache
    embedder.embed([text for versions, whole in rounds for text in (*_sentences(versions), *whole)])
    for versions, whole in rounds:
        yield _pairs(versions, whole, embedder)


def _sentences(versions: list[_Version]) -> list[str]:
    return [one.text for version in versions for one in version]


def _whole(version: _Version, original: str) -> str:
    """The text of a version: the original where nothing was changed, whose vector is known by then."""
    told = [one.text for one in version]
    return original if told == document_sentences(original)[:_MOST_SENTENCES] else " ".join(told)


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
    source: Document,
    document: int,
    other_wording: bool,
    altered: bool,
    view: CorpusView,
    rng: np.random.Generator,
) -> _Version | None:
    """A telling of the text of `source`; None where an edit moved the sentence boundaries."""
    world = view.world
    values = None if world is None else world.values(source.doc_id)
    original = document_sentences(source.text)[:_MOST_SENTENCES]
    joined = " ".join(original)
    base = document_sentences(joined)
    told = base
    if altered:
        if world is not None and rng.random() < 0.5:
            told = document_sentences(world.falsify(source.doc_id, joined, rng))
        else:
            told = document_sentences(tamper(joined, view.domain, rng, view.lexicon))
        if len(told) != len(base):
            return None
    version = []
    for i, (before, after) in enumerate(zip(base, told, strict=True)):
        facts = None if values is None else facts_in(before, values)
        lost = frozenset() if facts is None or values is None else facts - facts_in(after, values)
        version.append(
            _Told(after, document, -1 if other_wording else i, after, facts, before != after, lost)
        )
    if rng.random() < 0.6:
        version = [replace(one, text=reword(one.text, int(rng.integers(2**62)))) for one in version]
    return version


def facts_in(sentence: str, values: Sequence[tuple[str, ...]]) -> frozenset[int]:
    """Numbers of the facts whose value stands in `sentence` in one of its forms."""
    folded = sentence.casefold()
    return frozenset(
        k
        for k, forms in enumerate(values)
        if any(re.search(rf"(?<!\w){re.escape(form.casefold())}(?!\w)", folded) for form in forms)
    )


def _pairs(versions: list[_Version], whole: list[str], embedder: Embedder) -> LabelledPairs:
    told = [one for version in versions for one in version]
    vectors = on_grid(embedder.embed(_sentences(versions)))
    documents = on_grid(embedder.embed(whole))
    own = [[one.text for one in version] for version in versions]
    found = pair_sentences(own, vectors, documents @ documents.T, *np.triu_indices(len(versions), 1))
    cosine, mutual = found.context[:, 0].tolist(), found.context[:, 1].tolist()
    labels = np.array(
        [
            _label(told[a], told[b], bool(best), alike)
            for a, b, best, alike in zip(found.first, found.second, mutual, cosine, strict=True)
        ],
        dtype=np.int64,
    )
    strongest = np.full(len(found.documents), NEUTRAL)
    np.maximum.at(strongest, found.place, labels)  # conflict before agreement
    of_pair = dict(zip(map(tuple, found.documents.tolist()), strongest.tolist(), strict=True))
    return LabelledPairs.of(found, labels, lambda i, j: of_pair[i, j])


def _label(a: _Told, b: _Told, mutual: bool, cosine: float) -> int:
    """Relation of two tellings; `UNKNOWN` where it is not known."""
    if a.document != b.document:
        return NEUTRAL if cosine < _SAME else UNKNOWN
    if a.key != -1 and b.key != -1:  # copies of one wording
        if a.key != b.key:
            return NEUTRAL
        return AGREE if a.said == b.said else CONFLICT
    if a.facts is not None and b.facts is not None:
        common = a.facts & b.facts
        if not common:
            return NEUTRAL if a.facts or b.facts else UNKNOWN
        if not (a.altered or b.altered):
            return AGREE
        if common & (a.lost ^ b.lost):
            return CONFLICT
        # an edit that left the values is a negation; of a sentence with several facts nobody knows which
        alone = len(a.facts) == len(b.facts) == 1
        return CONFLICT if alone and a.altered != b.altered else UNKNOWN
    # independent wordings of unknown facts: only mutual best matches are taken to speak of the same one
    if not mutual:
        return UNKNOWN
    changed = a.altered + b.altered
    return AGREE if changed == 0 else (CONFLICT if changed == 1 else UNKNOWN)
