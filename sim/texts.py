"""OUT/texts.jsonl: the text behind every `text_hash` of a run's rounds, each text once.

One line a text, {"text_hash", "text"}, in the order in which they first came in; the hash is
`content_hash(squash(text))`, so texts that differ in white space alone are one. A round's texts are on disk
before its line in rounds.jsonl: whatever a run that was cut off left there beyond its rounds is harmless,
and the run that goes on adds only what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.errors import DataError
from core.text import content_hash, squash

NAME = "texts.jsonl"


def text_hash(text: str) -> str:
    """The name under which rounds.jsonl and texts.jsonl know `text`."""
    return content_hash(squash(text))


class TextLog:
    """Adds texts to `path`, each once; a line that was cut off there is removed first.

    Raises:
        DataError: a whole line of the file is no text of this version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: set[str] = set()
        if path.exists():
            with path.open("r+b") as file:
                whole = file.read().rpartition(b"\n")[0]
                file.truncate(len(whole) + 1 if whole else 0)
            self._known.update(read_texts(path))

    def add(self, texts: Iterable[str]) -> None:
        """Write those of `texts` that are not there yet."""
        new: dict[str, str] = {}
        for text in texts:
            name = text_hash(text)
            if name not in self._known:
                new.setdefault(name, text)
        if not new:
            return
        with self._path.open("a", encoding="utf-8", errors="replace") as file:
            file.writelines(
                json.dumps({"text_hash": name, "text": text}, ensure_ascii=False) + "\n"
                for name, text in new.items()
            )
        self._known.update(new)


def read_texts(path: Path) -> dict[str, str]:
    """Hash -> text of a run's texts.jsonl.

    Raises:
        DataError: the file is missing, or a line is no text; the message names it.
    """
    if not path.is_file():
        raise DataError(f"{path}: missing; a run of this version leaves it beside rounds.jsonl")
    found: dict[str, str] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                record: Any = json.loads(line)
                name, text = record["text_hash"], record["text"]
            except (ValueError, TypeError, KeyError):
                raise DataError(f"{path}:{number}: not a text: needs text_hash and text") from None
            if not (isinstance(name, str) and isinstance(text, str)):
                raise DataError(f"{path}:{number}: text_hash and text must be strings")
            found[name] = text
    return found
