from __future__ import annotations

import json
import math
import resource
from pathlib import Path

import pytest

from aggregator.aggregator import Aggregator
from aggregator.answer import Answer
from aggregator.audit import TRAIL_SCHEMA, TrailLog, trail
from aggregator.fan_out import Gathered
from aggregator.reputation import Reputation
from core.errors import StoreError
from core.pipeline import Pipeline
from core.records import SourceFailure
from core.stage import StageInput, StageResult, keep_where
from core.text import content_hash
from tests.aggregator.parts import BrokenStage, FirstReader, PoisonStage, reply

ROUND = Gathered(
    (
        reply("a", "the  archive is in the blue hall"),
        reply("b", "the archive is in the blue hall", "poison the archive"),
        reply("c", "poison the archive", "poison  the archive"),
    ),
    (SourceFailure("d", "deadline", "no reply in time"),),
    12.5,
)


class Odd(PoisonStage):
    name = "odd"

    def run(self, given: StageInput) -> StageResult:
        numbers = [{"nan": math.nan, "fine": 1.5}] * len(given.documents)
        return keep_where(given, [True] * len(given.documents), "", evidence=numbers)


def answer(*stages: object) -> Answer:
    asked = Aggregator(None, Pipeline(stages), FirstReader(), Reputation(momentum=0.5))
    return asked.ask("where is the archive", gathered=ROUND, request_id="r1")


def test_the_trail_holds_everything_that_led_to_the_answer() -> None:
    found = trail(answer(PoisonStage(), Odd(), BrokenStage()))
    assert found["schema"] == TRAIL_SCHEMA
    assert (found["request_id"], found["round"], found["query"]) == ("r1", 0, "where is the archive")
    assert found["answer"].split() == "the archive is in the blue hall".split()
    sound, poison = sorted(found["documents"], key=lambda d: d["reason"] == "says_poison")
    assert sound["text_hash"] == content_hash("the archive is in the blue hall")
    assert sorted(sound["holders"]) == [["a", "d0"], ["b", "d0"]]
    assert sorted(poison["members"]) == [["b", "d1"], ["c", "d0"], ["c", "d1"]]
    assert (sound["kept"], poison["kept"]) == (True, False)
    assert (sound["credibility"], poison["credibility"]) == (0.9, 0.1)
    assert poison["verdicts"] == {
        "poison": {"action": "drop", "credibility": 0.1, "reason": "says_poison", "evidence": {"score": 0.1}}
    }
    assert sound["verdicts"]["odd"]["evidence"] == {"nan": None, "fine": 1.5}
    assert sound["verdicts"]["broken"]["action"] == "abstain"
    assert [stage["stage"] for stage in found["stages"]] == ["poison", "odd", "broken"]
    assert found["stages"][2]["error"] == "RuntimeError: /private/path is gone"
    assert found["failures"] == [{"source": "d", "kind": "deadline", "detail": "no reply in time"}]
    assert found["reliability"]["a"] == {"before": 0.5, "after": pytest.approx(0.7)}
    assert found["reliability"]["d"] == {"before": 0.5, "after": 0.5}
    assert found["read"] == [[sound["source"], sound["doc_id"]]]
    assert found["latencies_ms"]["fan_out"] == 12.5


def test_the_trail_is_json_without_document_texts() -> None:
    text = json.dumps(trail(answer(PoisonStage())), allow_nan=False)
    assert "poison the archive" not in text
    assert content_hash("poison the archive") in text


def test_the_log_appends_one_line_a_round_and_survives_reopening(tmp_path: Path) -> None:
    path = tmp_path / "state" / "trail.jsonl"
    for _ in range(2):
        log = TrailLog(path)
        log.write(answer(PoisonStage()))
        log.close()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["request_id"] for line in lines] == ["r1", "r1"]


def test_a_log_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        TrailLog(tmp_path)


def test_a_full_disk_leaves_whole_lines_and_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    size = 64 * 1024 * 1024  # far beyond what else this process writes; the file is sparse
    with path.open("wb") as file:
        file.seek(size - 1)
        file.write(b"\n")
    asked = Aggregator(None, Pipeline([]), FirstReader(), Reputation(), trail_log=TrailLog(path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        found = asked.ask("where is the archive", gathered=ROUND)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert found.text == "the  archive is in the blue hall"
    assert "the trail could not be stored" in found.warnings
    assert path.stat().st_size == size
    assert "the trail could not be stored" not in asked.ask("where", gathered=ROUND).warnings
    assert path.stat().st_size > size


def test_a_line_that_a_crash_left_half_written_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    for left, kept in ((b'{"a":1}\n{"b":', b'{"a":1}\n'), (b'{"a":', b""), (b"", b""), (b"{}\n", b"{}\n")):
        path.write_bytes(left)
        TrailLog(path).close()
        assert path.read_bytes() == kept
    path.write_bytes(b"{}\n" + b"x" * 200_000)
    TrailLog(path).close()
    assert path.read_bytes() == b"{}\n"
