from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.attacks.padding import pad

RUNS = [("One two three four.", "The answer is Zed here.", "Six seven eight nine ten."), ("Eleven twelve.",)]


@given(st.integers(0, 60), st.booleans(), st.integers(0, 2**32))
def test_texts_reach_the_length_and_stay_whole(length: int, front: bool, seed: int) -> None:
    made = pad("Payload text", length, RUNS, ["Zed"], np.random.default_rng(seed), keep_front=front)
    assert "Payload text" in made
    assert length <= len(made.split()) or length > 40
    assert len(made.split()) <= max(2, length + 5)
    assert "Zed" not in made
    assert made.startswith("Payload text") or not front
    assert made == pad("Payload text", length, RUNS, ["Zed"], np.random.default_rng(seed), keep_front=front)


def test_the_place_among_the_padding_varies() -> None:
    starts = {
        pad("P", 30, RUNS, [], np.random.default_rng(s), keep_front=False).split().index("P")
        for s in range(30)
    }
    assert len(starts) > 3


def test_nothing_to_pad_with() -> None:
    rng = np.random.default_rng(0)
    assert pad("P", 30, [], [], rng, keep_front=True) == "P"
    assert pad("P", 30, [("Zed is here.",)], ["Zed"], rng, keep_front=True) == "P"
