"""The programs of examples/ run, and show what they claim."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _main(name: str) -> Callable[..., Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]  # type: ignore[no-any-return]


def test_every_example_is_run_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "own_defense",
        "run_experiment",
        "score_documents",
        "serve_and_ask",
    }


def test_own_defense(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main("own_defense")() == ("short",)
    assert "stage 'careless' broke its contract" in capsys.readouterr().out


def test_score_documents(capsys: pytest.CaptureFixture[str]) -> None:
    scored = _main("score_documents")()
    assert len(capsys.readouterr().out.splitlines()) == len(scored.credibility) == 4
    *honest, forged = scored.credibility
    assert min(honest) > forged
    assert min(scored.reliability[name] for name in ("north", "south", "west")) > scored.reliability["forged"]


def test_serve_and_ask(capsys: pytest.CaptureFixture[str]) -> None:
    answer = _main("serve_and_ask")()
    out = capsys.readouterr().out
    assert answer.failures == ()
    assert {document.key.source_id for document in answer.documents} == {"north", "south", "forged"}
    assert "reliability of forged" in out
    assert answer.text


def test_run_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    result = _main("run_experiment")(2)
    assert result.metrics["n_queries"] == 2
    assert result.metrics["documents"]["n_malicious"] > 0
    assert "poison rejected (TNR)" in capsys.readouterr().out
