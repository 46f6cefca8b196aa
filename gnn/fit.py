"""Fits the small dense networks of the channels; the result runs in numpy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gnn.relations.scorer import MLP


def fit_mlp(
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    hidden: tuple[int, ...],
    classes: int,
    seed: int,
    weight: NDArray[np.float32] | None = None,
    validation: NDArray[np.bool_] | None = None,
    epochs: int = 60,
    batch: int = 512,
    decay: float = 1e-4,
    rate: float = 3e-3,
    patience: int = 8,
) -> MLP:
    """A tanh network by AdamW with early stopping on the rows marked `validation`.

    Args:
        x: (n, f) finite inputs. y: (n,) class indices; with `classes` = 1 a 0/1 target of one logit.
        weight: (n,) importance of each row, None all 1.

    Raises:
        ValueError: no training rows.
    """
    import torch
    from torch import nn

    torch_rng = torch.Generator().manual_seed(seed % 2**63)
    held_out = np.zeros(len(x), dtype=bool) if validation is None else validation
    train = np.flatnonzero(~held_out)
    if not len(train):
        raise ValueError("no training rows")
    mean = x[train].mean(axis=0)
    scale = np.maximum(x[train].std(axis=0), 1e-3)
    inputs = torch.from_numpy(((x - mean) / scale).astype(np.float32))
    target = torch.from_numpy(y.astype(np.int64))
    importance = torch.from_numpy((np.ones(len(x)) if weight is None else weight).astype(np.float32))
    sizes = (x.shape[1], *hidden, classes)
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    for layer in layers:
        bound = 1.0 / layer.in_features**0.5
        with torch.no_grad():
            layer.weight.uniform_(-bound, bound, generator=torch_rng)
            layer.bias.zero_()

    def forward(rows: torch.Tensor) -> torch.Tensor:
        h = rows
        for i, layer in enumerate(layers):
            h = layer(h)
            if i + 1 < len(layers):
                h = torch.tanh(h)
        return h

    def loss_of(rows: torch.Tensor) -> torch.Tensor:
        out = forward(inputs[rows])
        if classes == 1:
            each = nn.functional.binary_cross_entropy_with_logits(
                out[:, 0], target[rows].float(), reduction="none"
            )
        else:
            each = nn.functional.cross_entropy(out, target[rows], reduction="none")
        return (each * importance[rows]).sum() / importance[rows].sum()

    parameters = [p for layer in layers for p in layer.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
    steps = max(1, epochs * (1 + len(train) // batch))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=steps + epochs)
    check = torch.from_numpy(np.flatnonzero(held_out) if held_out.any() else train)
    rows_of_train = torch.from_numpy(train)
    best, kept, stale = float("inf"), [p.detach().clone() for p in parameters], 0
    for _ in range(epochs):
        order = rows_of_train[torch.randperm(len(train), generator=torch_rng)]
        for start in range(0, len(order), batch):
            optimiser.zero_grad()
            loss_of(order[start : start + batch]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        with torch.no_grad():
            value = float(loss_of(check))
        if value < best - 1e-5:
            best, kept, stale = value, [p.detach().clone() for p in parameters], 0
        else:
            stale += 1
            if stale >= patience:
                break
    arrays = [p.numpy() for p in kept]
    return MLP(
        mean.astype(np.float32),
        scale.astype(np.float32),
        tuple(np.ascontiguousarray(w.T) for w in arrays[0::2]),
        tuple(arrays[1::2]),
    )
