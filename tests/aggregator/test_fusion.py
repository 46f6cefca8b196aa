from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.fusion import fuse
from core.embedding.hashing import HashingEmbedder
from core.records import Query, RetrievedDocument, SourceReply
from core.text import squash
from tests.aggregator.parts import key, reply

QUERY = Query("where is the blue archive")
EMBEDDER = HashingEmbedder(64)


def test_the_same_text_is_one_candidate_with_every_holder() -> None:
    fused = fuse(
        [reply("a", "other words", "The blue  archive"), reply("b", "The blue archive\n")], QUERY, None
    )
    shared = next(c for c in fused.candidates if len(c.holders) == 2)
    assert shared.key == key("b")
    assert shared.holders == (key("b"), key("a", "d1"))
    assert shared.sources == ("b", "a")
    assert fused.members == {key("a"): key("a"), key("a", "d1"): key("b"), key("b"): key("b")}


def test_copies_from_one_source_count_once() -> None:
    once = fuse([reply("a", "x"), reply("b", "y")], QUERY, None)
    many = fuse([reply("a", *["x"] * 5), reply("b", "y")], QUERY, None)
    assert [c.holders for c in once.candidates] == [c.holders for c in many.candidates]
    assert many.members[key("a", "d4")] == key("a", "d0")


def test_copies_do_not_push_back_what_follows_them() -> None:
    fused = fuse([reply("a", "x", "x", "x", "mine"), reply("b", "y", "yours")], QUERY, None)
    by_text = {c.text: c.rank for c in fused.candidates}
    assert {by_text["mine"], by_text["yours"]} == {3, 4}


def test_rank_fusion_rewards_sources_that_agree() -> None:
    fused = fuse(
        [reply("a", "p", "shared"), reply("b", "q", "shared"), reply("c", "r", "shared")], QUERY, None
    )
    assert fused.candidates[0].text == "shared"
    assert fused.candidates[0].similarity is None
    assert fused.vectors is None
    assert fused.query_vector is None


def test_the_aggregator_orders_by_its_own_similarity() -> None:
    boastful = SourceReply("a", (RetrievedDocument("a", "d0", "nothing of it", score=1e9, rank=1),))
    fused = fuse([boastful, reply("b", "the blue archive is in the hall")], QUERY, EMBEDDER)
    assert [c.key.source_id for c in fused.candidates] == ["b", "a"]
    assert fused.vectors is not None
    assert fused.query_vector is not None
    texts = [c.text for c in fused.candidates]
    np.testing.assert_allclose(fused.vectors, EMBEDDER.embed(texts))
    np.testing.assert_allclose(
        [c.similarity for c in fused.candidates], fused.vectors @ fused.query_vector, rtol=1e-6
    )


def test_a_title_or_category_needs_every_holder() -> None:
    agree = fuse(
        [reply("a", "x", title="T", category="c"), reply("b", "x", title="T", category="c")], QUERY, None
    )
    assert (agree.candidates[0].title, agree.candidates[0].category) == ("T", "c")
    clash = fuse([reply("a", "x", title="T", category="c"), reply("b", "x", title="LIE")], QUERY, None)
    assert (clash.candidates[0].title, clash.candidates[0].category) == ("", None)


def test_ties_favour_no_source() -> None:
    replies = [reply(f"s{i}", f"text {i}") for i in range(6)]
    firsts = {fuse(replies, QUERY, None, seed).candidates[0].key.source_id for seed in range(60)}
    assert len(firsts) == 6


def test_nothing_gives_nothing() -> None:
    fused = fuse([SourceReply("a", ())], QUERY, EMBEDDER)
    assert fused.candidates == ()
    assert fused.members == {}


_TEXT = st.sampled_from(
    ["blue archive", "blue  archive", "red hall", "red\thall", "green door", "Blue archive"]
)


@given(st.lists(st.lists(_TEXT, max_size=6), max_size=5), st.booleans(), st.integers(0, 3))
def test_fusion_loses_nothing_and_invents_nothing(texts: list[list[str]], embedded: bool, seed: int) -> None:
    replies = [reply(f"s{i}", *own) for i, own in enumerate(texts)]
    fused = fuse(replies, QUERY, EMBEDDER if embedded else None, seed)
    given_keys = {d.key: squash(d.text) for r in replies for d in r.documents}
    assert fused.members.keys() == given_keys.keys()
    standing = {c.key: c for c in fused.candidates}
    for member, candidate in fused.members.items():
        assert squash(standing[candidate].text) == given_keys[member]
        assert member.source_id in standing[candidate].sources
    assert [c.rank for c in fused.candidates] == list(range(1, len(standing) + 1))
    assert len({squash(c.text) for c in fused.candidates}) == len(standing) == len(set(given_keys.values()))
    for c in fused.candidates:
        assert c.holders[0] == c.key
        assert len(set(c.sources)) == len(c.holders)
    again = fuse(replies, QUERY, EMBEDDER if embedded else None, seed)
    assert again.candidates == fused.candidates


@given(st.permutations(list(range(4))))
def test_the_order_of_replies_does_not_decide(order: list[int]) -> None:
    replies = [reply(f"s{i}", f"only {i}", "shared") for i in range(4)]
    straight = fuse(replies, QUERY, EMBEDDER, 1)
    shuffled = fuse([replies[i] for i in order], QUERY, EMBEDDER, 1)
    assert [c.text for c in straight.candidates] == [c.text for c in shuffled.candidates]
    assert pytest.approx([c.similarity for c in straight.candidates]) == [
        c.similarity for c in shuffled.candidates
    ]
