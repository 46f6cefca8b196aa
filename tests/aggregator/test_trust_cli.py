"""`scr trust`: the operator's view of the users' standing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.cli import main
from defenses.ado.trust import TrustStore


@pytest.fixture
def state(tmp_path: Path) -> Path:
    store = TrustStore(tmp_path / "trust.sqlite")
    store.update("mallory", -0.1, -0.1)
    store.update("ann", 0.1, 0.0)
    store.close()
    return tmp_path


def test_list_shows_the_least_trusted_first(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "list", "--state", str(state)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("0.300  mallory  1 questions, 1 suspicious")
    assert lines[1].startswith("0.600  ann")
    assert main(["trust", "list", "--state", str(state), "--json", "--limit", "1"]) == 0
    (record,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (record["user_id"], record["score"]) == ("mallory", pytest.approx(0.3))


def test_reset(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "reset", "mallory", "--state", str(state)]) == 0
    assert main(["trust", "reset", "mallory", "--state", str(state)]) == 2
    assert "no record of user 'mallory'" in capsys.readouterr().err
    assert main(["trust", "reset", "--all", "--state", str(state)]) == 0
    assert main(["trust", "list", "--state", str(state)]) == 0
    assert "no user has a record" in capsys.readouterr().out


def test_bad_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "list"]) == 2
    assert "--state DIR is missing" in capsys.readouterr().err
    assert main(["trust", "list", "--state", str(tmp_path)]) == 2
    assert "no trust is recorded there" in capsys.readouterr().err
    assert main(["trust", "reset", "--state", str(tmp_path)]) == 2
    assert "name one user" in capsys.readouterr().err


def test_the_state_folder_comes_from_the_aggregators_yaml(state: Path, tmp_path: Path) -> None:
    config = tmp_path / "aggregator.yaml"
    config.write_text(f"state: {state}\n")
    assert main(["trust", "list", "--config", str(config)]) == 0
