"""FHIR: the attachments of DocumentReference resources, from Bundles (JSON) or bulk exports (NDJSON)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError, WireError
from core.records import Document
from source_node.readers.base import Distinct, ReadOptions, checked, short_title
from source_node.readers.texts import MEDIA_TYPES, Extracted, decoded, tidy

_VOID = ("superseded", "entered-in-error")
_SUFFIXES = (".json", ".ndjson")


class Fhir:
    """One document an attachment, from one file or a folder of `.json` and `.ndjson` files.

    The id is the resource's (`ID.2` for its second attachment); the title its description, else that of
    the attachment, else its type; the category the text or code of its first category. References that
    are superseded or entered in error are left out. Data stands in the attachment (base64) or in a
    Binary of the same Bundle that its `url` names; nothing is fetched.
    """

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        seen = Distinct()
        found = 0
        for file in _files(path):
            for where, resource, binaries in _resources(file):
                if resource.get("status") in _VOID or resource.get("docStatus") == "entered-in-error":
                    continue
                found += 1
                try:
                    documents = list(_documents(resource, binaries, options))
                    for document in documents:
                        seen.check(document.doc_id, f"{file.name}:{where}")
                except WireError as error:
                    options.bad(DataError(f"{file}: {where}: {error}"))
                    continue
                yield from documents
        if not found:
            raise DataError.at(path, None, "holds no DocumentReference that is in force")

    def count(self, path: Path, options: ReadOptions) -> int | None:
        return None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
    if not found:
        raise DataError.at(path, None, "a folder without .json or .ndjson files")
    return found


def _resources(file: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, dict[str, Any]]]]:
    """(place, DocumentReference, Binary resources by reference) of `file` in order."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError.at(file, None, f"cannot be read: {error.strerror}") from None
    if file.suffix.lower() == ".ndjson":
        for number, line in enumerate(data.splitlines(), start=1):
            if line.strip():
                yield from _unfolded(file, f"line {number}", _parsed(file, number, line))
    else:
        yield from _unfolded(file, "resource", _parsed(file, None, data))


def _parsed(file: Path, line: int | None, data: bytes) -> dict[str, Any]:
    try:
        resource = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError.at(file, line, f"byte {error.start + 1} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError.at(file, line, f"not JSON: {error}") from None
    if not isinstance(resource, dict) or "resourceType" not in resource:
        raise DataError.at(file, line, "not a FHIR resource (no resourceType)")
    return resource


def _unfolded(
    file: Path, place: str, resource: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, dict[str, Any]]]]:
    if resource["resourceType"] == "DocumentReference":
        yield place, resource, {}
    if resource["resourceType"] != "Bundle":
        return
    entries = resource.get("entry", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError.at(file, None, f"{place}: entry must be a list of objects")
    inner = [(entry.get("fullUrl"), entry.get("resource")) for entry in entries]
    binaries: dict[str, dict[str, Any]] = {}
    for url, held in inner:
        if isinstance(held, dict) and held.get("resourceType") == "Binary":
            binaries |= {str(name): held for name in (url, f"Binary/{held.get('id')}") if name}
    for number, (_, held) in enumerate(inner, start=1):
        if isinstance(held, dict) and held.get("resourceType") == "DocumentReference":
            yield f"entry {number}", held, binaries


def _documents(
    resource: dict[str, Any], binaries: dict[str, dict[str, Any]], options: ReadOptions
) -> Iterator[Document]:
    doc_id = resource.get("id")
    if not isinstance(doc_id, str):
        raise WireError("a DocumentReference without an id")
    contents = resource.get("content")
    if not isinstance(contents, list) or not contents:
        raise WireError(f"{doc_id}: no content")
    for number, content in enumerate(contents, start=1):
        attachment = content.get("attachment") if isinstance(content, dict) else None
        if not isinstance(attachment, dict):
            raise WireError(f"{doc_id}: content {number} has no attachment")
        own, text = _text(doc_id, attachment, binaries)
        names = (resource.get("description"), attachment.get("title"), _label(resource.get("type")), own)
        title = next((short_title(name) for name in names if isinstance(name, str) and name.strip()), "")
        yield checked(
            doc_id if number == 1 else f"{doc_id}.{number}",
            text,
            title,
            _label(_at(resource.get("category"), 0)) or None,
            options,
        )


def _text(doc_id: str, attachment: dict[str, Any], binaries: dict[str, dict[str, Any]]) -> Extracted:
    kind, data = attachment.get("contentType"), attachment.get("data")
    if data is None and (held := binaries.get(str(attachment.get("url")))):
        kind, data = kind or held.get("contentType"), held.get("data")
    if not isinstance(data, str):
        raise WireError(f"{doc_id}: no data in the attachment, nor in a Binary of the same Bundle")
    media, _, parameters = str(kind or "text/plain").partition(";")
    media = media.strip().lower()
    if media not in MEDIA_TYPES:
        raise WireError(f"{doc_id}: contentType {media[:60]!r} is none of {', '.join(MEDIA_TYPES)}")
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise WireError(f"{doc_id}: attachment data is not base64") from None
    charset = parameters.partition("charset=")[2].strip().strip('"')
    try:
        if media == "text/plain" and charset:
            return "", tidy(decoded(raw, charset))
        return MEDIA_TYPES[media](raw)
    except WireError as error:
        raise WireError(f"{doc_id}: {error}") from None


def _label(concept: object) -> str:
    """What a CodeableConcept says: its text, else the display or code of its first coding."""
    if not isinstance(concept, dict):
        return ""
    coding = _at(concept.get("coding"), 0)
    inner = (coding.get("display"), coding.get("code")) if isinstance(coding, dict) else ()
    return next((name for name in (concept.get("text"), *inner) if isinstance(name, str) and name), "")


def _at(items: object, index: int) -> object:
    return items[index] if isinstance(items, list) and len(items) > index else None
