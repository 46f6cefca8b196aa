from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from defenses.ragmask.mask import MaskConfig, Masker, _pooled_without
from defenses.ragmask.segments import without

EMBEDDER = HashingEmbedder(2048)
QUERY = "capital of france"
VECTOR = EMBEDDER.embed([QUERY])[0]
WORDS = st.sampled_from("capital france paris river stone cloud green seven orbit maple".split())


def masker(**config) -> Masker:
    return Masker(MaskConfig(**config), EMBEDDER)


@given(
    st.lists(st.lists(WORDS, max_size=14).map(" ".join), min_size=1, max_size=4),
    st.integers(1, 5),
    st.floats(0, 0.2),
)
def test_the_rule_of_the_paper_segment_by_segment(texts: list[str], m: int, delta: float) -> None:
    found = masker(segment=m, delta=delta).sanitize(VECTOR, texts)
    for text, one in zip(texts, found, strict=True):
        before = float(EMBEDDER.embed([text])[0] @ VECTOR)
        assert one.before == pytest.approx(before, abs=1e-5)
        if len(one.spans) < 2:
            assert not one.judged
            assert (one.text, one.cut, one.after) == (text, (), one.before)
            continue
        for i in range(len(one.spans)):
            masked = float(EMBEDDER.embed([without(text, one.spans, (i,))])[0] @ VECTOR)
            assert one.drops[i] == pytest.approx(before - masked, abs=1e-5)
            if abs(masked + delta - before) > 1e-5:
                assert (i not in one.cut) == (masked + delta > before)
        assert one.text == without(text, one.spans, one.cut)
        after = float(EMBEDDER.embed([one.text])[0] @ VECTOR) if one.text else 0.0
        assert one.after == pytest.approx(after, abs=1e-5)


def test_a_question_in_front_of_a_foreign_document_is_cut() -> None:
    honest = "rain fell on the harbour while ships waited for the tide to turn again that night"
    (found,) = masker(segment=3, delta=0.05).sanitize(VECTOR, [f"{QUERY} {honest}"])
    assert found.text == honest
    assert found.cut == (0,)
    assert found.after < found.before


def test_a_delta_that_no_drop_reaches_is_no_defense() -> None:
    texts = [f"{QUERY} and much else beside it", "nothing of the kind at all here"]
    found = masker(segment=2, delta=2.0).sanitize(VECTOR, texts)
    assert [one.text for one in found] == texts
    assert all(one.after == one.before and one.cut == () for one in found)


def test_a_document_of_nothing_but_the_question_is_left_empty() -> None:
    repeated = "capital france capital france"
    (found,) = masker(segment=2, delta=0.0).sanitize(VECTOR, [repeated])
    assert found.text == ""
    assert found.after == 0.0
    assert found.cut == (0, 1)  # at delta 0 even a segment whose absence changes nothing fails


def test_no_document_one_token_and_an_empty_text() -> None:
    assert masker().sanitize(VECTOR, []) == []
    one, none = masker().sanitize(VECTOR, ["france", ""])
    assert (one.text, one.judged, none.text, none.judged) == ("france", False, "", False)


def test_a_document_of_ten_thousand_words() -> None:
    text = " ".join(["stone"] * 5000 + ["capital", "of", "france"] + ["cloud"] * 4997)
    (found,) = masker(segment=500, delta=0.0001).sanitize(VECTOR, [text])
    assert len(found.spans) == 20
    assert 10 in found.cut
    assert "france" not in found.text


def test_a_negative_delta_and_an_empty_segment_are_refused() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        MaskConfig(delta=-0.01)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        MaskConfig(segment=0)


def test_the_fast_mode_needs_an_embedder_that_shows_its_states() -> None:
    with pytest.raises(ConfigError, match="mode 'exact'"):
        masker(mode="fast")


def test_pooling_without_a_segment_is_the_mean_of_the_others() -> None:
    rng = np.random.default_rng(3)
    states = rng.standard_normal((7, 5)).astype(np.float32)
    offsets = [(0, 0), (0, 2), (3, 4), (5, 6), (7, 9), (10, 12), (0, 0)]  # special tokens at both ends
    spans = [(0, 4), (5, 9), (10, 12)]
    query = rng.standard_normal(5).astype(np.float32)
    got = _pooled_without(query, states, offsets, spans)
    for i, rows in enumerate([[1, 2], [3, 4], [5]]):
        mean = np.delete(states, rows, axis=0).mean(axis=0)
        assert got[i] == pytest.approx(mean @ query / np.linalg.norm(mean), abs=1e-5)
