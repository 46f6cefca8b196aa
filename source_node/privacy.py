"""Differentially private choice of documents, and the institution's policy about it.

What is protected: *which* documents of a fixed index are chosen. Neighbouring indexes have the same
positions and differ in the content of one (replacement); the query is public. What is not: the text of
the documents that were chosen, which leaves in clear, and the size of the index. `docs/privacy.md` says
so at length.

Scores are clipped to a fixed range [low, high]; D = high - low is then how far replacing one document
can move any score. Noisy and exact scores never leave the node: the released order is all.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from core.config import StrictModel
from core.errors import AccessError, ConfigError
from core.records import PrivacyRequest
from core.seeding import generator
from source_node.accountant import Accountant

Scores = NDArray[np.float64]
Indices = NDArray[np.intp]

DELTA = 0.01  # of the noisy threshold: ADO's value
CANDIDATES = 3  # times k documents that the noisy threshold looks at: ADO's value


def laplace_top_k(
    scores: Scores, k: int, epsilon: float, rng: np.random.Generator, width: float = 1.0
) -> Indices:
    """The k largest of scores + Laplace(width/ε), best first: ε-DP in all, whatever k is.

    Needs *independent* scores: replacing a document moves its own score only (true of a frozen encoder,
    false of BM25). Then the score vector has L1 sensitivity `width`, all noisy scores together are ε-DP
    by the Laplace mechanism, and taking any k of them is post-processing: no factor 2, no factor k.

    Shapes: scores (n,), in a range of `width`; result (min(k, n),).
    """
    noisy = scores + rng.laplace(0.0, width / epsilon, len(scores))
    return _largest(noisy, k)


def gumbel_top_k(
    scores: Scores, k: int, epsilon: float, rng: np.random.Generator, width: float = 1.0
) -> Indices:
    """The k largest of scores + Gumbel(2k·width/ε), best first: ε-DP in all.

    Equals k rounds of the exponential mechanism without replacement at ε/k each (Durfee and Rogers,
    2019). Scores may be coupled (BM25): each may move by up to `width`.

    Shapes: scores (n,), in a range of `width`; result (min(k, n),).
    """
    k = min(k, len(scores))
    noisy = scores + rng.gumbel(0.0, 2.0 * k * width / epsilon, len(scores))
    return _largest(noisy, k)


def noisy_threshold(
    scores: Scores, k: int, epsilon: float, rng: np.random.Generator, width: float = 2.0
) -> Indices:
    """What ADO's implementation calls DP retrieval, for comparison: **no differential privacy**.

    Of the 3k best documents, the best k of those with an exact score above (k-th best score + Gaussian
    noise) are returned: usually none at all or the exact answer. ε only sets the noise: exact scores
    decide who is a candidate and who passes, so the returned set is no post-processing of the noisy
    threshold, and the calibration sqrt(2 ln(1.25/δ)) is proved for ε < 1 alone.

    Shapes: scores (n,); result (0..min(k, n),), best first.
    """
    best = _largest(scores, CANDIDATES * k)
    if not len(best):
        return best
    sigma = width * math.sqrt(2.0 * math.log(1.25 / DELTA)) / epsilon
    threshold = scores[best[min(k, len(best)) - 1]] + rng.normal(0.0, sigma)
    above: Indices = best[scores[best] > threshold]
    return above[:k]


MECHANISMS: dict[str, Callable[..., Indices]] = {
    "laplace": laplace_top_k,
    "gumbel": gumbel_top_k,
    "noisy-threshold": noisy_threshold,
}
PROVEN = frozenset({"laplace", "gumbel"})


class PrivacyPolicy(StrictModel):
    """What an institution offers and insists on.

    `mechanisms` that a caller may ask for; `noisy-threshold` proves nothing and must be listed by hand.
    `required`: a request that asks for no privacy is answered by `mechanism` at `epsilon` and charged;
    otherwise it is answered exactly and not accounted. `max_epsilon` bounds one answer, `budget` all
    answers to one requester. `score_low` and `score_high` are the fixed range that scores are clipped to
    (cosines: [0,1] loses nothing that matters and halves the noise of [-1,1]).
    """

    mechanisms: tuple[str, ...] = ("laplace", "gumbel")
    required: bool = False
    mechanism: str = "laplace"
    epsilon: float = Field(default=3.0, gt=0)
    max_epsilon: float = Field(default=10.0, gt=0)
    budget: float = Field(default=100.0, gt=0)
    score_low: float = 0.0
    score_high: float = 1.0

    @field_validator("mechanisms")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in MECHANISMS:
                raise ValueError(f"unknown mechanism {name!r}; known: {', '.join(sorted(MECHANISMS))}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> PrivacyPolicy:
        if self.score_low >= self.score_high:
            raise ValueError("score_low must be below score_high")
        if self.required and self.mechanism not in self.mechanisms:
            raise ValueError(f"mechanism {self.mechanism!r} is not among the mechanisms offered")
        if self.required and self.epsilon > self.max_epsilon:
            raise ValueError("epsilon is above max_epsilon")
        return self


class PrivacyGate:
    """Applies a policy: decides what a request gets, charges for it, then chooses documents.

    Args:
        policy: what is offered.
        accountant: who pays; None only in simulations, where nobody does.
        seed: draws descend from it and the request's name, for simulations; None takes fresh
            randomness of the operating system for every answer, which is what privacy needs.
    """

    def __init__(
        self,
        policy: PrivacyPolicy | None = None,
        accountant: Accountant | None = None,
        seed: int | None = None,
    ) -> None:
        self.policy = policy or PrivacyPolicy()
        self.accountant = accountant
        self._seed = seed

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What a caller may ask for."""
        return self.policy.mechanisms

    def resolve(self, asked: PrivacyRequest | None, *, required: bool = False) -> PrivacyRequest | None:
        """What is done for a request: None answers exactly, which `required` rules out.

        Raises:
            AccessError: a mechanism that is not offered, or an ε that is not in (0, max_epsilon].
        """
        if asked is None:
            if not (self.policy.required or required):
                return None
            return PrivacyRequest(self.policy.mechanism, self.policy.epsilon)
        if asked.mechanism not in self.policy.mechanisms:
            offered = ", ".join(self.policy.mechanisms) or "none"
            raise AccessError(f"privacy mechanism {asked.mechanism!r} is not offered; offered: {offered}")
        if not (math.isfinite(asked.epsilon) and 0 < asked.epsilon <= self.policy.max_epsilon):
            raise AccessError(f"epsilon {asked.epsilon:g} is outside (0, {self.policy.max_epsilon:g}]")
        return asked

    def select(
        self,
        scores: NDArray[np.floating],
        k: int,
        request: PrivacyRequest,
        requester: str = "",
        *,
        independent: bool = True,
        name: str = "",
    ) -> Indices:
        """Charge `requester`, then choose at most k positions of the index, best first.

        Args:
            scores: (n,), of every document of the index, also of those that do not match at all.
            independent: whether a document's score depends on its own content alone.
            name: the request's id, for seeded draws.

        Raises:
            BudgetError: the requester's budget is spent. StoreError: the ledger cannot be written.
            ConfigError: `laplace` for a retriever whose scores are coupled.
        """
        if request.mechanism == "laplace" and not independent:
            raise ConfigError(
                "the laplace mechanism needs scores that depend on their own document alone; "
                "this retriever couples them (inverse document frequencies): ask for gumbel"
            )
        mechanism = MECHANISMS[request.mechanism]
        if self.accountant is not None:
            self.accountant.charge(requester, request.epsilon)
        if self._seed is None:
            rng = np.random.Generator(np.random.Philox(key=secrets.randbits(128)))
        else:
            rng = generator(self._seed, "privacy", name)
        low, high = self.policy.score_low, self.policy.score_high
        clipped = np.clip(np.asarray(scores, dtype=np.float64), low, high)
        if request.mechanism == "noisy-threshold":
            return mechanism(clipped, k, request.epsilon, rng)
        return mechanism(clipped, k, request.epsilon, rng, high - low)


def _largest(values: Scores, k: int) -> Indices:
    """Positions of the k largest values, largest first, ties by position."""
    k = min(k, len(values))
    if k <= 0:
        return np.zeros(0, dtype=np.intp)
    if k < len(values):
        least = np.partition(values, -k)[-k]
        candidates = np.flatnonzero(values >= least)
    else:
        candidates = np.arange(len(values))
    return candidates[np.lexsort((candidates, -values[candidates]))][:k]
