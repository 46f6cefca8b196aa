from __future__ import annotations

from core.reader import as_context
from core.records import Candidate, DocumentKey


def test_context_is_numbered_and_titled() -> None:
    key = DocumentKey("s", "d")
    assert (
        as_context([Candidate(key, "One.", title="First"), Candidate(key, "Two.")])
        == "[1] First. One.\n[2] Two."
    )
    assert as_context([]) == ""
