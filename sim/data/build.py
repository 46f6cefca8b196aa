"""Writes a data set as the project's folder: corpus.jsonl, queries.jsonl, qrels.tsv, poison.jsonl."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from core.errors import ConfigError, DataError
from core.records import Document
from core.text import clean, sentences
from sim.corpora.records import Poison, Question
from sim.data.catalogue import DataSet
from sim.data.fetch import Judgements, fetched_beir, fetched_records, local_beir, local_records
from sim.data.readers import READERS, poisonedrag


@dataclass(frozen=True)
class Written:
    """How much a folder holds; `borrowed` questions have a relevant document's first sentence as answer."""

    documents: int
    questions: int
    poisons: int
    borrowed: int


def build(
    one: DataSet,
    out: Path,
    *,
    source: Path | None = None,
    attack: Path | None = None,
    documents: int | None = None,
    queries: int | None = None,
    split: str = "test",
) -> Written:
    """Make the folder `out`.

    A question needs an answer to be scored by. Where the data set names none, the first sentence of a
    relevant document stands for it: it is right to have read that document.

    Args:
        source: file or folder of one's own; None fetches.
        attack: PoisonedRAG's attack file: its questions' answers and poisons go in.
        documents: most documents; those that answer a kept question always come in.
        queries: most questions, those with a poison first.
        split: of the judgements of a BEIR data set.

    Raises:
        ConfigError: `out` holds files already, or the data set is read from a path only.
        DataError: the data cannot be fetched or read.
    """
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"--out {out}: is not empty")
    if source is None and not one.fetched:
        raise ConfigError(f"{one.name} is read from a file of your own: give --from PATH")
    attacks = read_attack(attack) if attack is not None else {}
    with tempfile.TemporaryDirectory() as scratch:
        found = _beir(one, source, split, Path(scratch)) if one.form == "beir" else _pieces(one, source)
        corpus, questions, judged = found
        known = [_answered(question, attacks) for question in questions]
        chosen = sorted(known, key=lambda question: question.query_id not in attacks)[:queries]
        return _write(out, corpus, chosen, judged, attacks, documents)


def read_attack(path: Path) -> dict[str, tuple[Question, Poison]]:
    """PoisonedRAG's attack file by query id.

    Raises:
        DataError: the file is missing or of another form.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error})") from None
    if not isinstance(content, Mapping):
        raise DataError(f"{path}: must be an object of query id -> entry")
    try:
        return {question.query_id: (question, poison) for question, poison in poisonedrag(content)}
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _beir(
    one: DataSet, source: Path | None, split: str, scratch: Path
) -> tuple[Iterable[Document], list[Question], Judgements]:
    documents, questions, judged = fetched_beir(one) if source is None else local_beir(source, split, scratch)
    return documents, [question for question in questions if question.query_id in judged], judged


def _pieces(one: DataSet, source: Path | None) -> tuple[list[Document], list[Question], Judgements]:
    records = fetched_records(one) if source is None else local_records(source)
    documents: dict[str, Document] = {}
    questions: list[Question] = []
    judged: Judgements = {}
    try:
        for piece in READERS[one.form](records):
            documents.update({document.doc_id: document for document in piece.documents})
            if piece.question is not None:
                questions.append(piece.question)
                judged[piece.question.query_id] = set(piece.relevant)
    except DataError as error:
        raise DataError(f"{source or one.name}: {error}") from None
    return list(documents.values()), questions, judged


def _answered(question: Question, attacks: Mapping[str, tuple[Question, Poison]]) -> Question:
    if question.answers or question.query_id not in attacks:
        return question
    return replace(question, answers=attacks[question.query_id][0].answers)


def _write(
    out: Path,
    corpus: Iterable[Document],
    questions: list[Question],
    judged: Judgements,
    attacks: Mapping[str, tuple[Question, Poison]],
    most: int | None,
) -> Written:
    needed = {name for question in questions for name in judged.get(question.query_id, ())}
    room = None if most is None else max(0, most - len(needed))
    out.mkdir(parents=True, exist_ok=True)
    written: set[str] = set()
    first: dict[str, str] = {}  # sentence of a relevant document
    with _lines(out / "corpus.jsonl") as file:
        for document in corpus:
            if document.doc_id not in needed:
                if room == 0:
                    continue
                room = None if room is None else room - 1
            if document.text.strip() and document.doc_id not in written:
                written.add(document.doc_id)
                if document.doc_id in needed:
                    first[document.doc_id] = next(iter(sentences(clean(document.text))), "")
                _line(file, _document(document))
    if not written:
        raise DataError("the data set holds no document")
    borrowed = 0
    with _lines(out / "queries.jsonl") as file:
        for question in questions:
            answers = [answer for answer in question.answers if answer.strip()]
            if not answers:
                relevant = sorted(judged.get(question.query_id, ()))
                answers = [first[name] for name in relevant if first.get(name)][:1]
                borrowed += 1
            if answers:
                _line(file, {"_id": question.query_id, "text": question.text, "answers": answers})
    with _lines(out / "qrels.tsv") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for question in questions:
            for name in sorted(judged.get(question.query_id, set()) & written):
                file.write(f"{question.query_id}\t{name}\t1\n")
    poisons = [attacks[question.query_id][1] for question in questions if question.query_id in attacks]
    if poisons:
        with _lines(out / "poison.jsonl") as file:
            for one in poisons:
                texts = list(one.texts)
                _line(file, {"query_id": one.query_id, "target_answer": one.target_answer, "texts": texts})
    return Written(len(written), len(questions), len(poisons), borrowed)


def _document(document: Document) -> dict[str, Any]:
    found = {"_id": document.doc_id, "title": clean(document.title), "text": clean(document.text)}
    return found if document.category is None else {**found, "category": document.category}


def _lines(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def _line(file: IO[str], record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
