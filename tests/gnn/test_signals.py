from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.inference.suspicion import BELOW
from gnn.relations.scorer import LexicalRelationScorer
from gnn.signals import Channels, logit, sigmoid
from tests.gnn.parts import (
    FALSE,
    QUESTION,
    TRUE,
    a_round,
    content_network,
    dispute_round,
    relation_network,
)


def channels(content: bool = True) -> Channels:
    return Channels(LexicalRelationScorer(relation_network()), content_network() if content else None)


@given(st.lists(st.floats(-700, 700), min_size=1))
def test_sigmoid_is_safe_at_both_ends(values: list[float]) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = sigmoid(np.array(values))
    assert ((found >= 0) & (found <= 1)).all()


@given(st.floats(-20, 20))
def test_logit_undoes_sigmoid(x: float) -> None:
    assert logit(sigmoid(np.array([x])))[0] == pytest.approx(x, abs=1e-6)


def test_a_minority_that_tells_something_else_loses() -> None:
    ready = channels()
    given_ = dispute_round(liars=2, honest=3)
    found = ready.run(given_, ready.start(given_.sources), 0.0)
    assert found.beliefs.honest[:3].min() > found.beliefs.honest[3:].max()
    assert found.verification[:3].min() > found.verification[3:].max()
    assert (found.tampering[3:] > found.tampering[:3].max()).all()
    for _ in range(8):
        found = ready.run(given_, found.prior, 0.0)
    assert (found.beliefs.honest[:3] > 0.5).all()
    assert (found.beliefs.honest[3:] < 0.5).all()
    assert (found.verification[:3] > 0.5).all()
    assert (found.verification[3:] < 0.5).all()
    assert found.fused_logit == pytest.approx(np.minimum(found.margin, logit(found.verification)))


def test_poisons_cannot_corroborate_each_other() -> None:
    """Two documents that echo the question agree, but the content channel takes their weight away."""
    held = [(f"{QUESTION} {FALSE}", ["l0"]), (f"{QUESTION} {FALSE} Truly.", ["l1"]), (TRUE, ["h0"])]
    ready = channels()
    given_ = a_round(held)
    found = ready.run(given_, ready.start(given_.sources), 0.0)
    # columns: h0, l0, l1
    assert (found.margin[:2] < 0).all()
    assert found.relations.agree[0, 1] < 0.1
    assert (found.evidence.levels[1:] >= BELOW).all()
    assert found.evidence.levels[0] < BELOW
    assert found.beliefs.honest[0] > found.beliefs.honest[1:].max()


def test_without_a_content_channel_no_text_is_objected_to() -> None:
    ready = channels(content=False)
    given_ = a_round([(f"{QUESTION} {FALSE}", ["a"]), (TRUE, ["b"])])
    found = ready.run(given_, ready.start(given_.sources), 99.0)
    assert (found.margin > 0).all()


def test_the_threshold_shifts_the_margin() -> None:
    ready = channels()
    given_ = dispute_round()
    low, high = (ready.run(given_, ready.start(given_.sources), t) for t in (0.0, 2.0))
    assert low.margin - high.margin == pytest.approx(np.full(len(low.margin), 2.0))


def test_beliefs_about_other_sources_are_refused() -> None:
    ready = channels()
    with pytest.raises(ValueError, match="beliefs are about"):
        ready.run(dispute_round(), ready.start(("x", "y")), 0.0)


def test_many_sources_take_the_large_filter() -> None:
    ready = channels()
    given_ = dispute_round(liars=5, honest=12)
    found = ready.run(given_, ready.start(given_.sources), 0.0)
    found = ready.run(given_, found.prior, 0.0)
    assert (found.beliefs.honest[:12] > 0.5).all()
    assert (found.beliefs.honest[12:] < 0.5).all()


def test_a_round_without_documents() -> None:
    ready = channels()
    given_ = a_round([], sources=["a", "b", "c"])
    found = ready.run(given_, ready.start(given_.sources), 0.0)
    assert found.verification.shape == (0,)
    assert found.beliefs.honest == pytest.approx(ready.start(given_.sources).honest, abs=1e-6)
