"""How a trained network does on labelled graphs: what a model card says of its validation rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gnn.calibration import expected_calibration_error
from gnn.model import CredibilityNetwork
from gnn.signals import sigmoid
from gnn.training import GraphSample, predict
from sim.training_rounds import BENIGN, UNLABELLED

Judged = tuple[NDArray[np.float64], NDArray[np.bool_]]


def judged(model: CredibilityNetwork, samples: Sequence[GraphSample]) -> Judged:
    """(d,) logits of all labelled documents of `samples`, and (d,) which of them are sound."""
    logits = np.concatenate([np.zeros(0), *(predict(model, sample.graph) for sample in samples)])
    labels = np.concatenate([np.zeros(0, np.int8), *(sample.labels for sample in samples)])
    known = labels != UNLABELLED
    return logits[known], labels[known] == BENIGN


def figures_of(name: str, found: Judged, slope: float) -> dict[str, float]:
    """TPR, TNR and calibration error, each in [0,1], under keys that begin with `name`.

    Empty where nothing was judged; `slope` scales logits to calibrated ones.
    """
    logits, sound = found
    if not len(sound):
        return {}
    probability = sigmoid(slope * logits)
    return {
        f"{name}_tpr": float((probability[sound] >= 0.5).mean()),
        f"{name}_tnr": float((probability[~sound] < 0.5).mean()),
        f"{name}_ece": expected_calibration_error(probability, sound),
    }
