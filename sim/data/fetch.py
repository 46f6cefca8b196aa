"""Where records come from: a file of one's own, ir_datasets, or the Hugging Face hub."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError, MissingPackageError
from core.records import Document
from sim.corpora.folder import read_documents, read_qrels
from sim.corpora.lines import identifier, json_lines, string, strings
from sim.corpora.records import Question
from sim.data.catalogue import DataSet

Judgements = dict[str, set[str]]


def local_records(path: Path) -> Iterable[Any]:
    """The records of a JSON list, a JSON object of records (its keys become `id`), {"Data": [...]}, or lines.

    Raises:
        DataError: no such file, or none of these.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.suffix == ".jsonl":
        return [record for _, record in json_lines(path)]
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(
            f"{path}: not JSON ({error}); a file with one record a line must end in .jsonl"
        ) from None
    if isinstance(content, dict):
        inside = content.get("Data")
        if isinstance(inside, list):
            return inside
        return [{"id": key, **value} if isinstance(value, dict) else value for key, value in content.items()]
    if not isinstance(content, list):
        raise DataError(f"{path}: must be a list or an object of records")
    return content


def local_beir(
    path: Path, split: str, scratch: Path
) -> tuple[Iterable[Document], list[Question], Judgements]:
    """A BEIR data set as its zip file or the folder that it unpacks to.

    Raises:
        DataError: a file of it is missing or malformed.
    """
    if path.is_file():
        path = _unpacked(path, scratch)
    qrels = next((p for p in (path / "qrels" / f"{split}.tsv", path / "qrels.tsv") if p.is_file()), None)
    if qrels is None:
        raise DataError(f"{path}: has neither qrels/{split}.tsv nor qrels.tsv")
    return read_documents(path / "corpus.jsonl"), _questions(path / "queries.jsonl"), read_qrels(qrels)


def fetched_beir(one: DataSet) -> tuple[Iterable[Document], list[Question], Judgements]:
    """The same through ir_datasets, which keeps its downloads in a folder of its own.

    Raises:
        MissingPackageError: ir_datasets is not installed.
        DataError: it cannot be fetched.
    """
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        raise _missing("ir_datasets") from error
    try:
        found = ir_datasets.load(one.fetched.split()[1])
        questions = [Question(q.query_id, q.text, ()) for q in found.queries_iter()]
        judged: Judgements = {}
        for line in found.qrels_iter():
            if line.relevance > 0:
                judged.setdefault(line.query_id, set()).add(line.doc_id)
        next(iter(found.docs_iter()))  # fetches the corpus now, where a failure still has its name
    except Exception as error:
        raise _unreachable(one, error) from error
    documents = (
        Document(d.doc_id, d.text or getattr(d, "title", ""), getattr(d, "title", "") or "")
        for d in found.docs_iter()
    )
    return documents, questions, judged


def fetched_records(one: DataSet) -> Iterator[Any]:
    """The records of a data set on the Hugging Face hub.

    Raises:
        MissingPackageError: `datasets` is not installed.
        DataError: it cannot be fetched.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise _missing("datasets") from error
    _, name, config, split = one.fetched.split()
    try:
        found = datasets.load_dataset(name, config, split=split)
    except Exception as error:
        raise _unreachable(one, error) from error
    return iter(found)


def _questions(path: Path) -> list[Question]:
    """The questions of a BEIR data set, which names no answers; where a file does, they are taken."""
    found = []
    for line, record in json_lines(path):
        answers = strings(record, "answers", path, line) if record.get("answers") else ()
        text = string(record, "text", path, line)
        found.append(Question(identifier(record, "_id", path, line), text, answers))
    return found


def _unpacked(path: Path, scratch: Path) -> Path:
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(scratch)
    except zipfile.BadZipFile:
        raise DataError(f"{path}: not a zip file") from None
    found = next(iter(sorted(scratch.rglob("corpus.jsonl"))), None)
    if found is None:
        raise DataError(f"{path}: holds no corpus.jsonl")
    return found.parent


def _missing(package: str) -> MissingPackageError:
    return MissingPackageError(
        f"fetching data sets needs the package {package!r}: pip install 'securecollarag[data]'"
    )


def _unreachable(one: DataSet, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:160] or type(error).__name__
    return DataError(
        f"{one.name} cannot be fetched, is there a network? ({reason}); "
        f"download it elsewhere and give the file: scr data get {one.name} --from PATH"
    )
