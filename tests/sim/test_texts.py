from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from sim.texts import TextLog, read_texts, text_hash

printable = st.text(st.characters(codec="utf-8"), max_size=40)


@given(rounds=st.lists(st.lists(printable, max_size=4), max_size=4), cut=st.integers(0, 200))
def test_texts_come_back_each_once_also_after_a_crash(tmp_path_factory, rounds, cut):
    path = tmp_path_factory.mktemp("run") / "texts.jsonl"
    log = TextLog(path)
    for texts in rounds:
        log.add(texts)
    whole = path.read_bytes() if path.exists() else b""
    path.write_bytes(whole[:cut])
    again = TextLog(path)
    for texts in rounds:
        again.add(texts)
    assert path.read_bytes() == whole
    wanted = {text_hash(text) for texts in rounds for text in texts}
    found = read_texts(path)
    assert found.keys() == wanted
    assert all(text_hash(text) == name for name, text in found.items())
    assert whole.count(b"\n") == len(wanted)


def test_white_space_makes_no_new_text(tmp_path):
    log = TextLog(tmp_path / "texts.jsonl")
    log.add(["a  b", "a b", "a\nb"])
    assert list(read_texts(tmp_path / "texts.jsonl").values()) == ["a  b"]


def test_a_lone_surrogate_does_not_end_the_run(tmp_path):
    log = TextLog(tmp_path / "texts.jsonl")
    log.add(["a\ud800b"])
    log.add(["a\ud800b"])
    assert list(read_texts(tmp_path / "texts.jsonl")) == [text_hash("a\ud800b")]


@pytest.mark.parametrize(
    "line", ["{", "[]", json.dumps({"text_hash": "a"}), json.dumps({"text_hash": 1, "text": 2})]
)
def test_a_strange_line_is_named(tmp_path, line):
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"text_hash": "a", "text": "b"}) + "\n" + line + "\n")
    with pytest.raises(DataError, match=r"texts\.jsonl:2"):
        read_texts(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="missing"):
        read_texts(tmp_path / "texts.jsonl")
