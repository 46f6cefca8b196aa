"""Who lies? An exact Bayesian filter over all honest/liar labelings of the sources, over rounds.

A labeling has at most floor((m-1)/2) liars: the breakdown bound. With more liars than that the
majority is not honest and nothing here means anything; `SourceFilter.breakdown` states the bound.
Beyond `EXACT_LIMIT` sources `gnn.inference.large` replaces the enumeration by a local search.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gnn.inference.evidence import RoundEvidence
from gnn.inference.suspicion import SuspicionConfig, learn, level_log_likelihood

EXACT_LIMIT = 12


@dataclass(frozen=True)
class FilterConfig:
    """Constants of the filter; probabilities in (0,1).

    `prior_liar` per source; `honest_noise`: how often two honest sources seem to conflict;
    `lie_rates`: candidate shares of altered documents at a liar; `becomes_liar`, `becomes_honest`:
    change of a source per fully informative round; `full_evidence`: pair weight that makes a round
    fully informative; `spread`: mass spread over lie rates and collusion each round; `suspicion`: what
    content flags say.
    """

    prior_liar: float = 0.25
    honest_noise: float = 0.15
    lie_rates: tuple[float, ...] = (0.35, 0.6, 0.9)
    becomes_liar: float = 0.02
    becomes_honest: float = 0.005
    full_evidence: float = 4.0
    spread: float = 0.05
    suspicion: SuspicionConfig = field(default_factory=SuspicionConfig)


@dataclass(frozen=True)
class SourceBeliefs:
    """Posterior over labelings and ways of lying.

    `sources` fixes the bit order; `log_mass` is (k, 2 * len(lie_rates)) over the k labelings of
    `labelings` (k, m) bool, True = liar; columns are lie rate × {independent, colluding}.
    `levels` (3,) counts the content levels of sources believed honest.
    """

    sources: tuple[str, ...]
    labelings: NDArray[np.bool_]
    log_mass: NDArray[np.float64]
    rounds: int = 0
    levels: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    @property
    def mass(self) -> NDArray[np.float64]:
        """(k, 2q) probabilities, summing to 1."""
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

    def lie_rate(self, rates: tuple[float, ...]) -> float:
        """Posterior mean share of altered documents at a liar."""
        columns = self.mass.sum(axis=0).reshape(2, len(rates)).sum(axis=0)
        return float(columns @ np.array(rates))

    def collusion(self) -> float:
        """Posterior probability that the liars collude."""
        return float(self.mass.sum(axis=0).reshape(2, -1)[1].sum())


def enumerate_labelings(m: int) -> NDArray[np.bool_]:
    """(k, m) all labelings of m sources with at most (m-1)//2 liars."""
    codes = np.arange(2**m)
    bits = ((codes[:, None] >> np.arange(m)) & 1).astype(bool)
    return bits[bits.sum(axis=1) <= (m - 1) // 2]


class SourceFilter:
    """Exact inference for up to `EXACT_LIMIT` sources."""

    def __init__(self, config: FilterConfig | None = None) -> None:
        self.config = config or FilterConfig()

    @staticmethod
    def breakdown(m: int) -> int:
        """Largest number of liars among m sources that the filter can name: floor((m-1)/2)."""
        return (m - 1) // 2

    def start(self, sources: tuple[str, ...]) -> SourceBeliefs:
        """Prior beliefs about `sources`."""
        c = self.config
        labelings = enumerate_labelings(len(sources))
        liars = labelings.sum(axis=1)
        prior = liars * np.log(c.prior_liar) + (len(sources) - liars) * np.log(1 - c.prior_liar)
        columns = 2 * len(c.lie_rates)
        return SourceBeliefs(sources, labelings, np.tile(prior[:, None], (1, columns)))

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
        codes = beliefs.labelings @ (1 << np.arange(m))
        full[codes] = beliefs.mass
        for j in range(m):
            turn, back = c.becomes_liar * pace[j], c.becomes_honest * pace[j]
            cube = full.reshape(2 ** (m - 1 - j), 2, 2**j, -1)
            honest, liar = cube[:, 0].copy(), cube[:, 1].copy()
            cube[:, 0] = (1 - turn) * honest + back * liar
            cube[:, 1] = turn * honest + (1 - back) * liar
        mass = full[codes]
        mass = (1 - c.spread) * mass + c.spread * mass.mean(axis=1, keepdims=True)
        mass /= mass.sum()
        levels = learn(beliefs.levels, evidence.levels, beliefs.honest, c.suspicion)
        return replace(beliefs, log_mass=np.log(np.maximum(mass, 1e-300)), levels=levels)

    def log_likelihood(
        self, labelings: NDArray[np.bool_], evidence: RoundEvidence, levels: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(k, 2q) log-likelihood of the round under each labeling and way of lying.

        `levels` (3,) counts the content levels that honest sources showed so far.
        """
        c = self.config
        liar = labelings.astype(np.float64)
        honest = 1.0 - liar
        unary = level_log_likelihood(labelings, evidence.levels, levels, c.suspicion)
        both_honest = _quadratic(honest, self._between(evidence, c.honest_noise), honest) / 2
        out = np.empty((len(labelings), 2 * len(c.lie_rates)))
        for i, rate in enumerate(c.lie_rates):
            mixed = _quadratic(honest, self._between(evidence, rate), liar)
            independent = min(0.95, 1 - (1 - 0.95 * rate) ** 2)
            for column, noise in ((i, independent), (i + len(c.lie_rates), c.honest_noise + 0.1 * rate)):
                both_liars = _quadratic(liar, self._between(evidence, noise), liar) / 2
                out[:, column] = unary + both_honest + mixed + both_liars
        return out

    def _between(self, evidence: RoundEvidence, noise: float) -> NDArray[np.float64]:
        """(m, m) summed log-likelihood of the pair evidence if a pair conflicts with rate `noise`."""
        x = evidence.dispute.astype(np.float64)
        pair = evidence.weight * np.log(noise * x + (1 - noise) * (1 - x))
        held = evidence.holders.astype(np.float64)
        between = held.T @ pair @ held
        np.fill_diagonal(between, 0.0)
        return between


def _quadratic(
    left: NDArray[np.float64], matrix: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Row-wise left' M right."""
    return np.einsum("ki,ki->k", left @ matrix, right)
