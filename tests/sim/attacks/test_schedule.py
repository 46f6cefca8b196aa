from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError
from core.text import contains_answer
from sim.attacks.base import AttackOptions
from sim.attacks.schedule import SourceOrders, build_schedule
from sim.attacks.view import view_of
from sim.behaviors import Sleeper
from tests.sim.small_corpus import small_corpus

CORPUS = small_corpus()


def schedule(
    attack: str = "poisonedrag", n_sources: int = 6, n_liars: int = 3, questions: int = 12, seed: int = 0,
    warmup: int = 0, **options: object,
) -> dict[str, SourceOrders]:  # fmt: skip
    sources = [f"s{i}" for i in range(n_sources)]
    asked = [(f"r{i}", question, i >= warmup) for i, question in enumerate(CORPUS.questions[:questions])]
    return build_schedule(
        CORPUS, asked, sources[:n_liars], sources, attack, AttackOptions(**options), 5, seed
    )


def held(made: dict[str, SourceOrders], request: str) -> list[set[str]]:
    return [{d.text for d in o.orders[request].inject} for o in made.values() if o.malicious]


@given(
    st.sampled_from(["saa", "poisonedrag"]), st.integers(1, 6), st.integers(0, 2**40),
    st.one_of(st.none(), st.integers(1, 7)), st.booleans(),
)  # fmt: skip
@settings(max_examples=30)
def test_dealt_out_texts_are_disjoint_and_shared_ones_are_the_same(
    attack: str, n_liars: int, seed: int, per_source: int | None, collude: bool
) -> None:
    made = schedule(attack, n_liars=n_liars, questions=3, seed=seed, per_source=per_source, collude=collude)
    for request in ("r0", "r1", "r2"):
        hands = held(made, request)
        assert all(len(hand) <= min(per_source or 5, 5) for hand in hands)
        if collude:
            assert all(hand == hands[0] and hand for hand in hands)
        else:
            assert all(not a & b for a, b in itertools.combinations(hands, 2))
            assert sum(map(len, hands)) == min(5, n_liars * (per_source or 5))


def test_honest_sources_have_no_orders_and_all_have_a_part() -> None:
    made = schedule()
    assert [o.malicious for o in made.values()] == [True] * 3 + [False] * 3
    assert all(not o.orders for o in made.values() if not o.malicious)
    assert all(set(o.orders) == {f"r{i}" for i in range(12)} for o in made.values() if o.malicious)
    assert {o.orders["r0"].target for o in made.values() if o.malicious} == {"Zed Quill"}


def test_ids_say_nothing_and_follow_from_the_text() -> None:
    (first, *_), (second, *_) = (o.orders["r0"].inject for o in list(schedule(reword=True).values())[:2])
    assert first.doc_id == second.doc_id
    assert first.text != second.text
    assert first.text.startswith(CORPUS.questions[0].text)


def test_matched_texts_have_the_median_length_and_no_answer_in_the_padding() -> None:
    median = view_of(CORPUS).median_words
    made = schedule(length="matched", prefix=False, questions=40)
    for i, question in enumerate(CORPUS.questions[:40]):
        for document in made["s0"].orders[f"r{i}"].inject:
            assert median <= len(document.text.split()) <= median + 25
            if question.query_id in CORPUS.poisons:
                assert not any(contains_answer(document.text, answer) for answer in question.answers)
    for document in schedule(length="matched")["s0"].orders["r0"].inject:
        assert document.text.startswith(CORPUS.questions[0].text)


def test_warm_up_rounds_are_clean_and_not_counted() -> None:
    sources = ["s0", "s1"]
    asked = [(f"r{i}", CORPUS.questions[0], i >= 3) for i in range(7)]
    made = build_schedule(CORPUS, asked, ["s0"], sources, "ata", AttackOptions(), 5, 0, Sleeper(2))
    assert [made["s0"].orders[f"r{i}"].attack for i in range(7)] == [False] * 5 + [True] * 2
    assert [made["s0"].orders[f"r{i}"].tamper for i in range(7)] == [0] * 5 + [5] * 2


def test_tampering_rebuilds_at_the_source_from_plain_data() -> None:
    made = schedule("ata")
    again = pickle.loads(pickle.dumps(made["s0"]))
    assert again == made["s0"]
    assert again.view is not None
    assert schedule("saa")["s0"].view is None
    assert made["s0"].rewrites
    assert not made["s5"].rewrites
    assert schedule("ata", swap=True)["s5"].rewrites


def test_the_same_question_is_attacked_with_the_same_texts_in_every_round() -> None:
    asked = [(name, CORPUS.questions[15], True) for name in ("a", "b")]
    made = build_schedule(CORPUS, asked, ["s0"], ["s0"], "poisonedrag", AttackOptions(length="matched"), 5, 0)
    assert made["s0"].orders["a"].inject == made["s0"].orders["b"].inject


def test_unknown_attacks_and_no_attack() -> None:
    with pytest.raises(ConfigError, match="unknown attack 'x'"):
        schedule("x")
    clean = schedule("none", per_source=1)
    assert all(not o.attack and not o.inject for s in clean.values() for o in s.orders.values())
