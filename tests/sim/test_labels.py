from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from core.records import Query, SourceReply
from sim.attacks.base import AttackOptions
from sim.attacks.schedule import build_schedule
from sim.behaviors import open_behavior
from sim.labels import Labeller
from sim.simulated_source import SimulatedSource
from source_node.node import SourceNode
from tests.sim.small_corpus import small_corpus

CORPUS = small_corpus()
SOURCES = ["s0", "s1", "s2", "s3"]
QUESTION = CORPUS.questions[0]
NODES = {name: SourceNode(name, CORPUS.documents, embedder=HashingEmbedder()) for name in SOURCES}


def ask(
    attack: str, behavior: str = "steady", rounds: int = 1, warmup: int = 0, **options: object
) -> tuple[Labeller, list[list[SourceReply]], list[dict[str, str]]]:
    """Replies of all rounds, and for each round the labels of each source as one string (b, m, n)."""
    asked = [(f"r{i}", QUESTION, i >= warmup) for i in range(rounds)]
    made = build_schedule(
        CORPUS, asked, ["s1", "s3"], SOURCES, attack, AttackOptions(**options), 5, 7, open_behavior(behavior)
    )
    labeller = Labeller(made, CORPUS.texts())
    sources = [SimulatedSource(NODES[name], made[name]) for name in SOURCES]
    replies = [[s.retrieve(Query(QUESTION.text, f"r{i}"), 5) for s in sources] for i in range(rounds)]
    found = [
        {
            source: "".join(labeller.label(reply, f"r{i}")[d.key][0] for d in reply.documents)
            for source, reply in zip(SOURCES, each, strict=True)
        }
        for i, each in enumerate(replies)
    ]
    return labeller, replies, found


@pytest.mark.parametrize(
    ("attack", "options", "liar"),
    [
        ("none", {}, "nnnnn"),
        ("saa", {}, "mmmmm"),
        ("poisonedrag", {}, "mmmmm"),
        ("poisonedrag", {"per_source": 1}, "mnnnn"),
        ("poisonedrag", {"reword": True}, "mmmmm"),
        ("poisonedrag", {"length": "matched", "prefix": False}, "mmmmm"),
        ("ata", {}, "mmmmm"),
        ("ata", {"swap": True}, "mmmmm"),
        ("ata", {"reword": True}, "mmmmm"),
        ("ata", {"swap": True, "reword": True}, "mmmmm"),
        ("ata", {"per_source": 2}, "mmnnn"),
        ("ata", {"per_source": 2, "swap": True}, "mmnnn"),
        ("ata", {"edit_rate": 0.0}, "nnnnn"),
        ("ata", {"collude": False}, "mmmmm"),
    ],
)
def test_labels_by_attack(attack: str, options: dict[str, object], liar: str) -> None:
    _, _, (found,) = ask(attack, **options)
    assert found == {"s0": "bbbbb", "s1": liar, "s2": "bbbbb", "s3": liar}


def test_warm_up_sleep_and_pauses_are_neutral() -> None:
    _, _, found = ask("ata", "sleeper:1", rounds=4, warmup=1)
    assert [each["s1"] for each in found] == ["nnnnn", "nnnnn", "mmmmm", "mmmmm"]
    _, _, found = ask("saa", "on-off:1", rounds=3)
    assert [each["s3"] for each in found] == ["nnnnn", "mmmmm", "nnnnn"]
    assert all(each["s0"] == "bbbbb" for each in found)


def test_floods_are_malicious_whole() -> None:
    for attack in ("poisonedrag", "ata"):
        assert ask(attack, "duplicate-flood")[2][0]["s1"] == "mmmmm"


def test_new_names_are_known() -> None:
    labeller, replies, found = ask("poisonedrag", "whitewashing:1", rounds=2)
    assert found[1]["s1"] == "mmmmm"
    assert replies[1][1].source_id == "s1-1"
    assert labeller.source_of("s1-1") == "s1"
    assert labeller.is_malicious("s1-1")
    assert not labeller.is_malicious("s0")
    with pytest.raises(KeyError):
        labeller.source_of("s9")


@given(st.floats(0, 1), st.booleans(), st.booleans())
@settings(max_examples=15)
def test_a_text_that_was_left_alone_is_neutral(rate: float, collude: bool, reword: bool) -> None:
    _, replies, (found,) = ask("ata", edit_rate=rate, collude=collude, reword=reword)
    if not reword:
        originals = CORPUS.texts()
        for reply in replies[0]:
            for document, label in zip(reply.documents, found[reply.source_id], strict=True):
                assert (label == "m") == (document.text != originals[document.doc_id])
    assert set(found["s0"] + found["s2"]) == {"b"}
    assert "b" not in found["s1"] + found["s3"]


def test_white_space_that_travel_changed_does_not_count() -> None:
    labeller, replies, _ = ask("ata", edit_rate=0.0)
    reply = replies[0][1]
    spaced = replace(reply, documents=tuple(replace(d, text=f" {d.text}\n") for d in reply.documents))
    assert set(labeller.label(spaced, "r0").values()) == {"neutral"}


def test_a_document_from_nowhere_is_neutral_and_label_all_covers_all() -> None:
    labeller, replies, _ = ask("ata")
    reply = replies[0][1]
    strange = replace(reply, documents=(replace(reply.documents[0], doc_id="unknown"),))
    assert set(labeller.label(strange, "r0").values()) == {"neutral"}
    assert len(labeller.label_all(replies[0], "r0")) == 20
    assert set(labeller.label(reply, "another request").values()) == {"neutral"}
