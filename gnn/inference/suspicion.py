"""What the content channel's flags say about a source: how often do honest sources get flagged here?

A flag is no fixed amount of evidence. Where the content threshold fits the domain, honest sources are
flagged in a few of a hundred rounds and a flag is telling; where it does not, everybody is flagged often
and a flag says little. So the honest rates are learned, from the sources flagged least so far: as many as
must be honest below the breakdown bound, whatever is believed about them (liars once believed honest would
else teach that flags mean nothing). And a round may be hard as a whole: a question whose honest documents
all look made for it accuses nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ABSENT, CLEAR, NEAR, BELOW, FAR_BELOW = -1, 0, 1, 2, 3
LEVELS = 4
NEAR_ABOVE = 2.0  # content margin (logits) up to which a document above the threshold counts as near it
FAR = -1.5  # content margin from which a document counts as far below the threshold


@dataclass(frozen=True)
class SuspicionConfig:
    """Rates of a source's worst document being clear of the threshold, near, below or far below it.

    `honest` is the prior of honest sources, worth `prior_rounds` source-rounds and then learned with a
    memory of `memory` rounds of each source; `liar` holds for sources that plant texts, camouflaged ones
    included; `hard` for any source in a hard round, of which there is a share `hard_share`.
    """

    honest: tuple[float, float, float, float] = (0.88, 0.07, 0.03, 0.02)
    prior_rounds: float = 20.0
    memory: float = 50.0
    liar: tuple[float, float, float, float] = (0.2, 0.25, 0.25, 0.3)
    hard: tuple[float, float, float, float] = (0.4, 0.2, 0.2, 0.2)
    hard_share: float = 0.1


def content_levels(holders: NDArray[np.bool_], margin: NDArray[np.float64]) -> NDArray[np.int8]:
    """(m,) level of each source's worst content margin (n,); `ABSENT` where it returned nothing."""
    worst = np.where(holders, margin[:, None], np.inf).min(axis=0, initial=np.inf)
    levels = np.select([worst < FAR, worst < 0, worst < NEAR_ABOVE], [FAR_BELOW, BELOW, NEAR], CLEAR)
    return np.where(holders.any(axis=0), levels, ABSENT).astype(np.int8)


def honest_rates(counts: NDArray[np.float64], config: SuspicionConfig) -> NDArray[np.float64]:
    """(4,) posterior mean rates of honest sources, given the levels that each source showed, (m, 4).

    Of m sources the m - floor((m-1)/2) flagged least count: that many are honest.
    """
    prior = config.prior_rounds * np.array(config.honest)
    flagged = (counts[:, NEAR:].sum(axis=1) + prior[NEAR:].sum()) / (counts.sum(axis=1) + prior.sum())
    least = np.argsort(flagged, kind="stable")[: len(counts) - max(0, len(counts) - 1) // 2]
    seen = prior + counts[least].sum(axis=0)
    return np.asarray(seen / seen.sum())


def level_log_likelihood(
    labelings: NDArray[np.bool_],
    levels: NDArray[np.int8],
    counts: NDArray[np.float64],
    config: SuspicionConfig,
) -> tuple[NDArray[np.float64], float]:
    """Log-likelihood of `levels` (m,): (k,) under each labeling if liars plant texts, and if they do not.

    Liars that only alter documents look like honest sources: then the levels say nothing about who lies.
    Ordinary and hard rounds are mixed in both.
    """
    present = levels != ABSENT
    seen = levels[present]
    if not len(seen):
        return np.zeros(len(labelings)), 0.0
    liar = labelings[:, present].astype(np.float64)
    as_liar = np.log(np.array(config.liar))[seen]
    ordinary = np.log(honest_rates(counts, config))[seen]
    # a liar in a hard round is at least as suspect as an honest source there
    hard = np.log(np.array(config.hard))[seen]
    each = np.stack([as_liar - ordinary, np.maximum(as_liar, hard) - hard], axis=1)
    mixed = np.log([1.0 - config.hard_share, config.hard_share])
    mixed += (ordinary.sum(), hard.sum())
    planted = np.asarray(np.logaddexp.reduce(liar @ each + mixed, axis=1))
    return planted, float(np.logaddexp.reduce(mixed))


def learn(
    counts: NDArray[np.float64], levels: NDArray[np.int8], config: SuspicionConfig
) -> NDArray[np.float64]:
    """Counts (m, 4) after a round with `levels` (m,): old rounds of a source that answered fade."""
    present = levels != ABSENT
    after = counts.copy()
    after[present] *= 1.0 - 1.0 / config.memory
    after[np.flatnonzero(present), levels[present]] += 1.0
    return after
