"""Structured logs: a line is an object, and no text of a document gets into one by way of an exception."""

from __future__ import annotations

import json
import logging
import sys

from core.logs import JsonFormatter, use_log_format


def written(record: logging.LogRecord) -> dict:
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_a_record_is_one_object_on_one_line() -> None:
    record = logging.LogRecord("core.x", logging.WARNING, __file__, 1, "%s is\nlate: %d", ("é", 3), None)
    line = written(record)
    assert (line["level"], line["logger"], line["message"]) == ("warning", "core.x", "é is\nlate: 3")
    assert line["time"].endswith("+00:00")


def test_an_exception_leaves_its_kind_and_places_but_not_its_message() -> None:
    try:
        int("patient 4711 has measles")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "INTERNAL", (), sys.exc_info())
    line = written(record)
    assert line["error"] == "ValueError"
    assert any("test_logs.py" in place for place in line["at"])
    assert "measles" not in json.dumps(line)


def test_the_format_is_set_on_every_handler() -> None:
    root, handler = logging.getLogger(), logging.StreamHandler()
    root.addHandler(handler)
    kept = {each: each.formatter for each in root.handlers}
    try:
        use_log_format("text")
        assert handler.formatter is None
        use_log_format("json")
        assert isinstance(handler.formatter, JsonFormatter)
    finally:
        for each, formatter in kept.items():
            each.setFormatter(formatter)
        root.removeHandler(handler)
