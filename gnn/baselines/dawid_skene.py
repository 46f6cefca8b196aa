"""Dawid and Skene's EM on what sources say about the same items.

An item is a connected group of documents that speak of the same facts; within it documents that agree
form one answer. Each source that holds a document of the item votes for that document's answer. EM
estimates how often each source votes for the true answer, and which answer that is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gnn.baselines.truth_discovery import SourceTrust
from gnn.relations.documents import DocumentRelations

_LINKED = 0.3
_ITERATIONS = 25
_PRIOR_VOTES = 2.0  # pseudo-votes of a source, at its carried accuracy


def dawid_skene(
    relations: DocumentRelations, holders: NDArray[np.bool_], state: SourceTrust
) -> tuple[NDArray[np.float64], SourceTrust]:
    """((n,) probability that each document states its item's true answer, accuracies after the round).

    A document that stands alone is as credible as its most accurate holder.
    """
    n = len(holders)
    linked = (relations.agree + relations.conflict) > _LINKED
    agreeing = (relations.agree > relations.conflict) & linked
    _, item = connected_components(csr_array(linked), directed=False)
    _, answer = connected_components(csr_array(agreeing), directed=False)
    accuracy = state.trust.copy()
    held = holders.astype(np.float64)
    votes: dict[int, dict[int, set[int]]] = {}
    for i in range(n):
        members = votes.setdefault(int(item[i]), {}).setdefault(int(answer[i]), set())
        members.update(np.flatnonzero(holders[i]).tolist())
    contested = {k: v for k, v in votes.items() if len(v) > 1 or len(next(iter(v.values()))) > 1}
    posterior: dict[int, float] = {}
    for _ in range(_ITERATIONS):
        posterior = {}
        for answers in contested.values():
            names = list(answers)
            wrong = max(1, len(names) - 1)
            log = np.zeros(len(names))
            for k, members in enumerate(answers.values()):
                for j in members:
                    p = float(np.clip(accuracy[j], 0.02, 0.98))
                    log += np.log((1 - p) / wrong)
                    log[k] += np.log(p) - np.log((1 - p) / wrong)
            if len(names) == 1:
                # nobody disagrees: true unless every one of its holders errs
                members = next(iter(answers.values()))
                error = np.prod([1 - np.clip(accuracy[j], 0.02, 0.98) for j in members])
                posterior[names[0]] = float(1 - error)
                continue
            weights = np.exp(log - log.max())
            posterior.update(zip(names, (weights / weights.sum()).tolist(), strict=True))
        right = np.zeros(len(accuracy))
        total = np.zeros(len(accuracy))
        for answers in contested.values():
            for name, members in answers.items():
                for j in members:
                    right[j] += posterior[name]
                    total[j] += 1
        prior = _PRIOR_VOTES + state.rounds
        updated = (prior * state.trust + right) / (prior + total)
        if np.abs(updated - accuracy).max() < 1e-6:
            break
        accuracy = updated
    alone = np.where(holders, accuracy[None, :], 0.0).max(axis=1)
    belief = np.array([posterior.get(int(answer[i]), float(alone[i])) for i in range(n)])
    answered = held.sum(axis=0) > 0
    return np.clip(belief, 0.0, 1.0), SourceTrust(state.sources, accuracy, state.rounds + answered)
