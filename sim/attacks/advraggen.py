"""AdvRAGgen (RAGPart paper, sections 3.3 and B.1), best of n: fluent paraphrases that get retrieved.

The paper trains Mistral-7B by online DPO on pairs ranked by three rewards. Here the same rewards choose
the best of n paraphrases; with rules as the writer, or a language model as small as the embedded one,
that is a smaller attack than the paper's, and tables that use it call it AdvRAGgen-lite. What is our
choice: the weights (to be retrieved counts twice: at equal weights most paraphrases stay out of reach
of the question; copying counts half), and ROUGE-L's recall instead of its F-measure for the third
reward, since the F-measure of a ten-word question in a hundred-word document stays small even where it
was copied.
One embedder serves both similarities; the paper has a second one for meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, dump
from core.embedding.base import Embedder
from core.text import contains_answer, content_hash
from sim.attacks.base import AttackOptions
from sim.attacks.crafting import Carried
from sim.attacks.writers import RuleWriter, Writer, open_writer


class RewardWeights(StrictModel):
    """Weights of the rewards: `meaning` kept, `retrieval`, and `copying` the question (taken off)."""

    meaning: float = Field(default=1.0, ge=0.0)
    retrieval: float = Field(default=2.0, ge=0.0)
    copying: float = Field(default=0.5, ge=0.0)


@dataclass(frozen=True, slots=True)
class Rewards:
    """(n,) each: cosine to the document, cosine to the question, ROUGE-L recall of the question."""

    meaning: NDArray[np.float64]
    retrieval: NDArray[np.float64]
    copying: NDArray[np.float64]

    def total(self, weights: RewardWeights) -> NDArray[np.float64]:
        """(n,) weighted sum; the copied share counts against."""
        return (
            weights.meaning * self.meaning
            + weights.retrieval * self.retrieval
            - weights.copying * self.copying
        )


def rewards(
    question: str,
    document: str,
    paraphrases: Sequence[str],
    embedder: Embedder,
    meaning_embedder: Embedder | None = None,
) -> Rewards:
    """The three rewards of each paraphrase; `meaning_embedder` None: the retriever's own."""
    vectors = np.asarray(embedder.embed([question, document, *paraphrases]), dtype=np.float64)
    meaning = vectors
    if meaning_embedder is not None:
        meaning = np.asarray(meaning_embedder.embed([question, document, *paraphrases]), dtype=np.float64)
    scorer = _rouge()
    return Rewards(
        meaning=meaning[2:] @ meaning[1],
        retrieval=vectors[2:] @ vectors[0],
        copying=np.array([scorer.score(question, text)["rougeL"].recall for text in paraphrases]),
    )


class BestOfCrafter:
    """The best of `n` paraphrases by the rewards; the first of equal ones.

    Args:
        writer: who paraphrases; None: rules.
        n: paraphrases per document.
        embedder: the attacked retriever; None: the embedded default.
    """

    def __init__(
        self,
        writer: Writer | None = None,
        n: int = 16,
        weights: RewardWeights | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._writer = writer or RuleWriter()
        self._n = n
        self._weights = weights or RewardWeights()
        self._given = embedder
        settings = content_hash(dump(self._weights))
        self.identity = f"advraggen/best-of-{n}/{self._writer.identity}/{settings}/v1"

    def craft(self, question: str, document: str, rng: np.random.Generator, keep: str = "") -> str:
        """The document itself where the writer wrote nothing that holds `keep`."""
        written = self._writer.write(question, document, self._n, rng)
        if contains_answer(document, keep):
            written = [text for text in written if contains_answer(text, keep)]
        if not written:
            return document
        found = rewards(question, document, written, self._embedder())
        return written[int(np.argmax(found.total(self._weights)))]

    def _embedder(self) -> Embedder:
        if self._given is None:
            from sim.attacks.whitebox import default_white_box

            self._given = default_white_box().embedder
        return self._given


class AdvRAGgen(Carried):
    """Fluent and interpretable: the document paraphrased towards the question."""

    reads: ClassVar[frozenset[str]] = Carried.reads | {"samples", "writer"}

    def crafter(self, options: AttackOptions) -> BestOfCrafter:
        return BestOfCrafter(open_writer(options.writer), options.samples)


def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=True)
