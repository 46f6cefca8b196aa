"""Source inference beyond the exact filter's reach: the same model, labelings found by local search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gnn.inference.evidence import RoundEvidence
from gnn.inference.source_filter import SourceBeliefs, SourceFilter
from gnn.inference.suspicion import BELOW, LEVELS, learn

_STARTS = 8
_CARRIED = 256  # labelings carried to the next round
_TURNED = 16  # of these, the likeliest: their single flips are carried too
_RARE = 1e-3  # chance of a flip that was not carried
Score = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


class LargeSourceFilter(SourceFilter):
    """Carries the likeliest labelings between rounds and searches for others.

    Each round: from several starts single flips climb to local maxima of the posterior; it is then taken
    over those maxima and the carried labelings, with all their single flips and the pair flips of the
    least certain sources. Labelings are carried jointly, since colluding sources are weakly suspect each
    and strongly suspect together. Close to the exact filter where that can run (tested).
    """

    def start(self, sources: tuple[str, ...]) -> SourceBeliefs:
        """Prior beliefs over the all-honest labeling and every single liar."""
        m = len(sources)
        labelings = np.concatenate([np.zeros((1, m), bool), np.eye(m, dtype=bool)])
        mass = self.labeling_prior(labelings)[:, None] + self.way_prior()
        return SourceBeliefs(sources, labelings, mass, 0, np.zeros((m, LEVELS)))

    def update(self, beliefs: SourceBeliefs, evidence: RoundEvidence) -> SourceBeliefs:
        """Posterior over the labelings that local search finds."""
        m = len(beliefs.sources)
        odds = self._carried(beliefs)

        def score(labelings: NDArray[np.bool_]) -> NDArray[np.float64]:
            prior = self._prior(beliefs, labelings)
            return self.log_likelihood(labelings, evidence, beliefs.levels) + prior

        limit = self.breakdown(m)
        unary = odds + np.where(evidence.levels >= BELOW, 2.0, -0.5) * evidence.present
        starts = self._starts(unary, evidence, limit) + list(_likeliest(beliefs, _STARTS)[0])
        found = {self._climb(start, score, limit).tobytes() for start in starts}
        peaks = np.array([np.frombuffer(key, dtype=bool) for key in sorted(found)])
        around = np.concatenate([_neighbourhood(peaks, unary, limit), beliefs.labelings])
        labelings = np.unique(around, axis=0)
        log_mass = score(labelings)
        return SourceBeliefs(
            beliefs.sources, labelings, log_mass - log_mass.max(), beliefs.rounds + 1, beliefs.levels
        )

    def predict(self, beliefs: SourceBeliefs, evidence: RoundEvidence) -> SourceBeliefs:
        """Prior of the next round over the likeliest labelings and their single flips."""
        c = self.config
        pace = np.minimum(1.0, (evidence.strength + evidence.present) / c.full_evidence)
        kept, mass = _likeliest(beliefs, _CARRIED)
        turned = (kept[:_TURNED, None, :] ^ np.eye(kept.shape[1], dtype=bool)).reshape(-1, kept.shape[1])
        after = np.unique(np.concatenate([kept, turned]), axis=0)
        after = after[after.sum(axis=1) <= self.breakdown(kept.shape[1])]
        change = _transition(kept, after, c.becomes_liar * pace, c.becomes_honest * pace)
        mass = self._other_ways(after, change.T @ mass)
        levels = learn(beliefs.levels, evidence.levels, c.suspicion)
        log_mass = np.log(np.maximum(mass / mass.sum(), 1e-300))
        return SourceBeliefs(beliefs.sources, after, log_mass, beliefs.rounds, levels)

    def _prior(self, beliefs: SourceBeliefs, labelings: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(k, c) log prior of any `labelings`: the carried ones, and what lies a few flips away.

        Before the first round it is the prior of the exact filter.
        """
        if beliefs.rounds == 0:
            columns = beliefs.mass.sum(axis=0)
            return self.labeling_prior(labelings)[:, None] + np.log(np.maximum(columns, 1e-12))
        rare = np.full(labelings.shape[1], _RARE)
        near = _transition(beliefs.labelings, labelings, rare, rare)
        return np.log(np.maximum(near.T @ beliefs.mass, 1e-300))

    def _carried(self, beliefs: SourceBeliefs) -> NDArray[np.float64]:
        """(m,) log-odds of being a liar that the last round left."""
        if beliefs.rounds == 0:
            odds = np.log(self.config.prior_liar / (1 - self.config.prior_liar))
            return np.full(len(beliefs.sources), odds)
        honest = np.clip(beliefs.honest, 1e-9, 1 - 1e-9)
        return np.log((1 - honest) / honest)

    def _starts(
        self, unary: NDArray[np.float64], evidence: RoundEvidence, limit: int
    ) -> list[NDArray[np.bool_]]:
        """All honest, the sources that the unary evidence suspects, and those most in dispute."""
        m = len(unary)
        little, much = evidence.between(np.array([0.1, 0.9])).sum(axis=2)
        conflict = much - little
        order = np.argsort(-(conflict + unary), kind="stable")
        starts = [np.zeros(m, bool), unary > 0]
        for size in np.unique(np.linspace(1, limit, _STARTS).astype(int)):
            start = np.zeros(m, bool)
            start[order[:size]] = True
            starts.append(start)
        for start in starts:
            if start.sum() > limit:
                start[np.argsort(unary, kind="stable")[: m - limit]] = False
        return starts

    @staticmethod
    def _climb(start: NDArray[np.bool_], score: Score, limit: int) -> NDArray[np.bool_]:
        """Steepest single flips (and one swap of a liar for an honest source) until none improves."""
        flips = np.eye(len(start), dtype=bool)
        current = start.copy()
        best = float(score(current[None])[0].max())
        while True:
            around = current ^ flips
            around = around[around.sum(axis=1) <= limit]
            values = score(around).max(axis=1)
            k = int(values.argmax())
            if values[k] <= best + 1e-9:
                return current
            current, best = around[k], float(values[k])


def _neighbourhood(peaks: NDArray[np.bool_], unary: NDArray[np.float64], limit: int) -> NDArray[np.bool_]:
    """Peaks, their single flips, and pair flips among each peak's 12 least certain sources."""
    m = peaks.shape[1]
    flips = np.eye(m, dtype=bool)
    unsure = np.argsort(np.abs(unary), kind="stable")[:12]
    pairs = [flips[a] | flips[b] for i, a in enumerate(unsure) for b in unsure[i + 1 :]]
    moves = np.concatenate([np.zeros((1, m), bool), flips, np.array(pairs, dtype=bool).reshape(-1, m)])
    around = (peaks[:, None, :] ^ moves[None, :, :]).reshape(-1, m)
    around = np.unique(around, axis=0)
    return around[around.sum(axis=1) <= limit]


def _likeliest(beliefs: SourceBeliefs, count: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """At most `count` labelings (k, m) with their (k, c) mass, the likeliest first."""
    order = np.argsort(-beliefs.mass.sum(axis=1), kind="stable")[:count]
    return beliefs.labelings[order], beliefs.mass[order]


def _transition(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    turn: NDArray[np.float64],
    back: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(k, l) probability of each labeling of `after` (l, m) one step behind each of `before` (k, m).

    `turn`, `back` (m,): chance of an honest source to become a liar and of a liar to become honest.
    """
    liar, later = before.astype(np.float64), after.astype(np.float64)
    floor = 1e-300
    steps = (
        ((1 - liar) * np.log1p(-turn)) @ (1 - later).T
        + ((1 - liar) * np.log(np.maximum(turn, floor))) @ later.T
        + (liar * np.log(np.maximum(back, floor))) @ (1 - later).T
        + (liar * np.log1p(-back)) @ later.T
    )
    return np.exp(steps)
