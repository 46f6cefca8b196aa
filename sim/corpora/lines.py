"""Lines of a data file, each checked for encoding, with the number that errors name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError

MAX_ID_BYTES = 256


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of every line of `path` that is not blank.

    Raises:
        DataError: the file is missing or unreadable, or a line is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DataError.at(
                        path, number, f"not UTF-8: byte 0x{raw[error.start]:02x} at column {error.start + 1}"
                    ) from None
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line of a JSON Lines file.

    Raises:
        DataError: as `text_lines`, or a line is not a JSON object (NaN and Infinity are not JSON).
    """
    for number, line in text_lines(path):
        try:
            record = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError.at(path, number, f"not a line of JSON: {reason}") from None
        if not isinstance(record, dict):
            raise DataError.at(path, number, f"must be a JSON object, not {type(record).__name__}")
        yield number, record


def string(record: dict[str, Any], key: str, path: Path, line: int, *, required: bool = True) -> str:
    """The text under `key`, "" where it is absent or null and not `required`.

    Raises:
        DataError: missing, not a string, blank though required, or with a lone surrogate.
    """
    value = record.get(key)
    if value is None and not required:
        return ""
    if value is None:
        raise DataError.at(path, line, f"key {key!r} is missing")
    if not isinstance(value, str):
        raise DataError.at(path, line, f"{key!r} must be a string, not {type(value).__name__}")
    if required and not value.strip():
        raise DataError.at(path, line, f"{key!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError.at(path, line, f"{key!r} holds a lone surrogate, which is not text") from None
    return value


def identifier(record: dict[str, Any], key: str, path: Path, line: int) -> str:
    """The id under `key`: a string of 1 to 256 bytes.

    Raises:
        DataError: as `string`, or too long.
    """
    value = string(record, key, path, line)
    if len(value.encode("utf-8")) > MAX_ID_BYTES:
        raise DataError.at(path, line, f"{key!r} is longer than {MAX_ID_BYTES} bytes")
    return value


def strings(record: dict[str, Any], key: str, path: Path, line: int) -> tuple[str, ...]:
    """The non-empty list of non-empty strings under `key`, doubles removed.

    Raises:
        DataError: anything else stands there.
    """
    values = record.get(key)
    if values is None or values == []:
        raise DataError.at(path, line, f"no {key!r}: it must be a list with at least one string")
    if not isinstance(values, list):
        raise DataError.at(path, line, f"{key!r} must be a list of strings, not {type(values).__name__}")
    checked = [string({key: value}, key, path, line) for value in values]
    return tuple(dict.fromkeys(checked))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
