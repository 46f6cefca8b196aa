from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.calibration import clean_threshold, expected_calibration_error, fit_platt


def test_calibration_error_by_hand() -> None:
    """Two bins: .1 .2 with one positive of two (gap .35), .8 .9 with two of two (gap .15)."""
    probability = np.array([0.1, 0.2, 0.8, 0.9])
    labels = np.array([True, False, True, True])
    assert expected_calibration_error(probability, labels, bins=2) == pytest.approx(0.5 * 0.35 + 0.5 * 0.15)


def test_certain_and_right_or_wrong() -> None:
    ones, zeros = np.ones(4), np.zeros(4)
    assert expected_calibration_error(ones, ones > 0) == 0.0
    assert expected_calibration_error(ones, zeros > 0) == 1.0
    assert np.isnan(expected_calibration_error(np.zeros(0), np.zeros(0, bool)))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50), st.integers(1, 20))
def test_calibration_error_is_a_share(pairs: list[tuple[float, bool]], bins: int) -> None:
    probability, labels = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    assert 0.0 <= expected_calibration_error(probability, labels, bins) <= 1.0 + 1e-12


def test_platt_finds_the_slope_and_offset_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, 40_000)
    labels = rng.random(len(logits)) < 1 / (1 + np.exp(-(0.5 * logits + 0.8)))
    slope, offset = fit_platt(logits, labels)
    assert slope == pytest.approx(0.5, abs=0.03)
    assert offset == pytest.approx(0.8, abs=0.05)


def test_platt_lowers_the_calibration_error_of_overconfident_logits() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 6, 5000)
    labels = rng.random(len(logits)) < 1 / (1 + np.exp(-logits / 4))

    def error(slope: float, offset: float) -> float:
        return expected_calibration_error(1 / (1 + np.exp(-(slope * logits + offset))), labels)

    slope, offset = fit_platt(logits, labels)
    assert error(slope, offset) < 0.04 < 0.1 < error(1.0, 0.0)


def test_platt_keeps_the_order_even_where_labels_contradict_it() -> None:
    logits = np.array([-2.0, -1.0, 1.0, 2.0] * 10)
    slope, _ = fit_platt(logits, logits < 0)
    assert slope > 0
    separable, _ = fit_platt(logits, logits > 0)  # smoothed targets keep this finite
    assert np.isfinite(separable)


@given(st.lists(st.floats(-20, 20), min_size=20, max_size=200), st.floats(0.01, 0.4))
def test_the_clean_threshold_rejects_about_the_stated_share(logits: list[float], cost: float) -> None:
    values = np.array(logits)
    rejected = (values < clean_threshold(values, cost)).mean()
    assert rejected <= cost + 1 / len(values)


def test_a_threshold_needs_documents() -> None:
    with pytest.raises(ValueError, match="no clean documents"):
        clean_threshold(np.zeros(0), 0.01)
