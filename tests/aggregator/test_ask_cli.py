from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from aggregator.aggregator import Aggregator
from aggregator.fan_out import FanOut
from aggregator.reputation import Reputation
from aggregator.servicer import serve
from core.cli import main
from core.pipeline import Pipeline
from tests.aggregator.parts import FirstReader, PoisonStage, answering, raw_source

ESCAPE = "\x1b[2J\x07"


@pytest.fixture
def address() -> Iterator[str]:
    with ExitStack() as stack:
        sources = {
            "a": stack.enter_context(
                raw_source(
                    answering("a", [f"the archive{ESCAPE} is in the blue hall"], title=f"Archive{ESCAPE}")
                )
            ),
            "b": stack.enter_context(raw_source(answering("b", ["poison the archive", "poison all"]))),
            "gone": "127.0.0.1:1",
        }
        asked = Aggregator(
            FanOut.connect(sources), Pipeline([PoisonStage()]), FirstReader(), Reputation(momentum=0.5)
        )
        server = serve(asked, "127.0.0.1:0", insecure=True, top_k=1)
        server.start()
        stack.callback(asked.close)
        stack.callback(server.stop, 1.0)
        yield server.address


def test_the_answer_comes_with_what_was_kept_and_dropped(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "where is the archive", "--aggregator", address, "--insecure"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the archive[2J is in the blue hall"
    kept, dropped = lines.index("kept:"), lines.index("dropped:")
    assert lines[kept + 1] == "  0.900  a/d0  [poison: passed]  Archive[2J"
    assert lines[dropped + 1] == "  0.100  b/d0  [poison: says_poison]  poison the archive"
    assert "  gone  unavailable: the source could not be reached" in lines
    assert "reliability: a 0.70, b 0.30, gone 0.50" in lines
    assert not any(ord(character) < 32 for line in lines for character in line)


def test_json_holds_the_whole_trail(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "ask",
        "where is the archive",
        "--aggregator",
        address,
        "--insecure",
        "--json",
        "--top-k",
        "2",
    ]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answer"] == f"the archive{ESCAPE} is in the blue hall"
    assert found["refused"] is False
    by_key = {(d["source"], d["doc_id"]): d for d in found["documents"]}
    assert by_key.keys() == {("a", "d0"), ("b", "d0"), ("b", "d1")}
    dropped = by_key["b", "d1"]
    assert (dropped["kept"], dropped["credibility"], dropped["reason"]) == (False, 0.1, "poison: says_poison")
    assert dropped["verdicts"][0]["evidence"] == {"score": 0.1}
    assert dropped["similarity"] is None
    assert dropped["holders"] == [["b", "d1"]]
    assert [stage["stage"] for stage in found["stages"]] == ["poison"]
    assert found["failures"][0]["source"] == "gone"
    assert found["reliability"]["a"] == pytest.approx(0.7)


def test_a_refusal_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    with raw_source(answering("b", ["poison the archive"])) as source:
        asked = Aggregator(
            FanOut.connect({"b": source}), Pipeline([PoisonStage()]), FirstReader(), Reputation()
        )
        server = serve(asked, "127.0.0.1:0", insecure=True)
        server.start()
        assert main(["ask", "where", "--aggregator", server.address, "--insecure"]) == 1
        server.stop(1.0)
        asked.close()
    out = capsys.readouterr().out
    assert out.startswith("Every retrieved document was rejected")
    assert "b/d0  [poison: says_poison]" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["where", "--aggregator", "127.0.0.1:1", "--insecure"], "unavailable"),
        (["where", "--aggregator", "nowhere", "--insecure"], "HOST:PORT"),
        (["where", "--aggregator", "127.0.0.1:1"], "--tls-cert"),
        (["where", "--aggregator", "127.0.0.1:1", "--insecure", "--tls-ca", "x"], "exclude"),
        (["", "--aggregator", "127.0.0.1:1", "--insecure"], "question is empty"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
