"""ML-FilterRAG (arXiv 2508.02835): FilterRAG's density and three more features, weighed by a forest."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from core.config import StrictModel, parse
from core.embedding.base import Embedder
from core.errors import ConfigError, DataError, LLMError
from core.llm import Capability, Message, ScoringLLM, require_llm
from core.stage import Hook, Resources, StageInput, StageResult
from core.text import content_words, words
from core.verdict import Action, Verdict
from defenses.filterrag import ANSWER, matches
from defenses.forest import Forest, loads
from defenses.perplexity import PROMPT, beginning

FEATURES = ("density", "frequencies", "log_perplexity", "answer_log_probability")
_log = logging.getLogger(__name__)


class FeatureConfig(StrictModel):
    """How features are taken; kept in the forest's file, since a forest judges what it was trained on.

    `word_cosine`, `stop_words`, `max_tokens` as FilterRAG has them; `words`: how much of a document its
    perplexity is taken of.
    """

    word_cosine: float = Field(default=0.6, gt=0, le=1)
    stop_words: bool = False
    max_tokens: int = Field(default=16, ge=1)
    words: int = Field(default=40, ge=5)


class MlFilterRagConfig(StrictModel):
    """`forest`: file of `scr sim fit ml_filterrag`; none is shipped, since the paper trains one for each data
    set and each small model. A document goes whose probability of being adversarial is above `limit`.
    """

    forest: Path
    limit: float = Field(default=0.5, gt=0, lt=1)


class Features:
    """The four features of a document under a question.

    Density and sum of frequencies of the words that question, answer and document share; log-perplexity of
    the document; log-probability of the model's whole answer given the document. Logarithms where the paper
    has the quantities themselves: a tree splits both alike.

    Args:
        config: how they are taken.
        llm: the small model, with log-probabilities.
        embedder: of the words, where `word_cosine` is below 1.
    """

    def __init__(self, config: FeatureConfig, llm: ScoringLLM, embedder: Embedder | None) -> None:
        self._config = config
        self._llm = llm
        self._embedder = embedder

    def of(self, question: str, text: str) -> NDArray[np.float64]:
        """(4,), in the order of `FEATURES`; three calls of the model.

        Raises:
            LLMError: the model failed.
        """
        config = self._config
        turn = f"Document: {text}\n\nQuestion: {question}"
        asked = [Message("system", ANSWER), Message("user", turn)]
        completion = self._llm.complete(asked, max_tokens=config.max_tokens)
        answer = completion.text.strip()
        told = 0.0
        if answer:
            mean = float(self._llm.log_likelihood(f"{ANSWER}\n\n{turn}\nAnswer:", [f" {answer}"])[0])
            told = mean * max(1, completion.completion_tokens)
        short = beginning(text, config.words)
        surprise = -float(self._llm.log_likelihood(PROMPT, [f" {short}"])[0]) if short else 0.0
        wanted = [*self._tokens(question), *self._tokens(answer)]
        hits, distinct = matches(wanted, self._tokens(text), self._embedder, config.word_cosine)
        return np.array([hits / distinct if distinct else 0.0, hits, surprise, told], dtype=np.float64)

    def _tokens(self, text: str) -> list[str]:
        return words(text) if self._config.stop_words else content_words(text)


class MlFilterRagStage:
    """Drops documents that a forest over four features takes for adversarial. Stateless.

    Three calls of the model per document; a document of which one fails is not judged (abstain), and the
    notes count it. Credibility is one less the probability.
    """

    name = "ml_filterrag"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | MlFilterRagConfig | None, resources: Resources) -> None:
        llm = cast("ScoringLLM", require_llm(resources.llm, self.name, [Capability.LOGPROBS]))
        if not isinstance(config, MlFilterRagConfig):
            if not (config or {}).get("forest"):
                raise ConfigError("ml_filterrag needs the option forest: a file of scr sim fit ml_filterrag")
            config = parse(MlFilterRagConfig, config or {}, self.name)
        self.config = config
        self._forest = load_forest(config.forest)
        taken = feature_config(self._forest, config.forest)
        if resources.embedder is None and taken.word_cosine < 1:
            raise ConfigError("ml_filterrag needs an embedder for its words, or a forest of word_cosine 1")
        trained = self._forest.about.get("llm")
        if trained != llm.name:
            _log.warning(
                "ml_filterrag's forest was trained on the answers of %s and judges those of %s: train one "
                "with scr sim fit ml_filterrag --llm ...",
                trained,
                llm.name,
            )
        self._features = Features(taken, llm, resources.embedder)

    def run(self, given: StageInput) -> StageResult:
        verdicts, kept = [], []
        failures = 0
        for document in given.documents:
            try:
                row = self._features.of(given.query.text, document.text)
            except LLMError:
                failures += 1
                verdicts.append(Verdict(document.key, Action.ABSTAIN, None, "llm_failed"))
                kept.append(document)
                continue
            bad = float(self._forest.probability(row[None])[0])
            keep = bad <= self.config.limit
            evidence = {"probability": bad, **dict(zip(FEATURES, row.tolist(), strict=True))}
            verdicts.append(
                Verdict(
                    document.key,
                    Action.KEEP if keep else Action.DROP,
                    1.0 - bad,
                    "passed" if keep else "adversarial",
                    evidence,
                )
            )
            kept += [document] * keep
        notes = {"llm_calls": 3.0 * len(given.documents), "llm_failures": float(failures)}
        return StageResult(tuple(kept), tuple(verdicts), notes)


def load_forest(path: Path) -> Forest:
    """The forest in the file `path`.

    Raises:
        ConfigError: it cannot be read.
        DataError: it is no forest of these features.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"forest {path}: cannot be read ({error})") from None
    forest = loads(text, str(path))
    if forest.features != FEATURES:
        raise DataError(f"{path}: a forest over {', '.join(forest.features)}, not {', '.join(FEATURES)}")
    return forest


def feature_config(forest: Forest, path: Path) -> FeatureConfig:
    """How the features of `forest` are taken.

    Raises:
        DataError: the file does not say.
    """
    try:
        return FeatureConfig.model_validate(forest.about["taken"])
    except (KeyError, ValidationError) as error:
        raise DataError(f"{path}: does not say how its features are taken ({error})") from None
