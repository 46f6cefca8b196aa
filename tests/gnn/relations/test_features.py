from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.relations.facts import sentence_facts
from gnn.relations.features import FEATURES, fact_features, sentence_pair_features
from tests.gnn.relations import features_reference

WORDS = (
    "the tower Arden Hall bell bronze iron not never before after increased decreased 12 19 kg tons 1874 1,000 "
    "percent % one two thousand treaty battle older younger is was made of in"
).split()
sentence = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


def features(a: str, b: str) -> dict[str, float]:
    return dict(zip(FEATURES, sentence_pair_features(sentence_facts(a), sentence_facts(b)), strict=True))


@given(a=st.one_of(sentence, st.text(max_size=60)), b=st.one_of(sentence, st.text(max_size=60)))
def test_symmetric_finite_and_small(a: str, b: str) -> None:
    f, g = sentence_facts(a), sentence_facts(b)
    forward, backward = sentence_pair_features(f, g), sentence_pair_features(g, f)
    assert forward == backward
    assert len(forward) == len(FEATURES)
    assert np.isfinite(forward).all()
    assert np.abs(forward).max() <= 2.0


@given(sentence)
def test_a_sentence_and_itself(text: str) -> None:
    found = features(text, text)
    assert found["same_text"] == 1.0
    for name in ("unit_mismatch", "year_mismatch", "negation_parity", "antonym", "sign_differs",
                 "numbers_one_sided_max", "entities_one_sided_max", "unmatched_max", "marker_differs"):  # fmt: skip
        assert found[name] == 0.0, name


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        ("It weighs 12 kg.", "It weighs 19 kg.", "unit_mismatch"),
        ("Built in 1874.", "Built in 1921.", "year_mismatch"),
        ("It works.", "It does not work.", "negation_parity"),
        ("Prices increased.", "Prices decreased.", "antonym"),
        ("Prices increased.", "Prices decreased.", "sign_differs"),
        ("Ann beat Berta.", "Ann saw Berta.", "order_one_sided"),
        ("The battle came before the treaty.", "The battle came after the treaty.", "marker_differs"),
    ],
)
def test_what_only_one_of_them_states_shows(a: str, b: str, name: str) -> None:
    assert features(a, b)[name] > 0.0
    assert features(a, a)[name] == 0.0


def test_swapped_operands_reverse_the_order_and_a_turned_marker_restores_it() -> None:
    first = "The battle came before the treaty."
    assert features(first, "The treaty came before the battle.")["order_reversed"] > 0
    assert features(first, first)["order_reversed"] < 0
    assert features(first, "The treaty came after the battle.")["order_reversed"] < 0


def test_an_entity_that_the_other_mentions_in_lower_case_is_not_one_sided() -> None:
    assert features("They rang Bronze.", "They rang bronze.")["entities_one_sided_max"] == 0.0


@given(st.lists(st.tuples(sentence, sentence), max_size=8))
def test_a_batch_equals_the_definition_pair_by_pair(pairs: list[tuple[str, str]]) -> None:
    facts = [(sentence_facts(a), sentence_facts(b)) for a, b in pairs]
    flat = [fact for pair in facts for fact in pair]
    about = [frozenset(sorted(f.stems | g.stems)[::3]) for f, g in facts]
    found = fact_features(flat, list(range(0, len(flat), 2)), list(range(1, len(flat), 2)), about)
    assert found.shape == (len(pairs), len(FEATURES))
    for row, (f, g), names in zip(found, facts, about, strict=True):
        wanted = features_reference.sentence_pair_features(f, g, names)
        assert row == pytest.approx(np.array(wanted, np.float32), abs=1e-7)


def test_what_both_documents_are_about_is_no_value_that_they_share() -> None:
    one, other = (
        sentence_facts("The founder of Velm is Osric."),
        sentence_facts("It was Zara who founded Velm."),
    )
    about = frozenset({"velm"})
    left = dict(zip(FEATURES, sentence_pair_features(one, other, about), strict=True))
    assert left["values_shared"] == 0.0
    assert left["values_one_sided_min"] > 0.0
    assert left["subject_named_min"] == 1.0
    assert dict(zip(FEATURES, sentence_pair_features(one, other), strict=True))["values_shared"] > 0.0


def test_a_number_is_the_same_if_one_side_leaves_its_unit_open() -> None:
    assert features("The workforce counts 2,630.", "It has 2630 employees.")["numbers_shared"] > 0.0
    assert features("It takes 5 mg.", "It takes 5 days.")["numbers_shared"] == 0.0
    assert features("It has 553 pages.", "It sold 553 copies.")["numbers_shared"] > 0.0
    assert features("It has 553 pages.", "It has 510 pages.")["unit_mismatch"] == 1.0
    assert features("It has 553 pages.", "It sold 510 copies.")["unit_mismatch"] == 0.0
