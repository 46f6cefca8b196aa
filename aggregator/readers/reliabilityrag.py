"""ReliabilityRAG (arXiv 2509.23519): the largest set of documents whose answers do not contradict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from aggregator.readers.generative import is_unknown, question_messages
from core.errors import ConfigError
from core.llm import LLM, Message
from core.reader import Reading, ReadRequest
from core.seeding import generator
from core.text import content_words, normalise_answer

JUDGE = (
    "Two answers to the same question. Reply with one word: contradict if they cannot both be right, "
    "agree otherwise."
)
Contradicts = Callable[[str, str], bool]
_EXACT = 20  # documents up to which the largest set is found over the documents themselves


class ReliabilityRagReader:
    """Answers from the largest independent set of the contradiction graph.

    Up to 20 documents each is a vertex. Beyond, `rounds` samples of `sample` documents are drawn, the
    i-th in rank with weight decay^(i-1), each sample is a vertex, and the documents of the samples that
    were kept are read. Contradiction is decided by the paper with an NLI model; here by `overlap` (our
    stand-in: answers that share too few words contradict) or by the language model (`llm`).

    Args:
        llm: the back end.
        contradiction: `overlap` or `llm`.
        rounds, sample, decay: of the sampling form (the paper's values).
        max_tokens: longest answer.
    """

    name = "reliabilityrag"
    simulated = False
    forced_choice = False

    def __init__(
        self,
        llm: LLM,
        *,
        contradiction: Literal["overlap", "llm"] = "overlap",
        rounds: int = 20,
        sample: int = 2,
        decay: float = 0.9,
        max_tokens: int = 32,
    ) -> None:
        if contradiction not in ("overlap", "llm"):
            raise ConfigError(f"reliabilityrag: contradiction must be overlap or llm, not {contradiction!r}")
        if rounds < 1 or sample < 1 or not 0 < decay <= 1:
            raise ConfigError("reliabilityrag: rounds and sample must be at least 1, decay in (0, 1]")
        self.llm = llm
        self._contradiction = contradiction
        self._rounds, self._sample, self._decay = rounds, sample, decay
        self._max_tokens = max_tokens

    def read(self, request: ReadRequest) -> Reading:
        """The answer from the consistent documents in rank order; from all where none knows an answer.

        Raises:
            LLMError: the model failed.
        """
        if not request.documents:
            return Reading("", abstained=True)
        groups = self._groups(request)
        calls = 0
        answers: list[str | None] = []
        for group in groups:
            text = self._ask(request, group)
            calls += 1
            answers.append(None if not text or is_unknown(text) else text)
        vertices = [i for i, answer in enumerate(answers) if answer is not None]
        known = [answer for answer in answers if answer is not None]
        edges: set[tuple[int, int]] = set()
        for a in range(len(known)):
            for b in range(a + 1, len(known)):
                calls += self._contradiction == "llm"
                if self._contradict(request.question, known[a], known[b]):
                    edges.add((a, b))
        chosen = [vertices[i] for i in largest_independent_set(len(known), edges)]
        documents = sorted({i for vertex in chosen for i in groups[vertex]}) or range(len(request.documents))
        text = self._ask(request, list(documents))
        cited = tuple(str(request.documents[i].key) for i in documents)
        return Reading(text, not text or is_unknown(text), calls + 1, cited=cited)

    def _groups(self, request: ReadRequest) -> list[list[int]]:
        """Which documents each vertex reads."""
        n = len(request.documents)
        if n <= _EXACT:
            return [[i] for i in range(n)]
        weights = self._decay ** np.arange(n)
        rng = generator(request.seed, "reliabilityrag")
        draws = rng.choice(n, size=(self._rounds, self._sample), p=weights / weights.sum())
        return [sorted(set(row)) for row in draws.tolist()]

    def _ask(self, request: ReadRequest, rows: Sequence[int]) -> str:
        part = replace(request, documents=tuple(request.documents[i] for i in rows))
        return self.llm.complete(question_messages(part), max_tokens=self._max_tokens, seed=request.seed).text

    def _contradict(self, question: str, left: str, right: str) -> bool:
        if self._contradiction == "overlap":
            return answers_differ(left, right)
        content = f"Question: {question}\nFirst answer: {left}\nSecond answer: {right}"
        reply = self.llm.complete([Message("system", JUDGE), Message("user", content)], max_tokens=4).text
        return reply.strip().lower().startswith("contradict")


def answers_differ(left: str, right: str) -> bool:
    """Whether two short answers name different things: neither holds the other, at most half in common."""
    a, b = normalise_answer(left), normalise_answer(right)
    if a == b or f" {a} " in f" {b} " or f" {b} " in f" {a} ":
        return False
    first, second = set(content_words(left)), set(content_words(right))
    shared = len(first & second)
    return not shared or 2 * shared <= min(len(first), len(second))


def largest_independent_set(vertices: int, edges: set[tuple[int, int]]) -> list[int]:
    """A largest set of vertices without an edge inside; the lexicographically smallest of these.

    Vertices are taken in order, with before without, and a branch that cannot beat the best is cut:
    the first set of the largest size found is the smallest one. Some 2^20 steps at the very worst for
    20 vertices.
    """
    conflicts = [0] * vertices
    for a, b in edges:
        conflicts[a] |= 1 << b
        conflicts[b] |= 1 << a
    best: list[int] = []

    def extend(vertex: int, chosen: list[int], barred: int) -> None:
        nonlocal best
        free = vertices - vertex - (barred >> vertex).bit_count()
        if len(chosen) + free <= len(best):
            return
        if vertex == vertices:
            best = list(chosen)
            return
        if not barred >> vertex & 1:
            extend(vertex + 1, [*chosen, vertex], barred | conflicts[vertex])
        extend(vertex + 1, chosen, barred)

    extend(0, [], 0)
    return best
