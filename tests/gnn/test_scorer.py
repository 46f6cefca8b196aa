from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnn
from core.embedding.hashing import HashingEmbedder
from gnn.scorer import KEEP_ABOVE, CredibilityScorer
from gnn.signals import logit
from tests.gnn.parts import (
    FALSE,
    QUESTION,
    TRUE,
    a_round,
    candidate,
    dispute_round,
    make_checkpoint,
    relation_network,
)


def test_the_package_offers_it() -> None:
    assert gnn.CredibilityScorer is CredibilityScorer
    with pytest.raises(AttributeError, match="no_such"):
        gnn.no_such  # noqa: B018


def test_liars_lose_over_rounds() -> None:
    scorer = CredibilityScorer(make_checkpoint())
    state = None
    for _ in range(8):
        scored = scorer.score(dispute_round(), state)
        state = scored.state
    assert scored.kept.tolist() == [True, True, True, False, False]
    assert (scored.kept == (scored.credibility >= KEEP_ABOVE)).all()
    assert min(scored.reliability[f"h{i}"] for i in range(3)) > 0.8
    assert max(scored.reliability[f"l{i}"] for i in range(2)) < 0.3
    assert all(np.isfinite(list(e.values())).all() for e in scored.evidence)


def test_an_untrained_network_scores_like_the_channels() -> None:
    with_, without = CredibilityScorer(make_checkpoint(network=True)), CredibilityScorer(make_checkpoint())
    a, b = with_.score(dispute_round()), without.score(dispute_round())
    assert a.credibility == pytest.approx(b.credibility, abs=1e-5)
    off = CredibilityScorer(make_checkpoint(network=True), network=False)
    assert np.array_equal(off.score(dispute_round()).credibility, b.credibility)


def test_sources_that_did_not_answer_keep_their_beliefs() -> None:
    scorer = CredibilityScorer(make_checkpoint())
    first = scorer.score(dispute_round())
    second = scorer.score(a_round([(TRUE, ["h0"])]), first.state)
    assert set(second.reliability) == set(first.reliability)
    for name in ("h1", "h2", "l0", "l1"):
        assert second.reliability[name] == pytest.approx(
            first.state.honest[first.state.sources.index(name)], abs=0.1
        )
    assert second.reliability["l0"] < second.reliability["h1"]


def test_new_sources_start_at_the_prior() -> None:
    scorer = CredibilityScorer(make_checkpoint())
    first = scorer.score(dispute_round())
    second = scorer.score(a_round([(TRUE, ["new"])]), first.state)
    assert second.reliability["new"] > second.reliability["l0"]
    assert set(second.state.sources) == {*first.state.sources, "new"}


def test_the_threshold_can_be_the_domains_own() -> None:
    held = a_round([(f"{QUESTION} {FALSE}", ["l0"]), (TRUE, ["h0"]), (TRUE + " So it is told.", ["h1"])])
    strict, lax = (CredibilityScorer(make_checkpoint(), threshold=t) for t in (0.0, -10.0))
    assert strict.score(held).credibility[0] < 0.5
    assert lax.score(held).credibility[0] > strict.score(held).credibility[0]
    assert np.array_equal(strict.content_logits(held), lax.score(held).content_logit)


def test_calibration_rescales_but_keeps_the_decision() -> None:
    plain = CredibilityScorer(make_checkpoint()).score(dispute_round())
    scaled = CredibilityScorer(make_checkpoint(calibration={"slope": 0.5, "offset": 0.0})).score(
        dispute_round()
    )
    assert logit(scaled.credibility) == pytest.approx(0.5 * logit(plain.credibility), abs=1e-6)
    assert np.array_equal(plain.kept, scaled.kept)


def test_candidates_and_an_embedder_are_enough() -> None:
    scorer = CredibilityScorer(make_checkpoint())
    found = scorer.verify(QUESTION, [candidate(TRUE, "a"), candidate(FALSE, "b")], HashingEmbedder(512))
    assert found.credibility.shape == (2,)


def test_another_relation_scorer_is_used() -> None:
    class Silent:
        identity = "silent"

        def relate(self, pairs):
            return np.zeros((len(pairs.documents), 2), np.float32)

    scored = CredibilityScorer(make_checkpoint(), relations=Silent()).score(dispute_round())
    assert all(e["agree"] == e["conflict"] == 0.0 for e in scored.evidence)


def test_agreement_alone_does_not_look_at_content() -> None:
    held = a_round([(f"{QUESTION} {TRUE}", ["a"])])
    assert CredibilityScorer(make_checkpoint(), content=False).score(held).kept.all()
    assert not CredibilityScorer(make_checkpoint()).score(held).kept.any()


def test_from_a_file(tmp_path: Path) -> None:
    make_checkpoint().save(tmp_path / "c.npz")
    for path in (tmp_path / "c.npz", str(tmp_path / "c.npz")):
        assert CredibilityScorer(path).score(dispute_round()).credibility.shape == (5,)
    assert relation_network().weights


def test_no_documents() -> None:
    scored = CredibilityScorer(make_checkpoint(network=True)).score(a_round([], sources=["a", "b"]))
    assert scored.credibility.shape == (0,)
    assert set(scored.reliability) == {"a", "b"}


def test_no_documents_of_no_sources_and_then_some() -> None:
    scorer = CredibilityScorer(make_checkpoint(network=True))
    nothing = scorer.verify(QUESTION, [], HashingEmbedder(512))
    assert nothing.credibility.shape == (0,)
    assert nothing.reliability == {}
    assert scorer.score(dispute_round(), nothing.state).credibility.shape == (5,)
