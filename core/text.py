"""Text primitives that need no download: hashing, tokens, sentences, stop words, n-grams."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import runpy
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from core.errors import MissingPackageError

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_SPACE = re.compile(r"\s+")
_BOUNDARY = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9À-Þ])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|Fig|al|approx|Inc|Ltd|Co|Corp|Gen|Col|Lt|Sen|Rep|Gov"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|i\.e|e\.g)|\b[A-Z])\.$"
)


def content_hash(text: str) -> str:
    """Hex digest that identifies `text` (BLAKE2b, 16 bytes)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def clean(text: str) -> str:
    """`text` with control characters and lone surrogates removed, NFC, newlines kept."""
    usable = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return unicodedata.normalize("NFC", usable)


def squash(text: str) -> str:
    """`text` with every run of white space as one blank, ends trimmed."""
    return _SPACE.sub(" ", text).strip()


def words(text: str) -> list[str]:
    """Lower-cased word tokens (letters, digits, inner apostrophes)."""
    return [word.lower() for word in _WORD.findall(text)]


def first_words(text: str, n: int) -> list[str]:
    """The first `n` of `words(text)`, without reading the rest."""
    return [match.group().lower() for match in islice(_WORD.finditer(text), n)]


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """scikit-learn's 318 English stop words (NLTK's list needs a download: a stated deviation).

    Only the file with the list is run: importing scikit-learn would cost every source node 100 MB.
    """
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingPackageError("stop words need the package 'scikit-learn': pip install securecollarag")
    path = Path(package.origin).parent / "feature_extraction" / "_stop_words.py"
    return frozenset(runpy.run_path(str(path))["ENGLISH_STOP_WORDS"])


def content_words(text: str) -> list[str]:
    """`words(text)` without stop words."""
    stops = stop_words()
    return [word for word in words(text) if word not in stops]


def sentences(text: str) -> list[str]:
    """`text` cut into sentences by punctuation, abbreviations and initials respected; never empty strings."""
    found: list[str] = []
    for block in text.splitlines():
        start = 0
        for match in _BOUNDARY.finditer(block):
            piece = block[start : match.start()]
            if _ABBREVIATION.search(piece[-8:]):
                continue
            found.append(block[start : match.end()])
            start = match.end()
        found.append(block[start:])
    return [clean for clean in (squash(piece) for piece in found) if clean]


def ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """All runs of `n` consecutive tokens."""
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def jaccard(left: Iterable[object], right: Iterable[object]) -> float:
    """|A ∩ B| / |A ∪ B| of two collections as sets; 0 where both are empty."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a or b else 0.0


def normalise_answer(text: str) -> str:
    """Lower case, articles and punctuation gone, blanks squashed: the form in which answers compare."""
    return " ".join(word for word in words(text) if word not in ("a", "an", "the"))


def contains_answer(text: str, answer: str) -> bool:
    """Whether `answer` stands in `text` as whole words, case and punctuation ignored."""
    wanted = normalise_answer(answer)
    return bool(wanted) and f" {wanted} " in f" {normalise_answer(text)} "
