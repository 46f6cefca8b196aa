"""From the records of a published data set to documents, questions and judgements.

Each reader takes decoded records, whether they were fetched or read from a file, so that both ways give the
same folder. A record that lacks what its form needs is an error with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import DataError
from core.records import Document
from sim.corpora.records import Poison, Question

Record = Mapping[str, Any]
_TITLE_WORDS = 12


@dataclass(frozen=True)
class Piece:
    """What one record adds: documents, and at most one question with the ids that answer it."""

    documents: tuple[Document, ...]
    question: Question | None = None
    relevant: tuple[str, ...] = ()


def pubmedqa(records: Iterable[Record]) -> Iterator[Piece]:
    """PubMedQA: an abstract and a yes/no/maybe question a record (`ori_pqal.json` or the hub's form)."""
    for number, record in _numbered(records):
        lower = {key.lower(): value for key, value in record.items()}
        name = str(lower.get("pubid") or lower.get("id") or number)
        context = lower.get("context") or lower.get("contexts")
        parts = context.get("contexts") if isinstance(context, Mapping) else context
        text = " ".join(_strings(parts, number, "contexts"))
        question = _string(lower.get("question"), number, "question")
        decision = lower.get("final_decision")
        answers = (str(decision),) if decision else ()
        yield Piece((Document(name, text),), Question(f"q{name}", question, answers), (name,))


def triviaqa(records: Iterable[Record]) -> Iterator[Piece]:
    """TriviaQA: a question, its answer with aliases, and the pages that it was found on."""
    for number, record in _numbered(records):
        lower = {key.lower().replace("_", ""): value for key, value in record.items()}
        name = str(lower.get("questionid") or number)
        question = _string(lower.get("question"), number, "question")
        answer = {key.lower(): value for key, value in (lower.get("answer") or {}).items()}
        answers = (_string(answer.get("value"), number, "answer"), *(answer.get("aliases") or ()))
        documents = tuple(_pages(lower.get("entitypages"), name, number))
        if documents:
            asked = Question(name, question, tuple(dict.fromkeys(answers)))
            yield Piece(documents, asked, tuple(document.doc_id for document in documents))


def medinote(records: Iterable[Record]) -> Iterator[Piece]:
    """Clinical notes: `note` or `full_note` is the document, a `conversation` is left out; no questions."""
    for number, record in _numbered(records):
        text = _string(record.get("full_note") or record.get("note"), number, "note")
        name = str(record.get("idx", record.get("id", number)))
        yield Piece((Document(name, text, category=_category(record)),))


def alpaca(records: Iterable[Record]) -> Iterator[Piece]:
    """Instructions: `output` is the document, `instruction` (with `input`) the question that it answers."""
    for number, record in _numbered(records):
        text = _string(record.get("output"), number, "output")
        told = [_string(record.get("instruction"), number, "instruction"), str(record.get("input") or "")]
        question = " ".join(part.strip() for part in told if part.strip())
        name = f"d{number}"
        document = Document(name, text, category=_category(record))
        yield Piece((document,), Question(f"q{number}", question, ()), (name,))


def poisonedrag(content: Mapping[str, Any]) -> Iterator[tuple[Question, Poison]]:
    """PoisonedRAG's attack file: query id -> question, correct answer, incorrect answer and texts.

    Raises:
        DataError: an entry lacks one of them.
    """
    for name, entry in content.items():
        if not isinstance(entry, Mapping):
            raise DataError(f"entry {name!r}: must be an object")
        missing = [
            key for key in ("question", "correct answer", "incorrect answer", "adv_texts") if key not in entry
        ]
        if missing:
            raise DataError(f"entry {name!r}: key {missing[0]!r} is missing")
        query_id = str(entry.get("id", name))
        correct = entry["correct answer"]
        answers = tuple(map(str, correct)) if isinstance(correct, list) else (str(correct),)
        texts = tuple(map(str, entry["adv_texts"]))
        yield (
            Question(query_id, str(entry["question"]), answers),
            Poison(query_id, str(entry["incorrect answer"]), texts),
        )


READERS: Mapping[str, Callable[[Iterable[Record]], Iterator[Piece]]] = {
    "pubmedqa": pubmedqa,
    "triviaqa": triviaqa,
    "medinote": medinote,
    "alpaca": alpaca,
}


def _numbered(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise DataError(f"record {number}: must be an object, not {type(record).__name__}")
        yield number, record


def _string(value: Any, number: int, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"record {number}: key {key!r} is missing or empty")
    return value


def _strings(value: Any, number: int, key: str) -> list[str]:
    if not isinstance(value, list) or not value:
        raise DataError(f"record {number}: key {key!r} is missing or empty")
    return [str(part) for part in value]


def _pages(pages: Any, name: str, number: int) -> Iterator[Document]:
    """The pages of a question: a list of objects, or the hub's object of lists."""
    if isinstance(pages, Mapping):
        titles, texts = pages.get("title") or [], pages.get("wiki_context") or []
        pages = [{"Title": a, "Text": b} for a, b in zip(titles, texts, strict=True)]
    for k, page in enumerate(pages or []):
        text = page.get("Text") or page.get("wiki_context")
        if text:
            yield Document(f"{name}-{k}", str(text), str(page.get("Title", "")))
        elif "Filename" in page:
            raise DataError(
                f"record {number}: its pages are files beside it; fetch the data set, which brings the texts"
            )


def _category(record: Record) -> str | None:
    value = record.get("category") or record.get("specialty")
    return None if value is None else str(value)
