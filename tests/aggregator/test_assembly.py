from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from aggregator import Aggregator
from aggregator.assembly import assemble, with_checkpoint
from aggregator.config import AggregatorConfig, StageSpec
from core.config import parse
from core.errors import ConfigError
from tests.aggregator.parts import answering, raw_source

LOCAL = {"embedder": "hashing", "defenses": ("injection_guard",)}


def test_connect_builds_a_working_aggregator(tmp_path: Path) -> None:
    with ExitStack() as stack:
        sources = {
            name: stack.enter_context(raw_source(answering(name, [text])))
            for name, text in (
                ("a", "The archive stands in the blue hall."),
                ("b", "Gardens need much rain."),
            )
        }
        made = Aggregator.connect(sources, state=tmp_path / "state", **LOCAL)
        answer = made.ask("Where does the archive stand?")
        made.close()
    assert answer.text.startswith("The archive stands in the blue hall.")
    assert answer.simulated
    assert [d.key.source_id for d in answer.documents] == ["a", "b"]
    assert [record.stage for record in answer.stages] == ["injection_guard"]
    assert (tmp_path / "state" / "reputation.sqlite").exists()
    assert len((tmp_path / "state" / "trail.jsonl").read_text().splitlines()) == 1


def test_settings_reach_the_parts() -> None:
    made = Aggregator.connect(
        {"a": "127.0.0.1:1"},
        defenses=[{"name": "injection_guard", "required": True, "options": {"action": "drop"}}],
        embedder="hashing",
        reader_k=2,
        deadline_s=0.5,
        all_filtered="unfiltered",
        reliability_start=1.0,
        momentum=0.2,
        seed=9,
    )
    (place,) = made.pipeline.stages
    assert place.required
    assert place.stage.config.action == "drop"
    assert (made.reader_k, made.all_filtered, made.seed) == (2, "unfiltered", 9)
    assert (made.reputation.start, made.reputation.momentum) == (1.0, 0.2)
    assert made.fan_out is not None
    assert made.fan_out.deadline_s == 0.5
    made.close()


def test_stages_at_every_hook_are_placed() -> None:
    made = Aggregator.connect(
        {"a": "127.0.0.1:1"},
        defenses=["leakage_audit", "injection_query", "injection_guard"],
        embedder="hashing",
    )
    assert [guard.stage.name for guard in made.guards] == ["injection_query"]
    assert [place.stage.name for place in made.pipeline.stages] == ["injection_guard"]
    assert [auditor.stage.name for auditor in made.auditors] == ["leakage_audit"]
    made.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "at least one source"),
        ({"sources": {"a": "127.0.0.1:1"}, "defenses": ["unheard_of"]}, "unknown defense 'unheard_of'"),
        ({"sources": {"a": "127.0.0.1:1"}, "reader": "unheard_of"}, "unknown reader 'unheard_of'"),
        ({"sources": {"a": "127.0.0.1:1"}, "embedder": "unheard_of"}, "unknown embedder 'unheard_of'"),
        ({"sources": {"a": "127.0.0.1:1"}, "embedder": "none"}, "needs an embedder"),
        ({"sources": {"a": "127.0.0.1:1"}, "llm": "unheard_of"}, "unknown llm 'unheard_of'"),
        ({"sources": {"a": "127.0.0.1:1"}, "checkpoint": "x.pt"}, "no defense 'scr'"),
        (
            {
                "sources": {"a": "127.0.0.1:1"},
                "defenses": [{"name": "injection_guard", "options": {"acton": "cut"}}],
            },
            "unknown key 'acton'",
        ),
    ],
)
def test_what_cannot_be_built_is_said(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assemble(parse(AggregatorConfig, {**LOCAL, **settings}, "here"))


def test_the_checkpoint_goes_to_scr_alone() -> None:
    config = AggregatorConfig(
        defenses=(StageSpec(name="injection_guard"), StageSpec(name="scr", options={"network": False})),
        checkpoint=Path("some.pt"),
    )
    guard, scr = with_checkpoint(config)
    assert guard.options == {}
    assert scr.options == {"checkpoint": "some.pt", "network": False}
