"""FHIR DocumentReference resources."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from core.errors import DataError
from core.records import Document
from source_node.readers import READERS
from source_node.readers.base import ReadOptions
from tests.source_node.readers.test_files import pdf

READER = READERS.get("fhir")()


def coded(data: str | bytes) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def reference(doc_id: str, *attachments: dict, **more) -> dict:
    content = [{"attachment": attachment} for attachment in attachments]
    return {"resourceType": "DocumentReference", "id": doc_id, "status": "current", "content": content} | more


def note(text: str, kind: str = "text/plain", **more) -> dict:
    return {"contentType": kind, "data": coded(text)} | more


def bundle(*resources: dict) -> str:
    return json.dumps(
        {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": r} for r in resources]}
    )


def test_attachments_become_documents(tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text(
        bundle(
            {"resourceType": "Patient", "id": "p"},
            {
                "resourceType": "Binary",
                "id": "b1",
                "contentType": "application/pdf",
                "data": coded(pdf("Scan")),
            },
            reference(
                "one",
                note("Chest pain."),
                note("<title>T</title><p>Second", "text/html; charset=utf-8"),
                description="Discharge",
                category=[{"coding": [{"code": "11488-4", "display": "Consult"}]}],
            ),
            reference("two", {"url": "Binary/b1"}, type={"text": "Report"}),
            reference("void", note("no"), status="entered-in-error"),
            reference("old", note("no"), status="superseded"),
        )
    )
    assert list(READER.read(path, ReadOptions())) == [
        Document("one", "Chest pain.", "Discharge", "Consult"),
        Document("one.2", "Second", "Discharge", "Consult"),
        Document("two", "Scan", "Report"),
    ]


def test_bulk_exports_and_folders(tmp_path: Path) -> None:
    lines = [json.dumps(reference(f"d{i}", note(f"text {i}"))) for i in range(3)]
    (tmp_path / "b.ndjson").write_text("\n".join(lines) + "\n\n")
    (tmp_path / "a.json").write_text(json.dumps(reference("first", note("x", "text/plain; charset=latin-1"))))
    assert [d.doc_id for d in READER.read(tmp_path, ReadOptions())] == ["first", "d0", "d1", "d2"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a FHIR resource"),
        (bundle(), "holds no DocumentReference"),
        (bundle(reference("x")), "x: no content"),
        (bundle(reference("x", {"data": "!!"})), "x: attachment data is not base64"),
        (bundle(reference("x", {"url": "https://elsewhere/1"})), "x: no data in the attachment"),
        (bundle(reference("x", note("x", "image/png"))), "x: contentType 'image/png' is none of"),
        (bundle(reference("x", note("a")), reference("x", note("b"))), "_id 'x' stands in .*entry 1 already"),
    ],
)
def test_problems_are_one_line(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "bundle.json"
    path.write_text(content)
    with pytest.raises(DataError, match=problem) as caught:
        list(READER.read(path, ReadOptions()))
    assert "\n" not in str(caught.value)
