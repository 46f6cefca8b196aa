"""The paper's setting: one retriever, its top k with the poisons of the question among them, one filter.

Poisons compete by similarity with the whole corpus; what the retriever ranks first is judged by a stage,
and the reader sees the first that were kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.embedding.base import Embedder
from core.pipeline import Pipeline, PipelineStage
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey, Query
from core.seeding import derive_seed, generator
from core.stage import DocumentStage, StageInput
from sim.attacks.assertion import payload_texts
from sim.attacks.base import AttackContext, AttackOptions, open_attack
from sim.attacks.view import view_of
from sim.corpora.records import Question
from sim.rounds import PreparedCorpus
from sim.scoring import Outcome, score_answer
from source_node.index import cosine_scores

POISON = "poison"


@dataclass(frozen=True)
class Asked:
    """A question with its target and its poisons, most wanted first."""

    question: Question
    target: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Round:
    """What one question came to; `outcome` as in `sim.scoring`, counts over the candidates.

    `llm_failures`: calls of a language model that failed inside the stage.
    """

    query_id: str
    outcome: Outcome
    poisons: int
    poisons_kept: int
    clean: int
    clean_kept: int
    poisons_read: int
    llm_failures: int = 0


def craft(
    prepared: PreparedCorpus, questions: Sequence[Question], attack: str, n: int, seed: int
) -> list[Asked]:
    """Each question with up to `n` poisons of `attack`; further PoisonedRAG texts come from templates.

    Questions without a poison record get a wrong answer of the corpus as the target.
    """
    corpus = prepared.corpus
    view = view_of(corpus)
    opened = open_attack(attack, AttackContext(view, AttackOptions(), seed))
    found = []
    for question in questions:
        rng = generator(seed, "payloads", question.query_id)
        made = opened.payloads(question, corpus.poisons.get(question.query_id), rng)
        texts = list(dict.fromkeys(made.texts))
        if len(texts) < n and attack == "poisonedrag":
            more = payload_texts(
                question.text, made.target_answer, n, generator(seed, "more", question.query_id)
            )
            texts += [f"{question.text.strip()} {text}" for text in more]
        found.append(Asked(question, made.target_answer, tuple(dict.fromkeys(texts))[:n]))
    return found


class Pool:
    """Candidates of a question, judged and read.

    Args:
        prepared: corpus and vectors.
        embedder: the retriever's.
        reader: answers.
        k: candidates; reader_k: kept ones that the reader sees.
    """

    def __init__(
        self, prepared: PreparedCorpus, embedder: Embedder, reader: Reader, k: int, reader_k: int, seed: int
    ) -> None:
        self._prepared = prepared
        self._embedder = embedder
        self._reader = reader
        self._k, self._reader_k, self._seed = k, reader_k, seed

    def candidates(self, asked: Asked, poisoned: bool, k: int | None = None) -> StageInput:
        """The first `k` by cosine with the question; ties go to the corpus, then to its order."""
        k = k or self._k
        text = asked.question.text
        query = self._embedder.embed([text])[0]
        scores = cosine_scores(self._prepared.vectors, query)
        best = np.argsort(-scores, kind="stable")[:k]
        documents = self._prepared.corpus.documents
        held = [
            (float(scores[i]), documents[int(i)].text, documents[int(i)].title, documents[int(i)].doc_id)
            for i in best
        ]
        vectors = [self._prepared.vectors[i] for i in best]
        if poisoned and asked.texts:
            made = self._embedder.embed(list(asked.texts))
            held += [
                (float(vector @ query), text, "", f"{POISON}-{i}")
                for i, (vector, text) in enumerate(zip(made, asked.texts, strict=True))
            ]
            vectors += list(made)
        order = sorted(range(len(held)), key=lambda i: -held[i][0])[:k]
        candidates = tuple(
            Candidate(
                DocumentKey(POISON if held[i][3].startswith(f"{POISON}-") else "pool", held[i][3]),
                held[i][1],
                held[i][2],
                rank=rank,
                similarity=held[i][0],
            )
            for rank, i in enumerate(order, start=1)
        )
        return StageInput(
            Query(text, asked.question.query_id),
            candidates,
            np.stack([vectors[i] for i in order]).astype(np.float32),
            query,
            seed=derive_seed(self._seed, asked.question.query_id),
        )

    def round(
        self, asked: Asked, stage: DocumentStage | None, *, poisoned: bool, k: int | None = None,
        reader: Reader | None = None,
    ) -> Round:  # fmt: skip
        """Judge by `stage` (None: no defense) and read; `reader` in place of the pool's.

        Raises:
            StageError: the stage raised: nothing is measured of a defense that did not run.
            LLMError: the reader's model failed.
        """
        given = self.candidates(asked, poisoned, k)
        kept, failures = given.documents, 0
        if stage is not None:
            judged = Pipeline([PipelineStage(stage, required=True)]).run(given)
            kept, failures = judged.documents, sum(record.llm_failures for record in judged.trail)
        kept = tuple(sorted(kept, key=lambda document: document.rank))
        reads = kept[: self._reader_k]
        reading = reader or self._reader
        question = asked.question
        answer = reading.read(
            ReadRequest(question.text, reads, (*question.answers[:1], asked.target), given.seed)
        )
        bad = [document.key for document in given.documents if document.key.source_id == POISON]
        stays = {document.key for document in kept}
        return Round(
            question.query_id,
            score_answer(
                answer.text,
                question.answers,
                asked.target,
                attacked=poisoned,
                forced_choice=reading.forced_choice,
            ),
            poisons=len(bad),
            poisons_kept=sum(key in stays for key in bad),
            clean=len(given.documents) - len(bad),
            clean_kept=sum(d.key.source_id != POISON for d in kept),
            poisons_read=sum(d.key.source_id == POISON for d in reads),
            llm_failures=failures,
        )
