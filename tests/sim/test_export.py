from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from core.errors import ConfigError, DataError
from sim.cli import app
from sim.export import export_rounds
from sim.round_record import ReturnedDocument
from sim.texts import TextLog, text_hash
from tests.sim.rounds_made import record as made

TEXTS = ("first text", "second  text", "third text")


def document(i, read, source="s0"):
    return ReturnedDocument(source, f"d{i}", text_hash(TEXTS[i]), "benign", True, i + 1, read=read)


@pytest.fixture
def run(tmp_path):
    one = replace(
        made(),
        query="why?",
        answers=("because", "so"),
        answer="because of it",
        documents=(document(1, 1), document(0, 2), document(0, 2, "s1"), document(2, None)),
    )
    (tmp_path / "arms").mkdir()
    (tmp_path / "rounds.jsonl").write_text(one.to_line() + "\n" + '{"cut', encoding="utf-8")
    other = replace(one, answers=(), answer="", documents=())
    (tmp_path / "arms" / "ms_rag.jsonl").write_text(other.to_line() + "\n", encoding="utf-8")
    TextLog(tmp_path / "texts.jsonl").add(TEXTS)
    return tmp_path


def test_ragas_gets_lines_with_the_contexts_that_were_read_in_their_order(run):
    assert export_rounds(run, "ragas", run / "out.jsonl") == 1
    (sample,) = map(json.loads, (run / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert sample == {
        "user_input": "why?",
        "response": "because of it",
        "reference": "because",
        "retrieved_contexts": ["second  text", "first text"],
    }


def test_deepeval_gets_a_list_and_no_expectation_where_none_is_known(run):
    assert export_rounds(run, "deepeval", run / "out.json", "ms_rag") == 1
    found = json.loads((run / "out.json").read_text(encoding="utf-8"))
    assert found == [{"input": "why?", "actual_output": "", "retrieval_context": []}]


def test_what_is_missing_is_named(run):
    with pytest.raises(ConfigError, match="known: ragas, deepeval"):
        export_rounds(run, "csv", run / "x")
    with pytest.raises(ConfigError, match="its other arms: ms_rag"):
        export_rounds(run, "ragas", run / "x", "nobody")
    (run / "texts.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="lacks the text"):
        export_rounds(run, "ragas", run / "x")
    (run / "texts.jsonl").unlink()
    with pytest.raises(DataError, match="missing"):
        export_rounds(run, "ragas", run / "x")


def test_the_command_says_what_it_wrote(run):
    out = run / "made.jsonl"
    found = CliRunner().invoke(app, ["export", "--format", "ragas", str(run), "--out", str(out)])
    assert found.exit_code == 0
    assert "1 rounds" in found.output
    assert out.is_file()
