"""Replacing and counting."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ContractError
from core.records import Document, Query
from source_node.node import SourceNode
from source_node.sanitize import DETECTORS
from source_node.sanitize.base import Finding, Sanitizer, sanitized
from source_node.sanitize.patterns import PatternDetector

spans = st.tuples(st.integers(0, 29), st.integers(1, 10)).map(
    lambda s: Finding(s[0], min(s[0] + s[1], 30), "name")
)


@given(st.lists(spans, max_size=8))
def test_nothing_that_was_found_is_left(findings: list[Finding]) -> None:
    text = "".join(chr(0x4E00 + i) for i in range(30))
    done = sanitized(text, findings)
    gone = {i for f in findings for i in range(f.start, f.end)}
    left = [c for c in done.text if ord(c) >= 0x4E00]
    assert left == [c for i, c in enumerate(text) if i not in gone]
    assert done.text.count("[NAME]") == done.removed.total() <= len(findings)


@pytest.mark.parametrize("finding", [(0, 9, "name"), (2, 2, "name"), (-1, 2, "name"), (0, 1, "Name!")])
def test_a_detector_that_misbehaves_is_named(finding: tuple[int, int, str]) -> None:
    with pytest.raises(ContractError, match="detector mine"):
        sanitized("text", [Finding(*finding)], "mine")


def test_a_node_gives_away_no_identifier_and_counts_them(caplog) -> None:
    sanitizer = Sanitizer("patterns", DETECTORS.get("patterns")())
    documents = [
        Document("d", "Dr. Anna Smith saw the heart patient on 2024-05-06.", "Letter to Mrs. Miller")
    ]
    node = SourceNode("clinic", documents, retriever="bm25", sanitizer=sanitizer)
    for _ in range(2):
        (answer,) = node.retrieve(Query("heart"), 1).documents
        assert answer.text == "Dr. [NAME] saw the heart patient on [DATE]."
        assert answer.title == "Letter to Mrs. [NAME]"
    assert sanitizer.counts == {"date": 2, "name": 4}
    assert "Smith" not in caplog.text
    sanitizer.forget()
    assert sanitizer.clean("none here") == "none here"
    assert Counter(sanitizer.counts).total() == 6


def test_a_detector_may_come_from_elsewhere() -> None:
    assert isinstance(DETECTORS.get("patterns")(), PatternDetector)
