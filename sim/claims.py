"""Headline claims as folders: `run.sh` makes the results, `expected.json` says what must be in them.

`run.sh` is given OUT, an empty folder, and leaves JSON files there. `expected.json` has `claim` (one
sentence), `short` (whether CI runs it) and `values`: each with `name`, `file` below OUT, `path` into it (keys
and positions parted by dots; `key=value` picks from a list of objects), `value` and `tolerance`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from core.config import StrictModel, parse
from core.errors import ConfigError, DataError

TIMEOUT_S = 3600


class Expected(StrictModel):
    """One number that a claim rests on."""

    name: str
    file: str
    path: str
    value: float
    tolerance: float = Field(0.0, ge=0.0)


class Claim(StrictModel):
    """What `expected.json` says."""

    claim: str
    short: bool = False
    values: tuple[Expected, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Checked:
    """One number as it came out; `found` is None where it is not there."""

    expected: Expected
    found: float | None

    @property
    def holds(self) -> bool:
        """Whether it is within its tolerance."""
        return (
            self.found is not None and abs(self.found - self.expected.value) <= self.expected.tolerance + 1e-9
        )


def load_claims(root: Path, names: Sequence[str] = (), *, short: bool = False) -> dict[str, Claim]:
    """The claims below `root`, or those of `names`; with `short` only the short ones.

    Raises:
        ConfigError: no such folder or claim, or a wrong `expected.json`.
    """
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder; claims stand in the repository's folder claims/")
    known = sorted(path.parent.name for path in root.glob("*/expected.json"))
    for name in names:
        if name not in known:
            raise ConfigError(f"no claim {name!r} in {root}; known: {', '.join(known) or 'none'}")
    claims = {name: _read(root / name / "expected.json") for name in names or known}
    return {name: claim for name, claim in claims.items() if claim.short or not short}


def check(folder: Path, claim: Claim) -> list[Checked]:
    """Run the claim in `folder` and compare.

    Raises:
        DataError: `run.sh` is missing or failed; the message has its last line.
    """
    script = folder / "run.sh"
    if not script.is_file():
        raise DataError(f"{script}: missing")
    with tempfile.TemporaryDirectory(prefix="scr-claim-") as out:
        here = Path(sys.executable).parent  # `scr` and `python` of this environment first
        environment = {**os.environ, "OUT": out, "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}"}
        done = subprocess.run(  # noqa: S603 - the repository's own script
            ["/usr/bin/env", "bash", str(script.resolve())],
            env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no word"])[-1]
            raise DataError(f"{script}: exit status {done.returncode}: {last}")
        return [Checked(one, _number(Path(out) / one.file, one.path)) for one in claim.values]


def look_up(content: Any, path: str) -> Any:
    """What stands at `path` in `content`; None where nothing does."""
    for part in path.split("."):
        key, equals, wanted = part.partition("=")
        if isinstance(content, list) and equals:
            content = next((one for one in content if str(one.get(key)) == wanted), None)
        elif isinstance(content, list):
            content = content[int(part)] if part.isdigit() and int(part) < len(content) else None
        elif isinstance(content, dict):
            content = content.get(part)
        else:
            return None
    return content


def _number(path: Path, inside: str) -> float | None:
    if not path.is_file():
        return None
    found = look_up(json.loads(path.read_text(encoding="utf-8")), inside)
    return float(found) if isinstance(found, int | float) else None


def _read(path: Path) -> Claim:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON ({error})") from None
    return parse(Claim, content, str(path))
