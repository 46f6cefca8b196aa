"""Who lies? An exact Bayesian filter over all honest/liar labelings of the sources, over rounds.

A labeling has at most floor((m-1)/2) liars: the breakdown bound. With more liars than that the
majority is not honest and nothing here means anything; `SourceFilter.breakdown` states the bound.
Beyond `EXACT_LIMIT` sources `gnn.inference.large` replaces the enumeration by a local search.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import comb, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnn.inference.evidence import RoundEvidence
from gnn.inference.suspicion import LEVELS, SuspicionConfig, learn, level_log_likelihood

EXACT_LIMIT = 12
_MISLEADING = 0.5  # rate of conflict at which a relation says nothing about anybody
_LARGE = 40.0  # log(1 + exp(x)) is x from here on


@dataclass(frozen=True)
class FilterConfig:
    """Constants of the filter; probabilities in (0,1).

    `prior_liar`: of a source by itself; of how many lie, see `SourceFilter.labeling_prior`. `honest_noise`,
    `noise_prior`: candidate shares of relations between two honest sources that look like conflicts (few
    where sources hold the same facts, nearly all of the few there are where they do not), and their prior.
    `lie_rates`: candidate shares of altered documents at a liar. `planting`: that liars plant texts which the
    content channel can find; `starts_planting`, `stops_planting`: change of that per round. `becomes_liar`,
    `becomes_honest`: change of a source per fully informative round. `full_evidence`: pair weight that makes
    a round fully informative. `spread`: mass spread over the other ways of lying each round. `misled_share`:
    rounds in which relations say nothing. `suspicion`: what content flags say.
    """

    prior_liar: float = 0.25
    honest_noise: tuple[float, ...] = (0.08, 0.3, 0.85)
    noise_prior: tuple[float, ...] = (0.6, 0.25, 0.15)
    lie_rates: tuple[float, ...] = (0.35, 0.6, 0.9)
    planting: float = 0.5
    starts_planting: float = 0.3
    stops_planting: float = 0.005
    becomes_liar: float = 0.003
    becomes_honest: float = 0.005
    full_evidence: float = 4.0
    spread: float = 0.05
    misled_share: float = 0.04
    suspicion: SuspicionConfig = field(default_factory=SuspicionConfig)

    def __post_init__(self) -> None:
        if not 0.0 < self.misled_share < 1.0:
            raise ValueError(f"misled_share is {self.misled_share}, must lie between 0 and 1")


@dataclass(frozen=True)
class SourceBeliefs:
    """Posterior over labelings and ways of lying.

    `sources` fixes the bit order; `log_mass` is (k, c) over the k labelings of `labelings`
    (k, m) bool, True = liar; columns are `Way`s of lying in the order of `ways(config)`.
    `levels` (m, 4) counts the content levels that each source showed.
    """

    sources: tuple[str, ...]
    labelings: NDArray[np.bool_]
    log_mass: NDArray[np.float64]
    rounds: int
    levels: NDArray[np.float64]

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """(k, c) probabilities, summing to 1."""
        mass = np.exp(self.log_mass - self.log_mass.max())
        return mass / mass.sum()

    @property
    def honest(self) -> NDArray[np.float64]:
        """(m,) probability that each source is honest: its reliability."""
        return np.clip(self.mass.sum(axis=1) @ ~self.labelings, 0.0, 1.0)

    def any_honest(self, holders: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n,) probability that at least one holder of each document is honest."""
        weights = self.mass.sum(axis=1)
        honest = (holders.astype(np.float64) @ (~self.labelings).T.astype(np.float64)) > 0
        return np.clip(honest @ weights, 0.0, 1.0)

    def expected(self, config: FilterConfig) -> Way:
        """Posterior mean of the way of lying; `colluding` is then a probability."""
        return Way(*map(float, self.mass.sum(axis=0) @ _way_table(config)))


class Way(NamedTuple):
    """How liars lie and how noisy the relations are.

    `rate` of altered documents at a liar, `colluding` (0/1), `noise` of the relations between honest sources,
    `planting` (0/1): texts that the content channel can find.
    """

    rate: float
    colluding: float
    noise: float
    planting: float


@lru_cache(maxsize=64)
def ways(config: FilterConfig) -> tuple[Way, ...]:
    """All combinations, the columns of `SourceBeliefs.log_mass`."""
    return tuple(
        Way(rate, colluding, noise, planting)
        for planting in (0.0, 1.0)
        for noise in config.honest_noise
        for colluding in (0.0, 1.0)
        for rate in config.lie_rates
    )


@lru_cache(maxsize=64)
def _way_table(config: FilterConfig) -> NDArray[np.float64]:
    """(c, 4) `ways` as numbers."""
    return np.array(ways(config), dtype=np.float64)


@lru_cache(maxsize=64)
def enumerate_labelings(m: int) -> NDArray[np.bool_]:
    """(k, m) all labelings of m sources with at most (m-1)//2 liars; read only."""
    codes = np.arange(2**m)
    bits = ((codes[:, None] >> np.arange(m)) & 1).astype(bool)
    found = bits[bits.sum(axis=1) <= SourceFilter.breakdown(m)]
    found.flags.writeable = False
    return found


class SourceFilter:
    """Exact inference for up to `EXACT_LIMIT` sources."""

    def __init__(self, config: FilterConfig | None = None) -> None:
        self.config = config or FilterConfig()

    @staticmethod
    def breakdown(m: int) -> int:
        """Largest number of liars among m sources that the filter can name: floor((m-1)/2)."""
        return max(0, (m - 1) // 2)

    def start(self, sources: tuple[str, ...]) -> SourceBeliefs:
        """Prior beliefs about `sources`."""
        labelings = enumerate_labelings(len(sources))
        log_mass = self.labeling_prior(labelings)[:, None] + self.way_prior()
        return SourceBeliefs(sources, labelings, log_mass, 0, np.zeros((len(sources), LEVELS)))

    def labeling_prior(self, labelings: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(k,) log prior of `labelings` (k, m), by how many lie.

        Half of it takes sources to lie independently, which leaves ten of them hardly any chance that none
        does; the other half takes every number of liars up to the bound, none included, to be as likely.
        """
        return _by_liars(labelings.shape[1], self.config.prior_liar)[labelings.sum(axis=1)]

    def way_prior(self) -> NDArray[np.float64]:
        """(c,) log prior of each way of lying."""
        c = self.config
        each = np.repeat(np.array(c.noise_prior), 2 * len(c.lie_rates))
        each = np.concatenate([(1 - c.planting) * each, c.planting * each])
        return np.log(each / each.sum())

    def update(self, beliefs: SourceBeliefs, evidence: RoundEvidence) -> SourceBeliefs:
        """Posterior after one round; columns of `evidence` follow `beliefs.sources`."""
        log_mass = beliefs.log_mass + self.log_likelihood(beliefs.labelings, evidence, beliefs.levels)
        log_mass -= log_mass.max()
        return replace(beliefs, log_mass=log_mass, rounds=beliefs.rounds + 1)

    def predict(self, beliefs: SourceBeliefs, evidence: RoundEvidence) -> SourceBeliefs:
        """Prior of the next round: sources may change sides, faster the more `evidence` there was."""
        c = self.config
        m = len(beliefs.sources)
        pace = np.minimum(1.0, (evidence.strength + evidence.present) / c.full_evidence)
        full = np.zeros((2**m, beliefs.log_mass.shape[1]))
        codes = _codes(beliefs.labelings)
        full[codes] = beliefs.mass
        low = m // 2  # sources change sides independently: first the lower half of the bits, then the upper
        cube = full.reshape(2 ** (m - low), 2**low, -1)
        turn, back = c.becomes_liar * pace, c.becomes_honest * pace
        cube = np.matmul(_change(turn[:low], back[:low]), cube)
        full = (_change(turn[low:], back[low:]) @ cube.reshape(len(cube), -1)).reshape(full.shape)
        mass = self._other_ways(beliefs.labelings, full[codes])
        mass /= mass.sum()
        levels = learn(beliefs.levels, evidence.levels, c.suspicion)
        return replace(beliefs, log_mass=np.log(np.maximum(mass, 1e-300)), levels=levels)

    def _other_ways(self, labelings: NDArray[np.bool_], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """`mass` (k, c) after a round's change of the way in which the liars of each labeling (k, m) lie.

        Liars that alter documents may plant texts as well, sooner or later: those who never do are likelier
        honest, which is what clears sources of an early slip where nobody else holds what they hold. Where
        nobody lies, nobody has a way of lying yet.
        """
        whoever, nobody = self._way_changes
        after = mass @ whoever
        honest = ~labelings.any(axis=1)
        after[honest] = mass[honest] @ nobody
        return after

    @cached_property
    def _way_changes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(c, c) twice: chance of each way (row) to become another (column), with and without liars."""
        c = self.config
        prior = np.exp(self.way_prior())
        half = len(prior) // 2  # ways without planting, then the same with it
        besides = (1 - c.spread) * np.eye(half) + c.spread * prior[:half] / prior[:half].sum()
        kinds = np.array(
            [[1 - c.starts_planting, c.starts_planting], [c.stops_planting, 1 - c.stops_planting]]
        )
        anew = np.array([[1 - c.planting, c.planting]] * 2)
        return np.kron(kinds, besides), np.kron(anew, besides)

    def log_likelihood(
        self, labelings: NDArray[np.bool_], evidence: RoundEvidence, levels: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(k, c) log-likelihood of the round under each labeling and way of lying.

        `levels` (m, 4) counts the content levels that the sources showed so far.
        """
        c = self.config
        planted, unplanted = level_log_likelihood(labelings, evidence.levels, levels, c.suspicion)
        distinct, column = self._rates
        between = evidence.between(distinct)
        a, b = _source_pairs(labelings.shape[1])
        # pairs of sources with no liar, with one and with two are each at another rate: linear in who lies
        # and in who lies together
        everyone, touched, pairs = between.sum(axis=(1, 2)) / 2, between.sum(axis=2), between[:, a, b]
        honest, mixed, lying = column
        single = touched[mixed] - touched[honest]
        both = pairs[honest] - 2 * pairs[mixed] + pairs[lying]
        out = _who_lies(labelings) @ np.concatenate([single, both], axis=1).T + everyone[honest]
        # a round in which relations mislead accuses nobody: it bounds what one round can do
        misled = np.log(c.misled_share) + between[self._misleading].sum() / 2
        told = misled + _softplus(out + (np.log1p(-c.misled_share) - misled))
        return np.concatenate([told + unplanted, told + planted[:, None]], axis=1)

    @cached_property
    def _rates(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(r,) distinct rates of conflict, and (3, c/2) which of them each way of lying has, planting aside.

        The rows: between two honest sources, an honest one and a liar, two liars.
        """
        table = []
        for way in [way for way in ways(self.config) if not way.planting]:
            clash = 1 - (1 - way.noise) * (1 - way.rate)
            liars = way.noise + 0.1 * way.rate if way.colluding else 1 - (1 - clash) * (1 - way.rate)
            table.append([min(rate, 0.97) for rate in (way.noise, clash, liars)])
        distinct, column = np.unique(np.array([*table, [_MISLEADING] * 3]).round(9), return_inverse=True)
        return distinct, column.reshape(-1, 3)[:-1].T

    @cached_property
    def _misleading(self) -> int:
        """Which of the distinct rates is that of relations that mislead."""
        return int(np.searchsorted(self._rates[0], _MISLEADING))


def _softplus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 + exp(x)) in half the time that numpy's own logaddexp takes."""
    return np.where(x > _LARGE, x, np.log1p(np.exp(np.minimum(x, _LARGE))))


def _codes(labelings: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(k,) each labeling (k, m) as a number, source j as bit j."""
    return np.asarray(labelings @ (1 << np.arange(labelings.shape[1])))


@lru_cache(maxsize=64)
def _source_pairs(m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of m sources, the lower index first."""
    return np.triu_indices(m, 1)


def _who_lies(labelings: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(k, m + m(m-1)/2) which sources lie in each labeling (k, m), and which pairs of them do."""
    m = labelings.shape[1]
    if m <= EXACT_LIMIT and np.array_equal(labelings, enumerate_labelings(m)):  # in every round the same
        return _in_all_labelings(m)
    return _joint(labelings)


@lru_cache(maxsize=4)
def _in_all_labelings(m: int) -> NDArray[np.float64]:
    """`_who_lies` of `enumerate_labelings(m)`."""
    return _joint(enumerate_labelings(m))


def _joint(labelings: NDArray[np.bool_]) -> NDArray[np.float64]:
    a, b = _source_pairs(labelings.shape[1])
    return np.concatenate([labelings, labelings[:, a] & labelings[:, b]], axis=1).astype(np.float64)


@lru_cache(maxsize=64)
def _by_liars(m: int, prior_liar: float) -> NDArray[np.float64]:
    """(b+1,) log prior of one labeling of m sources with 0 to b = floor((m-1)/2) liars."""
    liars = np.arange(SourceFilter.breakdown(m) + 1)
    choices = np.array([log(comb(m, k)) for k in liars])
    independent = np.exp(choices + liars * log(prior_liar) + (m - liars) * log(1 - prior_liar))
    counts = 0.5 * independent / independent.sum() + 0.5 / len(liars)
    return np.asarray(np.log(counts) - choices)


def _change(turn: NDArray[np.float64], back: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2^h, 2^h) probability of each state of h sources (column: before, row: after), source j as bit j."""
    whole = np.ones((1, 1))
    for t, b in zip(turn, back, strict=True):
        one = np.array([[1 - t, b], [t, 1 - b]])  # np.kron does the same with ten times the calls
        whole = (one[:, None, :, None] * whole[None, :, None, :]).reshape(2 * len(whole), -1)
    return whole
