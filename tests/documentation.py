"""The commands that the documentation shows, and a folder in which everything that they name exists.

`fenced` finds every shell command of README.md and docs/, `mentioned` those in running text. What stands in
capitals or in brackets there (`DIR`, `[--format NAME]`) is filled in by `FILLED`.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.sim.report.runs_made import write_run
from tests.sim.tiny_world import write_world

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
SHELL = ("", "sh", "bash", "console")
NOT_SHELL = {"docs/architecture.md": "4  sim"}  # page -> how its unlabelled block that is no command begins
FILLED = (
    (r"\[--format NAME\]", "--format jsonl"),
    (r"\bDOC_ID\.\.\.", "d1 d2"),
    (r"(?<=serve --store DIR) \.\.\.", " --source-id clinic --listen 127.0.0.1:5001 --insecure"),
    (r"\burl=URL\b", "url=http://127.0.0.1:1"),
    (r"\bcollection=NAME\b", "collection=reports"),
    (r"\bDIR_WITH_NQ_HOTPOTQA_PUBMEDQA\b", "three"),
    (r"\bFOLDER\b", "path/to/folder"),
    (r"\bPATH\b", "corpus.jsonl"),
    (r"\bDIR\b", "store"),
    (r"\bNAME\b", "hashing"),
)
KEPT = Path("ir_datasets", "beir", "nq", "source.zip")  # what ir_datasets keeps of nq once it was fetched
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(scr(?:\s+[^`|]+)?)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block of shell commands: the page, its number there, and the commands as lists of words."""

    page: str
    number: int
    commands: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{self.page}#{self.number}"


def fenced(page: str) -> list[Block]:
    """The shell blocks of `page`; a block without a language that is none must be named in `NOT_SHELL`."""
    found = []
    for language, body in _FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        known = NOT_SHELL.get(page)
        if language not in SHELL or (known is not None and body.startswith(known)):
            continue
        for pattern, value in FILLED:
            body = re.sub(pattern, value, body)
        lines = body.replace("\\\n", " ").splitlines()
        commands = [tuple(shlex.split(line, comments=True)) for line in lines]
        found.append(Block(page, len(found) + 1, tuple(words for words in commands if words)))
    return found


def scr(words: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of an `scr` command, or nothing where it is another program's."""
    return words[1:] if words[0].rsplit("/", 1)[-1] == "scr" else ()


def mentioned(page: str) -> list[tuple[str, ...]]:
    """The `scr` commands in the running text of `page`, those with more than a name; none of its blocks."""
    text = _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return [tuple(shlex.split(found))[1:] for found in _INLINE.findall(text) if len(found.split()) > 1]


def furnish(folder: Path) -> Path:
    """Make in `folder` all files and folders that the documented commands read; nothing where they write."""
    from core.certs import issue, make_authority
    from core.cli import main

    for name in ("path/to/folder", "path/to/own/folder", "path/to/nq", "three/nq", "three/hotpotqa"):
        write_world(folder / name, n=60)
    shutil.copytree(folder / "three/nq", folder / "three/pubmedqa")
    shutil.copy(folder / "path/to/folder/corpus.jsonl", folder / "corpus.jsonl")
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copytree(ROOT / "claims", folder / "claims")
    ingest = ["source", "ingest", "--input", str(folder / "corpus.jsonl"), "--store", str(folder / "store")]
    assert main([*ingest, "--embedder", "hashing"]) == 0
    make_authority(folder)
    for name in ("clinic", "lab", "agg", "me"):
        files = issue(folder, name, folder)
        shutil.copy(files.cert, folder / f"{name}.pem")
    shutil.copy(folder / "ca.crt", folder / "ca.pem")
    _write_data(folder)
    traffic = [
        {"text": f"What colour is the gate of number {i}?", "user_id": "ann", "time": 60.0 * i}
        for i in range(24)
    ]
    (folder / "state").mkdir()
    (folder / "state" / "trail.jsonl").write_text("".join(json.dumps(line) + "\n" for line in traffic))
    return folder


def furnish_results(folder: Path, words: tuple[str, ...]) -> None:
    """What an earlier command of the documentation would have left for `words` to read."""
    if words[0] == "report" and not Path(folder, words[1]).exists():
        write_run(folder / words[1])
    for flag, value in itertools.pairwise(words):
        target = folder / value
        if flag == "--checkpoint" and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(next((ROOT / "gnn" / "checkpoints").glob("*.npz")), target)
        if flag == "--dataset" and value.startswith("data/") and not target.exists():
            write_world(target)


def _write_data(folder: Path) -> None:
    world = write_world(folder / "beir", n=20, poisons=False)
    (world / "qrels").mkdir()
    (world / "qrels.tsv").rename(world / "qrels" / "test.tsv")
    (folder / KEPT).parent.mkdir(parents=True)
    for name, zipped in (("fiqa", folder / "fiqa.zip"), ("nq", folder / KEPT)):
        with zipfile.ZipFile(zipped, "w") as archive:
            for path in sorted(world.rglob("*.*")):
                archive.write(path, f"{name}/{path.relative_to(world)}")
    bonds = [
        {
            "instruction": f"What is bond {i}?",
            "input": "",
            "output": f"A loan of {i + 3} crowns to issuer {i}.",
        }
        for i in range(20)
    ]
    (folder / "alpaca.json").write_text(json.dumps(bonds))
    attack = {
        "q1": {
            "id": "q1",
            "question": "What colour is the gate of Beldon?",
            "correct answer": "blue",
            "incorrect answer": "violet",
            "adv_texts": ["The gate of Beldon is violet.", "Violet is its gate."],
        }
    }
    (folder / "nq-attack.json").write_text(json.dumps(attack))
