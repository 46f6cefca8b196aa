from __future__ import annotations

import numpy as np
import pytest

from gnn.model import CredibilityNetwork, NetworkConfig
from gnn.training import GraphSample
from sim.judged import figures_of, judged
from sim.training_rounds import BENIGN, MALICIOUS, UNLABELLED
from tests.gnn.parts import dispute_round
from tests.gnn.test_graph import graph_of


def test_only_labelled_documents_are_judged() -> None:
    graph = graph_of(dispute_round(liars=1, honest=2))
    labels = np.array([BENIGN, UNLABELLED, MALICIOUS], np.int8)
    model = CredibilityNetwork(NetworkConfig(hidden=8, heads=2)).eval()
    logits, sound = judged(model, [GraphSample(graph, labels)] * 2)
    assert sound.tolist() == [True, False] * 2
    # untrained, the network repeats the channels' verdict
    assert logits == pytest.approx(np.tile(graph.base[[0, 2]], 2), abs=1e-5)


def test_figures_by_hand() -> None:
    """Three of four sound documents are kept, one of two false ones dropped; half the slope, half as sure."""
    logits = np.array([4.0, 4.0, 4.0, -4.0, 4.0, -4.0])
    sound = np.array([True, True, True, True, False, False])
    found = figures_of("validation", (logits, sound), 0.5)
    sure = 1 / (1 + np.exp(-2.0))
    assert found["validation_tpr"] == 0.75
    assert found["validation_tnr"] == 0.5
    error = (4 * abs(sure - 3 / 4) + 2 * abs(1 - sure - 1 / 2)) / 6
    assert found["validation_ece"] == pytest.approx(error)


def test_nothing_judged_gives_no_figures() -> None:
    assert figures_of("validation", judged(CredibilityNetwork(NetworkConfig()), []), 1.0) == {}
