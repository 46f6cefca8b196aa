from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import DataError
from defenses.forest import Forest, Tree, fit, loads


def tree(feature, threshold, left, right, value):
    return Tree(*(np.array(column) for column in (feature, threshold, left, right, value)))


# x0 <= 1 ? .1 : (x1 <= 5 ? .2 : .9)
DEEP = tree(
    [0, -1, 1, -1, -1], [1.0, 0, 5.0, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [0.5, 0.1, 0.6, 0.2, 0.9]
)
STUMP = tree([-1], [0.0], [0], [0], [0.3])


def test_probability_by_hand():
    forest = Forest(("a", "b"), (DEEP, STUMP), {})
    x = np.array([[1.0, 9.0], [2.0, 5.0], [2.0, 5.1]])
    assert forest.probability(x) == pytest.approx([(0.1 + 0.3) / 2, (0.2 + 0.3) / 2, (0.9 + 0.3) / 2])


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 99))
def test_it_judges_as_the_library_does_and_survives_its_file(seed):
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3)).round(3)
    y = x[:, 0] + x[:, 1] ** 2 > 0.5
    forest = fit(x, y, ["a", "b", "c"], {"seed": seed}, trees=5, seed=seed)
    theirs = RandomForestClassifier(
        n_estimators=5, max_depth=4, min_samples_leaf=2, class_weight="balanced", random_state=seed
    ).fit(x, y)
    assert forest.probability(x) == pytest.approx(theirs.predict_proba(x)[:, 1])
    again = loads(forest.dumps(), "test")
    assert again.probability(x) == pytest.approx(forest.probability(x), abs=1e-5)
    assert (again.features, again.about) == (("a", "b", "c"), {"seed": seed})


def test_one_class_teaches_nothing():
    with pytest.raises(DataError, match="both classes"):
        fit(np.zeros((4, 1)), np.zeros(4, dtype=bool), ["a"], {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2"),
        ({"trees": []}, "no tree"),
        ({"left": [0, 0, 3, 0, 0]}, "nowhere"),  # the root leads to itself
        ({"right": [2, 0, 9, 0, 0]}, "nowhere"),
        ({"feature": [0, -1, 2, -1, -1]}, "does not exist"),
        ({"value": [0.5, 0.1, 0.6, 0.2, 1.9]}, "out of range"),
        ({"value": [0.5]}, "differ in length"),
        ({"threshold": "x"}, "not a forest"),
    ],
)
def test_what_is_no_forest_is_named(change, message):
    content = json.loads(Forest(("a", "b"), (DEEP,), {}).dumps())
    for name, value in change.items():
        (content if name in content else content["trees"][0])[name] = value
    with pytest.raises(DataError, match=message) as found:
        loads(json.dumps(content), "some.json")
    assert "some.json" in str(found.value)


@given(st.text(max_size=30))
def test_any_text_is_a_forest_or_an_error(text):
    with pytest.raises(DataError):
        loads(text, "x")
