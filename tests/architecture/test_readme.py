"""The README is true: its commands exist with their flags, its names and links too."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def _commands() -> list[list[str]]:
    blocks = re.findall(r"```\n(.*?)```", README, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.strip()]


SCR = [words[1:] for words in _commands() if words[0].endswith("/scr")]


def test_the_make_commands_are_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = [words[1] for words in _commands() if words[0] == "make"]
    assert used == ["run", "test"]
    assert set(re.findall(r"`make ([a-z]+)`", README)) <= targets


@pytest.mark.parametrize("words", SCR, ids=" ".join)
def test_the_scr_commands_exist_with_their_flags(words: list[str]) -> None:
    from typer.main import get_command

    (entry,) = entry_points(group="securecollarag.commands", name=words[0])
    command = get_command(entry.load())
    rest = words[1:]
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    known = {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
    assert {word for word in rest if word.startswith("--")} <= known


def test_the_names_in_the_commands_exist() -> None:
    from aggregator.stages import STAGES
    from sim.attacks import ATTACKS

    for words in SCR:
        for flag, registry in (("--attack", ATTACKS), ("--defense", STAGES)):
            for at in [i for i, word in enumerate(words) if word == flag]:
                assert words[at + 1] in registry


@pytest.mark.parametrize("document", ["README.md", "docs/architecture.md", "docs/plugins.md"])
def test_links_and_paths_lead_somewhere(document: str) -> None:
    path = ROOT / document
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (path.parent / target).exists(), target
    for name in re.findall(
        r"`((?:core|sim|aggregator|gnn|source_node|defenses|tests|docs|configs)/[\w./]*)`", text
    ):
        assert (ROOT / name).exists(), name


def test_python_names_import() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert {"Aggregator", "CredibilityScorer", "SourceNode", "run_experiment"} <= names.keys()
