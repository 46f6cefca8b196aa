"""HotFlip (Ebrahimi et al. 2018) against an embedder: tokens exchanged along the gradient, scored exactly.

As in PoisonedRAG's and RAGPart's experiments the attacker raises the similarity of a document to one
question. In each iteration the gradient at the slots ranks all exchanges by their first-order gain; the
best candidates are scored exactly, and the best of them is made if it helps. Where the best exchanges
of several slots help, making them together is tried too: that saves iterations, not exactness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel
from sim.attacks.whitebox import WhiteBox


class FlipConfig(StrictModel):
    """`iterations` and `candidates` (exact scores in each) bound the search; `stop_at`: good enough."""

    iterations: int = Field(default=30, ge=1)
    candidates: int = Field(default=24, ge=1)
    stop_at: float = Field(default=1.0, gt=0.0, le=1.0)


@dataclass(frozen=True, slots=True)
class Template:
    """Token ids with slots: `ids` as they start, `slots` the places that may change."""

    ids: tuple[int, ...]
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flipped:
    """The ids found, their cosine to the question, and the forward passes that they cost."""

    ids: tuple[int, ...]
    score: float
    passes: int


def flip(
    model: WhiteBox,
    template: Template,
    query: NDArray[np.float32],
    config: FlipConfig,
    rng: np.random.Generator,
) -> Flipped:
    """Fill the slots of `template` so that its text comes close to the unit vector `query`.

    `rng` chooses the slots looked at where there are more of them than candidates.
    """
    ids = list(template.ids)
    slots = np.array([slot for slot in template.slots if slot < model.max_tokens], dtype=np.intp)
    score, passes = float(model.scores([ids], query)[0]), 1
    tried: set[tuple[int, int]] = set()
    for _ in range(config.iterations if len(slots) else 0):
        if score >= config.stop_at:
            break
        _, gradient = model.gradient(ids, query)
        passes += 3  # a backward pass costs about two forward ones
        pairs = _candidates(model, ids, gradient, slots, tried, config.candidates, rng)
        if not pairs:
            break
        scores = model.scores([_with(ids, [pair]) for pair in pairs], query)
        passes += len(pairs)
        tried.update(pairs)
        best_of: dict[int, int] = {}
        for i in np.argsort(-scores, kind="stable"):
            if scores[i] > score:
                best_of.setdefault(pairs[i][0], int(i))
        if not best_of:
            continue
        helpful = sorted(best_of.values(), key=lambda i: -scores[i])
        chosen, reached = [pairs[helpful[0]]], float(scores[helpful[0]])
        together = [[pairs[i] for i in helpful[:size]] for size in (2, 4, 8) if size <= len(helpful)]
        if together:
            joint = model.scores([_with(ids, group) for group in together], query)
            passes += len(together)
            if joint.max() > reached:
                chosen, reached = together[int(joint.argmax())], float(joint.max())
        ids, score = _with(ids, chosen), reached
        tried.clear()
    return Flipped(tuple(ids), score, passes)


def _candidates(
    model: WhiteBox,
    ids: Sequence[int],
    gradient: NDArray[np.float32],
    slots: NDArray[np.intp],
    tried: set[tuple[int, int]],
    count: int,
    rng: np.random.Generator,
) -> list[tuple[int, int]]:
    """The `count` exchanges (slot, token) of highest first-order gain, spread over slots, none tried yet."""
    looked_at = slots if len(slots) <= count else np.sort(rng.choice(slots, size=count, replace=False))
    each = -(-count // len(looked_at)) + len(tried)
    pairs: list[tuple[float, int, int]] = []
    for slot in looked_at.tolist():
        gains = model.embeddings @ gradient[slot]
        gains -= gains[ids[slot]]
        gains[~model.words] = -np.inf
        top = np.argpartition(-gains, min(each, len(gains) - 1))[:each]
        pairs.extend((float(gains[token]), slot, int(token)) for token in top if gains[token] > 0)
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    fresh = [(slot, token) for _, slot, token in pairs if (slot, token) not in tried]
    return fresh[:count]


def _with(ids: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    changed = list(ids)
    for slot, token in pairs:
        changed[slot] = token
    return changed
