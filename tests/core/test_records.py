from __future__ import annotations

import dataclasses
import pickle

import pytest

from core import records
from core.records import Candidate, Document, DocumentKey, Query, RetrievedDocument, SourceReply

EXAMPLES = [
    Document("d", "text"),
    RetrievedDocument("s", "d", "text"),
    SourceReply("s", (RetrievedDocument("s", "d", "text"),)),
    Candidate(DocumentKey("s", "d"), "text"),
    Query("question"),
]


@pytest.mark.parametrize("record", EXAMPLES, ids=lambda record: type(record).__name__)
def test_records_are_frozen_and_travel(record: object) -> None:
    name = dataclasses.fields(record)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, name, "other")
    assert pickle.loads(pickle.dumps(record)) == record


def test_key_names_source_and_document() -> None:
    key = RetrievedDocument("clinic", "d1", "text").key
    assert key == DocumentKey("clinic", "d1")
    assert str(key) == "clinic/d1"
    assert key < DocumentKey("clinic", "d2") < DocumentKey("lab", "a")


def test_sources_of_a_candidate() -> None:
    a, b = DocumentKey("a", "1"), DocumentKey("b", "7")
    assert Candidate(a, "t").sources == ("a",)
    assert Candidate(a, "t", holders=(a, b)).sources == ("a", "b")


def test_no_record_makes_itself_from_outside() -> None:
    makers = [
        f"{name}.{attribute}"
        for name, value in vars(records).items()
        if dataclasses.is_dataclass(value)
        for attribute, member in vars(value).items()
        if isinstance(member, (classmethod, staticmethod))
    ]
    assert makers == []
