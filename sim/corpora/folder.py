"""Reads a BEIR-style folder; an error names file and line and says what would be right.

`corpus.jsonl` {_id, title?, text, category?}, `queries.jsonl` {_id, text, answers}, `qrels.tsv`
(query-id, corpus-id, score; header optional; `qrels/test.tsv` is found too) and, where there is one,
`poison.jsonl` {query_id, target_answer, texts}. Further keys are ignored.
"""

from __future__ import annotations

from pathlib import Path

from core.bounds import MAX_TEXT_BYTES
from core.errors import DataError
from core.records import Document
from sim.corpora.lines import MAX_ID_BYTES, identifier, json_lines, string, strings, text_lines
from sim.corpora.records import Corpus, Poison, Question

_HEADER = ("query-id", "query_id", "qid")


def read_folder(
    folder: Path,
    queries_file: Path | None = None,
    qrels: Path | None = None,
    poison: Path | None = None,
) -> Corpus:
    """The data set in `folder`, with questions, judgements or poisons from elsewhere where given.

    Judgements and poisons of questions that were not loaded are ignored (a poison file may cover
    several splits); judgements of documents that the corpus lacks are left out and noted.

    Raises:
        DataError: a file is missing, malformed, empty, or has an id twice.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: no such folder; a data set holds corpus.jsonl, queries.jsonl and qrels.tsv"
        )
    documents = read_documents(folder / "corpus.jsonl")
    questions = read_questions(queries_file or folder / "queries.jsonl")
    known = {question.query_id for question in questions}
    notes: list[str] = []
    judged_path = qrels or _first_existing(folder / "qrels.tsv", folder / "qrels" / "test.tsv")
    judged = {query: ids for query, ids in read_qrels(judged_path).items() if query in known}
    present = {document.doc_id for document in documents}
    lost = sum(len(ids - present) for ids in judged.values())
    if lost:
        notes.append(f"{judged_path}: {lost} judgements name documents that the corpus lacks; left out")
    judged = {query: ids & present for query, ids in judged.items() if ids & present}
    poison_path = poison or folder / "poison.jsonl"
    poisons = read_poisons(poison_path) if poison is not None or poison_path.is_file() else {}
    poisons = {query: record for query, record in poisons.items() if query in known}
    if poison is not None and not poisons:
        notes.append(f"{poison}: no record belongs to a loaded question")
    return Corpus(folder.resolve().name, documents, questions, judged, poisons, notes=tuple(notes))


def read_documents(path: Path) -> list[Document]:
    """The documents of a `corpus.jsonl`; a document with a title and no text has its title as text.

    Raises:
        DataError: missing, malformed or empty file, an id twice, a text too large for the wire.
    """
    documents: list[Document] = []
    lines: dict[str, int] = {}
    for line, record in json_lines(path):
        doc_id = identifier(record, "_id", path, line)
        _once(lines, doc_id, path, line)
        title = string(record, "title", path, line, required=False)
        text = string(record, "text", path, line, required=not title.strip())
        text = text if text.strip() else title
        size = len(text.encode("utf-8"))
        if size > MAX_TEXT_BYTES:
            raise DataError.at(
                path, line, f"'text' has {size} bytes, at most {MAX_TEXT_BYTES} travel: split the document"
            )
        category = string(record, "category", path, line, required=False)
        documents.append(Document(doc_id, text, title, category or None))
    if not documents:
        raise DataError(f"{path}: the corpus is empty; one JSON object a line with _id and text is needed")
    return documents


def read_questions(path: Path) -> list[Question]:
    """The questions of a `queries.jsonl`.

    Raises:
        DataError: missing, malformed or empty file, an id twice, a question without answers.
    """
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for line, record in json_lines(path):
        query_id = identifier(record, "_id", path, line)
        _once(lines, query_id, path, line)
        text = string(record, "text", path, line)
        questions.append(Question(query_id, text, strings(record, "answers", path, line)))
    if not questions:
        raise DataError(f"{path}: no questions; one JSON object a line with _id, text and answers is needed")
    return questions


def read_qrels(path: Path) -> dict[str, set[str]]:
    """Query id to relevant document ids (score above 0).

    Raises:
        DataError: missing file, or a line that is not `query-id TAB corpus-id TAB score`.
    """
    judged: dict[str, set[str]] = {}
    for line, row in text_lines(path):
        cells = row.split("\t")
        if line == 1 and cells[0].strip().lower() in _HEADER:
            continue
        if len(cells) != 3:
            raise DataError.at(
                path, line, f"needs 3 columns (query-id, corpus-id, score) parted by tabs, has {len(cells)}"
            )
        query, doc_id, score = (cell.strip() for cell in cells)
        if not query or not doc_id or max(len(query.encode()), len(doc_id.encode())) > MAX_ID_BYTES:
            raise DataError.at(path, line, f"query-id and corpus-id must have 1 to {MAX_ID_BYTES} bytes")
        try:
            relevant = float(score) > 0
        except ValueError:
            raise DataError.at(path, line, f"score must be a number, not {score!r:.40}") from None
        if relevant:
            judged.setdefault(query, set()).add(doc_id)
    return judged


def read_poisons(path: Path) -> dict[str, Poison]:
    """The poison records of a `poison.jsonl`; those of one query are merged, doubles removed.

    Raises:
        DataError: missing or malformed file, or two records of a query that name different targets.
    """
    merged: dict[str, Poison] = {}
    lines: dict[str, int] = {}
    for line, record in json_lines(path):
        query_id = identifier(record, "query_id", path, line)
        target = string(record, "target_answer", path, line)
        texts = strings(record, "texts", path, line)
        earlier = merged.get(query_id)
        if earlier is None:
            merged[query_id] = Poison(query_id, target, texts)
            lines[query_id] = line
            continue
        if earlier.target_answer.strip().casefold() != target.strip().casefold():
            raise DataError.at(
                path,
                line,
                f"target_answer {target!r:.40} of query {query_id!r:.40} differs from "
                f"{earlier.target_answer!r:.40} on line {lines[query_id]}",
            )
        together = tuple(dict.fromkeys((*earlier.texts, *texts)))
        merged[query_id] = Poison(query_id, earlier.target_answer, together)
    return merged


def _once(lines: dict[str, int], name: str, path: Path, line: int) -> None:
    if name in lines:
        raise DataError.at(path, line, f"_id {name!r:.60} stands on line {lines[name]} already")
    lines[name] = line


def _first_existing(*paths: Path) -> Path:
    return next((path for path in paths if path.is_file()), paths[0])
