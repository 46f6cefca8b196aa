"""Plain text and a title out of text, Markdown, HTML and PDF bytes."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable

from core.errors import MissingPackageError, WireError
from core.text import clean

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$")
_SETEXT = re.compile(r"\s{0,3}(=+|-+)\s*$")
_BLANKS = re.compile(r"[ \t\xa0]+")
_GAPS = re.compile(r"\n{3,}")
_HIDDEN = ("title", "script", "style", "noscript", "template", "head", "svg")
_BLOCKS = (
    "address article aside blockquote dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section table tr ul br"
).split()

Extracted = tuple[str, str]
"""(title, text); the title is empty where the document has none of its own."""


def plain(data: bytes) -> Extracted:
    """UTF-8 text as it stands (a byte order mark of UTF-8 or UTF-16 is honoured)."""
    return "", tidy(decoded(data))


def markdown(data: bytes) -> Extracted:
    """Markdown as it stands: it reads as text; the first heading is the title."""
    text = decoded(data)
    title, lines = "", text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        found = _HEADING.match(line)
        if found or (line.strip() and _SETEXT.match(below)):
            title = found.group(1) if found else line.strip()
            break
    return title, tidy(text)


def html(data: bytes) -> Extracted:
    """What a reader would see: no scripts, styles or head; blocks end lines.

    Raises:
        MissingPackageError: beautifulsoup4 is not installed.
    """
    try:
        from bs4 import BeautifulSoup, Comment
    except ModuleNotFoundError:
        raise MissingPackageError(
            "HTML needs the package 'beautifulsoup4': pip install 'securecollarag[ingest]'"
        ) from None
    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text() if soup.title else ""
    if not title and (heading := soup.find("h1")):
        title = heading.get_text()
    for tag in soup(list(_HIDDEN)):
        tag.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup(_BLOCKS):
        tag.insert_before("\n")
        tag.insert_after("\n")
    return title, tidy(soup.get_text())


def pdf(data: bytes) -> Extracted:
    """The text layer of all pages.

    Raises:
        MissingPackageError: pypdf is not installed.
        WireError: damaged, encrypted, or scanned without a text layer.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError:
        raise MissingPackageError(
            "PDF needs the package 'pypdf': pip install 'securecollarag[ingest]'"
        ) from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # its remarks on sloppy files are for no operator
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise WireError("encrypted PDF: remove its password first")
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata and reader.metadata.title) or "")
    except WireError:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise WireError(f"damaged PDF ({type(error).__name__})") from None
    text = tidy("\n\n".join(pages))
    if not text:
        raise WireError("PDF without a text layer (a scan?): recognise its text first")
    return title, text


EXTRACTORS: dict[str, Callable[[bytes], Extracted]] = {
    ".txt": plain,
    ".md": markdown,
    ".markdown": markdown,
    ".html": html,
    ".htm": html,
    ".pdf": pdf,
}
MEDIA_TYPES: dict[str, Callable[[bytes], Extracted]] = {
    "text/plain": plain,
    "text/markdown": markdown,
    "text/html": html,
    "application/xhtml+xml": html,
    "application/pdf": pdf,
}


def decoded(data: bytes, charset: str = "utf-8") -> str:
    """`data` as text; a byte order mark wins over `charset`.

    Raises:
        WireError: it is not in that encoding.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        charset = "utf-16"
    elif data[:3] == b"\xef\xbb\xbf":
        charset = "utf-8-sig"
    try:
        return data.decode(charset)
    except LookupError:
        raise WireError(f"unknown encoding {charset[:40]!r}") from None
    except UnicodeDecodeError as error:
        raise WireError(f"byte {error.start + 1} is not {charset}") from None


def tidy(text: str) -> str:
    """`text` without control characters, trailing blanks, runs of blanks, and more than one empty line."""
    normal = clean(text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n"))
    lines = (_BLANKS.sub(" ", line).strip() for line in normal.splitlines())
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()
