"""A folder of text, Markdown, HTML and PDF."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import DataError
from core.records import Document
from source_node.readers import READERS
from source_node.readers.base import ReadOptions
from source_node.readers.texts import html, markdown, plain, tidy

READER = READERS.get("files")()


def pdf(text: str) -> bytes:
    """A PDF of one page with one line of text."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj%b endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 6\n0000000000 65535 f \n%btrailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (
            table,
            len(out),
        )
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ward").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.txt").write_text("no")
    (tmp_path / "image.png").write_bytes(b"no")
    (tmp_path / "a.txt").write_text("Plain  text.\r\nSecond line.")
    (tmp_path / "ward" / "b.md").write_text("Intro\n\n# The title #\n\nBody.")
    page = "<html><head><title>Page</title><script>no()</script></head><body><p>One<p>Two &amp; three"
    (tmp_path / "ward" / "c.HTML").write_text(page + "<!-- no --><style>no</style></body>")
    (tmp_path / "ward" / "d.pdf").write_bytes(pdf("Text of a page"))
    return tmp_path


def test_every_known_file_is_a_document(folder: Path, caplog) -> None:
    options = ReadOptions(category_field="folder")
    assert READER.count(folder, options) == 4
    assert list(READER.read(folder, options)) == [
        Document("a.txt", "Plain text.\nSecond line.", "a"),
        Document("ward/b.md", "Intro\n\n# The title #\n\nBody.", "The title", "ward"),
        Document("ward/c.HTML", "One\nTwo & three", "Page", "ward"),
        Document("ward/d.pdf", "Text of a page", "d", "ward"),
    ]
    assert "1 files of other kinds" in caplog.text


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("x.pdf", b"%PDF-1.4 broken", "damaged PDF"),
        ("x.pdf", pdf(""), "without a text layer"),
        ("x.txt", b"\xff\x01\xfa", "byte 1 is not utf-8"),
        ("x.html", b"<p> </p>", "text is empty"),
    ],
)
def test_a_bad_file_is_named_or_left_out(folder: Path, name: str, data: bytes, problem: str) -> None:
    (folder / name).write_bytes(data)
    with pytest.raises(DataError, match=rf"{name}: .*{problem}"):
        list(READER.read(folder, ReadOptions()))
    options = ReadOptions(skip_bad=True)
    assert len(list(READER.read(folder, options))) == 4
    assert options.skipped == 1


def test_no_files_and_other_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no files here that end in"):
        list(READER.read(tmp_path, ReadOptions()))
    (tmp_path / "x.doc").touch()
    with pytest.raises(DataError, match=r"not one of \.txt"):
        list(READER.read(tmp_path / "x.doc", ReadOptions()))


def test_a_long_text_needs_chunks(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("word " * 60_000)
    with pytest.raises(DataError, match="more than 262144; cut it with --chunk-words"):
        list(READER.read(tmp_path, ReadOptions()))


def test_extracting() -> None:
    assert markdown(b"Title\n=====\ntext")[0] == "Title"
    assert markdown(b"no title")[0] == ""
    assert plain("é".encode("utf-16"))[1] == "é"
    assert html(b"<h1>Head</h1><table><tr><td>a</td><td>b</td></tr></table>")[0] == "Head"
    assert tidy(" a \t b \n\n\n\n c\x00 ") == "a b\n\nc"
