"""Every command of the documentation is taken by the real command line, up to the point where its work begins.

Options exist, values are valid, names are registered, files are found: each command of a fenced block runs
here through `core.cli.main` until it reaches the function that does the work (`WORK`), which is replaced by
one that says so. `test_documented_runs.py` runs the same commands to their end, in the slow suite.
"""

from __future__ import annotations

import importlib
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from core.cli import main
from core.errors import ScrError
from tests.documentation import PAGES, ROOT, Block, fenced, furnish, furnish_results, mentioned, scr

RUN_ELSEWHERE = {"docs/deploy.md": "tests/integration/test_deploy_walk.py"}  # page -> what runs all of it
BLOCKS = [block for page in PAGES if page not in RUN_ELSEWHERE for block in fenced(page)]
COMMANDS = sorted({scr(words) for block in BLOCKS for words in block.commands if scr(words)})

# command -> where its work begins: the first of these functions that is called ends the test
WORK = {
    "sim run": ("sim.experiment:_ask_all",),
    "sim sweep": ("sim.sweep.runner:_begin", "sim.sweep.runner:read_sweep"),
    "sim fit": ("sim.fit_filterrag:fit_filterrag",),
    "sim reproduce": ("sim.progress:open_progress",),
    "bench": ("sim.bench.result:BenchOptions",),
    "report": ("sim.report.build:build_page",),
    "data get": ("sim.data.build:build",),
    "claims check": ("sim.claims:check",),
    "train": ("sim.training:Trainer",),
    "eval": ("sim.rounds:prepare",),
    "calibrate": ("sim.rounds:prepare",),
    "source ingest": ("source_node.ingest_run:ingest",),
    "source serve": ("source_node.servicer:make_server",),
    "source reindex": ("source_node.reindex:reindex",),
    "source attach": ("source_node.attach:attach",),
    "aggregator serve": ("aggregator.serving:serve",),
    "ask": ("core.rpc:open_channel",),
    "ado calibrate": ("defenses.ado.calibrate:calibrate",),
}
TO_THE_END = ("source withdraw", "trust list", "data list")  # done in no time


class Reached(Exception):
    """The command line has done its part."""


class _Telling:
    """Progress that ends the command at its first word."""

    def say(self, line: str) -> None:
        raise Reached(line)


def _reached(target: str) -> Any:
    def work(*given: Any, **named: Any) -> Any:
        from core.tls import TlsFiles

        for value in (*given, *named.values()):
            if isinstance(value, TlsFiles):  # these are read where a server or a channel is made
                value.channel_credentials()
        if target.endswith(":open_progress"):
            return _Telling()  # a table's own settings are checked by the table, before it speaks
        raise Reached(target)

    return work


def _name(words: tuple[str, ...]) -> str:
    """`sim run` of the arguments `sim run --queries 3`."""
    names = {*WORK, *TO_THE_END}
    return next((name for name in (" ".join(words[:2]), words[0]) if name in names), "")


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("documented"))


@pytest.fixture
def here(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the furnished folder, as the current one."""
    folder = tmp_path / "here"
    shutil.copytree(furnished, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_command_line_takes_it(
    words: tuple[str, ...], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = _name(words)
    assert name, f"scr {' '.join(words)}: say in WORK where its work begins"
    furnish_results(here, words)
    if name == "trust list":
        from aggregator.reputation import Reputation
        from aggregator.state import database_path

        Reputation(database_path(here / "state")).close()
    for target in WORK.get(name, ()):
        module, attribute = target.split(":")
        monkeypatch.setattr(importlib.import_module(module), attribute, _reached(target))
    if name in TO_THE_END:
        assert main(list(words)) == 0, capsys.readouterr().err
        return
    with pytest.raises(Reached):
        main(["--debug", *words])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sim run --attack nosuch --embedder hashing", "unknown attack 'nosuch'"),
        ("sim run --dataset path/to/folder --poison nowhere.jsonl", "nowhere.jsonl"),
        ("source ingest --input nowhere.csv --store new", "nowhere.csv"),
        (
            "ask Where? --aggregator agg.example:6000 --tls-cert no.pem --tls-key me.key --tls-ca ca.pem",
            "no.pem",
        ),
    ],
)
def test_a_wrong_one_would_be_seen(
    words: str, told: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in WORK[_name(tuple(words.split()))]:
        module, attribute = target.split(":")
        monkeypatch.setattr(importlib.import_module(module), attribute, _reached(target))
    with pytest.raises(ScrError, match=re.escape(told)):
        main(["--debug", *words.split()])


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_running_text_exist_with_their_flags(page: str) -> None:
    for words in mentioned(page):
        if words[0].isupper():  # a placeholder
            continue
        (entry,) = entry_points(group="securecollarag.commands", name=words[0])
        command: Any = get_command(entry.load())
        rest = list(words[1:])
        while getattr(command, "commands", None) and rest and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        known = {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
        assert {word for word in rest if word.startswith("-")} <= known, words


def _leaves(words: tuple[str, ...], command: Any) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", {})
    below = [leaf for name, one in inner.items() for leaf in _leaves((*words, name), one)]
    return below if not command.epilog else [(words, command), *below]


def test_the_examples_of_the_help_are_parsed() -> None:
    """By the command's own parser: options exist, required ones are there, values have their types."""
    import shlex

    seen = 0
    for entry in entry_points(group="securecollarag.commands"):
        top: Any = get_command(entry.load())
        for _, command in _leaves((entry.name,), top):
            text = re.sub(r"\\\n\s*", " ", command.epilog.replace("·", "\n")).replace("\b", "")
            for line in re.findall(r"^\s*(?:Examples?: )?scr (.*)$", text, re.MULTILINE):
                words = shlex.split(line)
                assert words.pop(0) == entry.name, line
                found = top
                while getattr(found, "commands", None) and words and words[0] in found.commands:
                    found = found.commands[words.pop(0)]
                found.make_context("scr", words)  # raises a usage error where it is none
                seen += 1
    assert seen > 40


def test_every_command_that_is_not_ours_is_known() -> None:
    """`make` targets exist and are steps of CI; nothing else stands in a block outside the walk."""
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for words in {words for block in BLOCKS for words in block.commands if not scr(words)}:
        assert words[0] == "make", words
        assert words[1] in targets
        assert f"make {words[1]}\n" in ci
    for page, test in RUN_ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8").replace('" / "', "/")


def test_python_programs_of_the_examples_are_run_by_their_test() -> None:
    told = {
        name
        for path in (ROOT / "examples").glob("*.py")
        for name in re.findall(r"^python examples/(\w+)\.py", path.read_text(), re.MULTILINE)
    }
    assert told == {path.stem for path in (ROOT / "examples").glob("*.py")}
    test = (ROOT / "tests" / "integration" / "test_examples.py").read_text()
    assert all(f'_main("{name}")' in test for name in told)


def test_blocks_are_found() -> None:
    assert {block.page for block in BLOCKS} >= {"README.md", "docs/researcher.md", "docs/ingest.md"}
    assert all(isinstance(block, Block) and block.commands for block in BLOCKS)
