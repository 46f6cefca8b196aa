"""Structured logs: one JSON object a line, without the messages of foreign exceptions.

An exception that a library raised may quote the text that it choked on, so of a traceback the kind of the
error and the places in the code are written, never its message. Our own messages hold names and numbers.
"""

from __future__ import annotations

import datetime
import json
import logging
import traceback
from typing import Any, Literal

LogFormat = Literal["text", "json"]


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON: time, level, logger, message, and of an error its kind and places."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            line["error"] = record.exc_info[0].__name__
            line["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line, ensure_ascii=True)


def use_log_format(form: LogFormat) -> None:
    """Have every handler of the root logger write in `form`; `text` leaves them as they are."""
    if form == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
