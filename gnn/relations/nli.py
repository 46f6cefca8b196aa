"""Relations judged by a natural-language-inference cross-encoder, where a model is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ConfigError, MissingPackageError
from gnn.relations.combine import strongest
from gnn.relations.pairs import SentencePairs
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL

_KINDS = {"neutral": NEUTRAL, "entail": AGREE, "contradict": CONFLICT}
_LIMIT = 500_000  # sentence pairs remembered


class NliRelationScorer:
    """A `RelationScorer` over a sequence-pair classifier with the labels entailment, neutral, contradiction.

    Inference has a direction and relations have none: each pair is read both ways; it agrees as far as
    either side follows from the other, and conflicts by the mean of both readings. Pairs are cached.

    Args:
        model: folder or hub id of the classifier.
        batch: pairs per forward pass.
        max_tokens: of both sentences together.

    Raises:
        ConfigError: there is no such model, or its labels are others.
        MissingPackageError: transformers is not installed.
    """

    def __init__(self, model: str, batch: int = 64, max_tokens: int = 256) -> None:
        try:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ModuleNotFoundError as error:
            raise MissingPackageError(
                "relations by NLI need the package 'transformers': pip install 'securecollarag[embed]'"
            ) from error
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(model).eval()
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:160]
            raise ConfigError(f"nli {model!r}: no such sequence classifier ({reason})") from None
        self._columns = _columns(model, self._model.config.id2label)
        self._batch, self._max_tokens = batch, max_tokens
        self._known: dict[tuple[str, str], tuple[float, float, float]] = {}
        self.identity = f"nli/{model}"

    def score(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(p, 3) probabilities neutral, agree, conflict of each pair of sentences, by their texts alone."""
        texts = [(a, b) if a <= b else (b, a) for a, b in pairs.texts()]
        new = list(dict.fromkeys(pair for pair in texts if pair not in self._known))
        if len(self._known) + len(new) > _LIMIT:
            self._known.clear()
            new = list(dict.fromkeys(texts))
        if new:
            both = self._read(new + [(b, a) for a, b in new]).reshape(2, len(new), 3)
            agree, conflict = both[:, :, AGREE].max(axis=0), both[:, :, CONFLICT].mean(axis=0)
            agree = np.minimum(agree, 1.0 - conflict)
            made = np.column_stack([1.0 - agree - conflict, agree, conflict])
            self._known.update(zip(new, map(tuple, made.tolist()), strict=True))
        return np.array([self._known[pair] for pair in texts], dtype=np.float32).reshape(-1, 3)

    def relate(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(k, 2) the strongest agreement and conflict between two documents."""
        p = self.score(pairs)
        return strongest(p[:, AGREE], p[:, CONFLICT], pairs)

    def _read(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """(n, 3) probabilities of premise-hypothesis pairs, in batches of like length."""
        import torch

        order = sorted(range(len(pairs)), key=lambda i: sum(map(len, pairs[i])))
        found = np.empty((len(pairs), 3))
        for start in range(0, len(order), self._batch):
            chosen = order[start : start + self._batch]
            given = self._tokenizer(
                [pairs[i][0] for i in chosen],
                [pairs[i][1] for i in chosen],
                padding=True,
                truncation=True,
                max_length=self._max_tokens,
                return_tensors="pt",
            )
            with torch.inference_mode():
                logits = self._model(**given).logits
            probabilities = torch.softmax(logits.float(), dim=-1).numpy()
            found[chosen] = probabilities[:, self._columns]
        return found


def _columns(model: str, labels: dict[int, str]) -> list[int]:
    """Which output is neutral, agree and conflict, in this order."""
    place = [-1, -1, -1]
    for index, label in labels.items():
        for stem, kind in _KINDS.items():
            if stem in label.lower():
                place[kind] = int(index)
    if sorted(place) != [0, 1, 2] or len(labels) != 3:
        raise ConfigError(
            f"nli {model!r}: labels must be entailment, neutral and contradiction, "
            f"not {', '.join(map(str, labels.values()))}"
        )
    return place
