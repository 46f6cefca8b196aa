"""The paper's composite loss (Eq. 10-12)."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def topology_weight(epoch: int, epochs: int) -> float:
    """Eq. 11: (1 + cos(pi e / E)) / 2, from 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * epoch / max(1, epochs)))


def topology_loss(h: Tensor, assignment: Tensor, temperature: float = 0.5) -> Tensor:
    """Eq. 12: variance of pairwise cosines plus a cluster-contrastive term.

    Shapes: h (n, d), assignment (n, 2) soft. The published denominator leaves out the own cluster,
    which is unbounded below with two clusters; ours is InfoNCE's, over all clusters, on cosines.
    """
    if len(h) < 3:
        return h.new_zeros(())
    unit = F.normalize(h, dim=1)
    cosine = unit @ unit.T
    upper = cosine[torch.triu_indices(len(h), len(h), 1).unbind()]
    centroids = F.normalize(assignment.T @ h / (assignment.sum(dim=0)[:, None] + 1e-6), dim=1)
    contrast = F.cross_entropy(unit @ centroids.T / temperature, assignment.argmax(dim=1))
    return upper.var() + contrast


def classification_loss(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy over labelled documents, each class weighing the same in a round."""
    chosen, target = logits[mask], labels[mask].to(logits.dtype)
    if len(chosen) == 0:
        return logits.new_zeros(())
    positives = target.sum()
    negatives = len(target) - positives
    weight = torch.where(target > 0.5, 0.5 / positives.clamp(min=1), 0.5 / negatives.clamp(min=1))
    if positives == 0 or negatives == 0:
        weight = torch.full_like(target, 1.0 / len(target))
    return (F.binary_cross_entropy_with_logits(chosen, target, reduction="none") * weight).sum()
