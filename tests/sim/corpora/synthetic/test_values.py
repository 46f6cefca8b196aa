from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.attacks.numbers import value_of
from sim.corpora.synthetic.names import Names
from sim.corpora.synthetic.values import Value, choice, count, named, other, quantity, year

NAMES = Names(0)


@given(st.integers(0, 2**32))
def test_all_forms_of_a_count_have_one_value(seed: int) -> None:
    for draw in (count(2, 30), count(100, 5000), count(2000, 90_000, 10)):
        assert len({value_of(form) for form in draw(Random(seed), NAMES).forms}) == 1


@given(st.integers(0, 2**32))
def test_quantities_share_their_number(seed: int) -> None:
    forms = quantity(10, 800, ("mg", "milligrams"), 5)(Random(seed), NAMES).forms
    assert forms[0].endswith(" mg")
    assert forms[0].split()[0] == forms[1].split()[0]
    assert quantity(5, 5, ("%", "percent"))(Random(seed), NAMES).forms == ("5%", "5 percent")


@given(st.integers(0, 2**32))
def test_another_value_shares_no_form(seed: int) -> None:
    rng = Random(seed)
    for draw in (
        year(1900, 1902),
        choice("a", "b"),
        count(3, 5),
        named("town"),
        quantity(1, 2, ("m", "metres")),
    ):
        value = draw(rng, NAMES)
        assert not set(other(draw, value, rng, NAMES).forms) & set(value.forms)


def test_where_there_is_no_other_value_that_is_said() -> None:
    with pytest.raises(ValueError, match="no value other than 'a'"):
        other(choice("a"), Value(("a",)), Random(0), NAMES)
