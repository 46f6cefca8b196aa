from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import DataError
from sim.corpora.folder import read_documents, read_folder, read_poisons, read_qrels, read_questions

CORPUS = [
    {"_id": "d1", "title": "T", "text": "One.", "category": "x", "extra": [1]},
    {"_id": "d2", "text": "Two."},
    {"_id": "d3", "title": "Only a title", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "one?", "answers": ["1", "one"], "target": True},
    {"_id": "q2", "text": "two?", "answers": ["2"]},
]
POISON = [
    {"query_id": "q1", "target_answer": "9", "texts": ["a", "b"], "attack": "poisonedrag"},
    {"query_id": "q1", "target_answer": " 9", "texts": ["b", "c"]},
    {"query_id": "elsewhere", "target_answer": "9", "texts": ["z"]},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td2\t2\nother\td1\t1\n"


def lines(records: list[dict[str, object]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "tiny"
    home.mkdir()
    (home / "corpus.jsonl").write_text(lines(CORPUS))
    (home / "queries.jsonl").write_text(lines(QUERIES))
    (home / "qrels.tsv").write_text(QRELS)
    (home / "poison.jsonl").write_text(lines(POISON))
    return home


def test_a_whole_folder(folder: Path) -> None:
    read = read_folder(folder)
    assert read.name == "tiny"
    assert not read.synthetic
    assert [(d.doc_id, d.text, d.title, d.category) for d in read.documents] == [
        ("d1", "One.", "T", "x"),
        ("d2", "Two.", "", None),
        ("d3", "Only a title", "Only a title", None),
    ]
    assert read.questions[0].answers == ("1", "one")
    assert read.qrels == {"q1": {"d1"}, "q2": {"d2"}}
    assert read.poisons["q1"].texts == ("a", "b", "c")
    assert set(read.poisons) == {"q1"}
    assert read.notes == ()


def test_questions_judgements_and_poisons_from_elsewhere(folder: Path, tmp_path: Path) -> None:
    queries, qrels, poison = (tmp_path / name for name in ("q.jsonl", "r.tsv", "p.jsonl"))
    queries.write_text(lines([{"_id": "n", "text": "new?", "answers": ["a"]}]))
    qrels.write_text("n\td3\t1\nn\tgone\t1\n")
    poison.write_text(lines([{"query_id": "n", "target_answer": "b", "texts": ["t"]}]))
    read = read_folder(folder, queries, qrels, poison)
    assert [q.query_id for q in read.questions] == ["n"]
    assert read.qrels == {"n": {"d3"}}
    assert read.poisons["n"].target_answer == "b"
    assert "1 judgements name documents that the corpus lacks" in read.notes[0]


def test_a_poison_file_without_any_loaded_question_is_noted(folder: Path, tmp_path: Path) -> None:
    poison = tmp_path / "p.jsonl"
    poison.write_text(lines([{"query_id": "n", "target_answer": "b", "texts": ["t"]}]))
    assert "no record belongs to a loaded question" in read_folder(folder, poison=poison).notes[0]


def test_poison_is_optional_and_qrels_may_lie_in_a_folder(folder: Path) -> None:
    (folder / "poison.jsonl").unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    read = read_folder(folder)
    assert read.poisons == {}
    assert read.qrels["q1"] == {"d1"}


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_missing_files_are_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"{name}: no such file"):
        read_folder(folder)


def test_a_missing_folder_and_a_missing_poison_file(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: no such folder; a data set holds"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"p\.jsonl: no such file"):
        read_folder(folder, poison=tmp_path / "p.jsonl")


@pytest.mark.parametrize(
    ("read", "record", "problem"),
    [
        (read_documents, {"_id": "a"}, "'text' is missing"),
        (read_documents, {"_id": "a", "text": " "}, "'text' is empty"),
        (read_documents, {"text": "t"}, "'_id' is missing"),
        (read_documents, {"_id": 3, "text": "t"}, "'_id' must be a string, not int"),
        (read_documents, {"_id": "a", "text": "x" * 262_145}, "has 262145 bytes, at most 262144"),
        (read_documents, {"_id": "d1", "text": "t"}, "'d1' stands on line 1 already"),
        (read_questions, {"_id": "a", "text": "t?"}, "no 'answers'"),
        (read_questions, {"_id": "a", "text": "t?", "answers": []}, "no 'answers'"),
        (read_questions, {"_id": "a", "text": "t?", "answers": "yes"}, "must be a list of strings"),
        (read_questions, {"_id": "q1", "text": "t?", "answers": ["a"]}, "'q1' stands on line 1 already"),
        (read_questions, {"_id": "a", "answers": ["a"]}, "'text' is missing"),
        (
            read_poisons,
            {"query_id": "q1", "target_answer": "8", "texts": ["t"]},
            "differs from '9' on line 1",
        ),
        (read_poisons, {"query_id": "q9", "target_answer": "8", "texts": []}, "no 'texts'"),
        (read_poisons, {"query_id": "q9", "texts": ["t"]}, "'target_answer' is missing"),
    ],
)
def test_malformed_records_name_file_and_line(
    tmp_path: Path, read: Callable[[Path], object], record: dict[str, object], problem: str
) -> None:
    first = {read_documents: CORPUS[0], read_questions: QUERIES[0], read_poisons: POISON[0]}[read]
    path = tmp_path / "data.jsonl"
    path.write_text(lines([first, record]))
    with pytest.raises(DataError) as raised:
        read(path)
    message = str(raised.value)
    assert message.startswith(f"{path}:2: ")
    assert problem in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("read", "problem"), [(read_documents, "the corpus is empty"), (read_questions, "no questions")]
)
def test_empty_files(tmp_path: Path, read: Callable[[Path], object], problem: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n\n")
    with pytest.raises(DataError, match=problem):
        read(path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("q1 d1 1", "needs 3 columns .* has 1"),
        ("q1\td1", "has 2"),
        ("q1\td1\tyes", "score must be a number"),
        ("q1\td1\t", "score must be a number"),
        ("\td1\t1", "must have 1 to 256 bytes"),
    ],
)
def test_malformed_qrels_name_file_and_line(tmp_path: Path, row: str, problem: str) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(f"q0\td0\t1\n{row}\n")
    with pytest.raises(DataError, match=f"qrels.tsv:2: .*{problem}"):
        read_qrels(path)


def test_the_header_of_qrels_is_optional(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("q0\td0\t1\n")
    assert read_qrels(path) == {"q0": {"d0"}}
    path.write_text("query-id\tcorpus-id\tscore\nq0\td0\t1\nq0\td1\t0.5\n")
    assert read_qrels(path) == {"q0": {"d0", "d1"}}
