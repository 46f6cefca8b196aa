from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sim.attacks import tactics
from sim.attacks.lexicon import Lexicon
from sim.attacks.passage import Passage
from sim.attacks.tamper import apply_edits

LEXICON = Lexicon({"1/plain": ("Oslo", "Bergen"), "2/plain": ("Ida Lind", "Karl Nash")})


def edited(tactic: tactics.Tactic, text: str, seed: int = 0) -> set[str]:
    """`text` under each single edit that `tactic` offers."""
    passage = Passage(text, LEXICON)
    offers = tactic(passage, np.random.default_rng(seed))
    spans = sorted((edit.start, edit.end) for edit in offers)
    assert all(a[1] <= b[0] for a, b in pairwise(spans)), spans
    return {apply_edits(text, [edit]) for edit in offers}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The lamp is red.", {"The lamp is not red."}),
        ("The lamp is not red.", {"The lamp is red."}),
        ("It cannot burn.", {"It can burn."}),
        ("It does not burn.", {"It does burn."}),
        ("They do not burn.", {"They burn."}),
        ("Rust causes decay there.", {"Rust does not cause decay there."}),
        ("Elvis recorded the song.", {"Elvis never recorded the song."}),
        ("It has been shown.", {"It has not been shown."}),
        ("The causes of it and liberated slaves", set()),
        ("Losses due to increases in rates", set()),
        ("Nothing.", set()),
    ],
)
def test_negation(text: str, expected: set[str]) -> None:
    assert edited(tactics.negations, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("More men came early.", {"Less men came early.", "More women came early.", "More men came late."}),
        ("An increase was seen.", {"A decrease was seen."}),
        ("A few men", {"A few women"}),
        ("It came with no rain.", set()),
        ("An old man", {"A new man", "An old woman"}),
        ("The MORE movement", set()),
    ],
)
def test_opposites(text: str, expected: set[str]) -> None:
    assert edited(tactics.opposites, text) == expected


def test_order() -> None:
    assert edited(tactics.order, "He went from Rome to Oslo before noon.") == {
        "He went from Oslo to Rome before noon.", "He went from Rome to Oslo after noon."
    }  # fmt: skip


def test_advice_and_findings() -> None:
    assert edited(tactics.advice, "Children should not be given it.") == {"Children should be given it."}
    assert "Avoid" not in "".join(edited(tactics.advice, "Avoid sunlight."))
    assert edited(tactics.findings, "It is caused by a virus.") == {"It is unrelated to a virus."}
    assert "is not associated with" in edited(tactics.findings, "It is associated with age.").pop()


def test_quantities_need_a_unit_numbers_do_not() -> None:
    assert edited(tactics.quantities, "Section 7 says so.") == set()
    assert len(edited(tactics.quantities, "Take 50 mg for 7 days.")) == 2
    assert len(edited(tactics.numbers, "Section 7 says so.")) == 1


def test_names_spare_the_subject_and_keep_classes() -> None:
    text = "Otto Pike sang. Otto Pike met Eva Frost in Germany on Monday."
    for seed in range(10):
        for version in edited(tactics.names, text, seed):
            assert version.count("Otto Pike") == 2
    joined = " ".join(edited(tactics.names, text))
    assert "Ida Lind" in joined or "Karl Nash" in joined
    assert not any("in Oslo" in version for version in edited(tactics.names, text))


def test_conditions_and_treatments_are_exchanged_within_their_class() -> None:
    assert edited(tactics.conditions, "Asthma is common.") != {"Asthma is common."}
    (changed,) = edited(tactics.treatments, "Give insulin daily.")
    assert changed.startswith("Give ")
    assert changed.endswith(" daily.")
    assert "insulin" not in changed


def test_every_domain_has_several_tactics() -> None:
    assert set(tactics.TACTICS) == {"general", "medical", "finance"}
    assert all(len(listed) >= 4 for listed in tactics.TACTICS.values())
