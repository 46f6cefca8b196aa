"""Retrieval under attack: is a gold document found (SR), is a poison found (ASR)? (RAGPart paper, section 4)

For each question three irrelevant documents are made adversarial and take their originals' places.
They are drawn at random from those no more similar to the question than the median document (among the
paper's millions a random document has nothing to do with a question, among some thousand it may), and of
at least `min_words` words (the paper's passages have 79 on average; in a document hardly longer than the
question a poison fills more fragments than any vote can outweigh). The poisons of all questions stand in
the corpus together. A question counts for the ASR if one of its own poisons is among its top p
(another's may be there by chance), for the SR if one of its gold documents is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import DataError
from core.paths import cache_dir, write_atomic
from core.records import Candidate, DocumentKey, Query
from core.seeding import generator
from core.stage import DocumentStage, StageInput
from core.text import content_hash
from defenses.ragmask.mask import MaskConfig, Masker
from defenses.ragpart.databases import Databases
from defenses.ragpart.fragments import embed_fragments
from defenses.ragpart.index import FragmentIndex
from defenses.ragpart.poll import Aggregation, aggregate
from sim.attacks.crafting import Crafter
from sim.corpora.records import Corpus, select_questions
from sim.progress import Progress, counting


@dataclass(frozen=True)
class Asked:
    """A question, the rows of its gold documents, and the rows of those made adversarial."""

    query_id: str
    text: str
    vector: NDArray[np.float32]
    gold: frozenset[int]
    irrelevant: tuple[int, ...]


@dataclass(frozen=True)
class Scene:
    """The documents' texts (title and text) and the questions."""

    texts: tuple[str, ...]
    asked: tuple[Asked, ...]

    @property
    def adversarial(self) -> frozenset[int]:
        """Rows of all documents that are made adversarial."""
        return frozenset(row for asked in self.asked for row in asked.irrelevant)

    def with_texts(self, changed: Mapping[int, str]) -> Scene:
        """The scene with other texts in some rows."""
        return Scene(tuple(changed.get(i, text) for i, text in enumerate(self.texts)), self.asked)


def set_scene(
    corpus: Corpus,
    embedder: Embedder,
    n_questions: int,
    seed: int,
    *,
    n_documents: int | None = None,
    per_question: int = 3,
    min_words: int = 50,
) -> Scene:
    """Questions with a gold document, and the corpus (its first `n_documents` and all gold ones).

    Raises:
        DataError: no question has a gold document, or the corpus is too small.
    """
    judged = [q for q in select_questions(corpus) if corpus.qrels.get(q.query_id)][:n_questions]
    if not judged:
        raise DataError(f"{corpus.name}: no question has a relevant document (qrels.tsv)")
    gold_ids = set().union(*(corpus.qrels[q.query_id] for q in judged))
    room = len(corpus.documents) if n_documents is None else max(0, n_documents - len(gold_ids))
    documents = []
    for document in corpus.documents:
        if document.doc_id in gold_ids:
            documents.append(document)
        elif room > 0:
            documents.append(document)
            room -= 1
    rows = {document.doc_id: i for i, document in enumerate(documents)}
    texts = tuple(f"{d.title.strip()}. {d.text}" if d.title.strip() else d.text for d in documents)
    vectors = embedder.embed(texts)
    long = [len(text.split()) >= min_words for text in texts]
    taken = {rows[doc_id] for doc_id in gold_ids}
    asked = []
    for question in judged:
        vector = embedder.embed([question.text])[0]
        similarity = vectors @ vector
        far = np.flatnonzero(similarity <= np.median(similarity))
        rng = generator(seed, "irrelevant", corpus.name, question.query_id)
        usable = [int(row) for row in rng.permutation(far) if long[row] and row not in taken]
        drawn = usable[:per_question]
        if len(drawn) < per_question:
            raise DataError(
                f"{corpus.name}: {len(documents)} documents are too few for {per_question} irrelevant ones a "
                f"question ({len(judged)} questions, at least {min_words} words)"
            )
        taken.update(drawn)
        gold = frozenset(rows[doc_id] for doc_id in corpus.qrels[question.query_id])
        asked.append(Asked(question.query_id, question.text, vector, gold, tuple(drawn)))
    return Scene(texts, tuple(asked))


def poison(
    scene: Scene, crafter: Crafter, seed: int, progress: Progress, cache: Path | None = None
) -> dict[int, str]:
    """The poisoned text of every adversarial document; remembered in the cache folder."""
    folder = cache_dir(cache) / "poisons"
    found: dict[int, str] = {}
    with counting(progress, f"crafting {crafter.identity.split('/')[0]}", len(scene.adversarial)):
        for asked in scene.asked:
            for row in asked.irrelevant:
                document = scene.texts[row]
                key = content_hash("\x1f".join([crafter.identity, str(seed), asked.text, document]))
                path = folder / f"{key}.txt"
                if not path.is_file():
                    rng = generator(seed, "craft", key)
                    write_atomic(path, crafter.craft(asked.text, document, rng))
                found[row] = path.read_text(encoding="utf-8")
                progress.advance()
    return found


class Retrieval(Protocol):
    """A way to retrieve, built over a scene's texts."""

    def retrieve(self, asked: Asked, p: int) -> Sequence[int]:
        """Rows of at most `p` documents, best first."""
        ...


class Undefended:
    """Cosine to the whole document."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self.vectors: Vectors = embedder.embed(list(texts))

    def retrieve(self, asked: Asked, p: int) -> list[int]:
        """Equal similarities: the earlier row first."""
        return [int(i) for i in np.argsort(-(self.vectors @ asked.vector), kind="stable")[:p]]


class Voting:
    """RAGPart, or (`naive`) the baseline that mixes texts before embedding."""

    def __init__(
        self,
        texts: Sequence[str],
        embedder: Embedder,
        n: int,
        k: int,
        how: Aggregation = Aggregation.MAJORITY,
        *,
        naive: bool = False,
        seed: int = 0,
    ) -> None:
        self._how = how
        self._seed = seed
        self._index: FragmentIndex | Databases = (
            Databases.mixed(texts, n, k, embedder)
            if naive
            else FragmentIndex(embed_fragments(texts, n, embedder), k)
        )

    def with_aggregation(self, how: Aggregation) -> Voting:
        """The same index, its lists aggregated otherwise."""
        other = Voting.__new__(Voting)
        other._index, other._seed, other._how = self._index, self._seed, how
        return other

    def retrieve(self, asked: Asked, p: int) -> list[int]:
        """The winners of the vote."""
        rng = generator(self._seed, "union", asked.query_id)
        return [int(i) for i in aggregate(self._index.poll(asked.vector, p), p, self._how, rng).documents]


class Masking:
    """RAGMask over undefended retrieval."""

    def __init__(self, first: Undefended, texts: Sequence[str], masker: Masker, alpha: float) -> None:
        self._first = first
        self._texts = texts
        self._masker = masker
        self._alpha = alpha

    @classmethod
    def over(cls, texts: Sequence[str], embedder: Embedder, config: MaskConfig, alpha: float) -> Masking:
        """RAGMask over `texts`."""
        return cls(Undefended(texts, embedder), texts, Masker(config, embedder), alpha)

    def retrieve(self, asked: Asked, p: int) -> list[int]:
        """The `p` best of the alpha * p sanitized documents."""
        rows = self._first.retrieve(asked, ceil(self._alpha * p))
        found = self._masker.sanitize(asked.vector, [self._texts[row] for row in rows])
        order = sorted((i for i, one in enumerate(found) if one.text), key=lambda i: -found[i].after)
        return [rows[i] for i in order[:p]]


class Staged:
    """Any stage over undefended retrieval: the alpha * p best documents go in, the first p left count."""

    def __init__(self, first: Undefended, texts: Sequence[str], stage: DocumentStage, alpha: float) -> None:
        self._first = first
        self._texts = texts
        self._stage = stage
        self._alpha = alpha

    def retrieve(self, asked: Asked, p: int) -> list[int]:
        """In the order in which the stage hands its documents on."""
        rows = self._first.retrieve(asked, ceil(self._alpha * p))
        documents = tuple(
            Candidate(DocumentKey("corpus", str(row)), self._texts[row], rank=i + 1)
            for i, row in enumerate(rows)
        )
        given = StageInput(
            Query(asked.text, asked.query_id), documents, self._first.vectors[rows], asked.vector
        )
        return [int(document.key.doc_id) for document in self._stage.run(given).documents][:p]


@dataclass(frozen=True, slots=True)
class Rates:
    """Per question whether a gold document and whether a poison was retrieved."""

    found: tuple[bool, ...]
    poisoned: tuple[bool, ...]


def measure(scene: Scene, retrieval: Retrieval, p: int) -> Rates:
    """SR and ASR of one defense, question by question."""
    found, poisoned = [], []
    for asked in scene.asked:
        rows = set(retrieval.retrieve(asked, p))
        found.append(bool(rows & asked.gold))
        poisoned.append(not rows.isdisjoint(asked.irrelevant))
    return Rates(tuple(found), tuple(poisoned))
