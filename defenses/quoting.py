"""The only way in which foreign text enters a prompt: JSON-encoded between delimiters it cannot forge.

The JSON string encoding (ASCII, so that no look-alike survives) keeps the text on one line and turns
quotes and newlines into escapes; angle brackets are escaped too, so that the text cannot contain the
closing delimiter, whatever it is.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TAG = re.compile(r"[a-z][a-z0-9_]{0,31}")


def encode(value: Any) -> str:
    """`value` as one line of ASCII JSON without angle brackets or vertical bars outside escapes."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("|", "\\u007c")


def as_data(tag: str, value: Any) -> str:
    """`value` as JSON between `<tag>` and `</tag>`: data for a prompt, never instructions.

    Raises:
        ValueError: `tag` is not a short lower-case identifier (a programming error).
    """
    if not _TAG.fullmatch(tag):
        raise ValueError(f"not a delimiter name: {tag!r}")
    return f"<{tag}>{encode(value)}</{tag}>"
