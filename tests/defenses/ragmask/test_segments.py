from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from defenses.ragmask.segments import segments, without

TEXTS = st.lists(st.sampled_from(["a", "bb", "ccc.", "ünï"]), min_size=0, max_size=40).map(" ".join)


@given(TEXTS, st.integers(1, 50))
def test_segments_hold_every_word_once_and_m_words_each(text: str, m: int) -> None:
    spans = segments(text, m)
    assert [w for start, end in spans for w in text[start:end].split()] == text.split()
    assert all(len(text[s:e].split()) == m for s, e in spans[:-1])
    assert all(len(text[s:e].split()) <= m for s, e in spans)


@given(TEXTS, st.integers(1, 9), st.data())
def test_what_is_cut_is_gone_and_the_rest_stays(text: str, m: int, data: st.DataObject) -> None:
    spans = segments(text, m)
    cut = data.draw(st.sets(st.integers(0, max(0, len(spans) - 1)))) if spans else set()
    left = without(text, spans, cut)
    want = [w for i, (s, e) in enumerate(spans) if i not in cut for w in text[s:e].split()]
    assert left.split() == want
    if not cut:
        assert left == text


def test_words_count_the_tokens_that_begin_in_them() -> None:
    text = "aa bbbb cc dd"
    tokens = [(0, 2), (3, 5), (5, 7), (8, 10), (11, 13)]  # bbbb is two tokens
    assert [text[s:e] for s, e in segments(text, 3, tokens)] == ["aa bbbb", "cc dd"]
    assert [text[s:e] for s, e in segments(text, 1, tokens)] == ["aa", "bbbb", "cc", "dd"]


def test_what_the_embedder_does_not_read_is_in_no_segment() -> None:
    text = "aa bb cc dd ee"
    spans = segments(text, 2, [(0, 2), (3, 5), (6, 8)])
    assert [text[s:e] for s, e in spans] == ["aa bb", "cc"]
    assert without(text, spans, {0}) == "cc dd ee"
    assert segments(text, 2, []) == []
