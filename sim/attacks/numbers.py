"""Finding numbers in text, their values, and other numbers in the same format."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

NUMBER = re.compile(
    r"(?<![\w.,\-–/])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w/]|,\d|\.\d|-\w)"
    r"|(?<![\w.,/])(?<![A-Za-z][-–])(?<![A-Za-z]\d-)(?<![A-Za-z]\d\d-)\d+(?:\.\d+)?(?![\w/]|,\d|\.\d|-[A-Z])"
)
NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
WORDS_OF = {value: word for word, value in NUMBER_WORDS.items()}
_ORDINAL = re.compile(r"(?<![\w.,])(\d{1,3})(st|nd|rd|th)\b")
_WORD = re.compile(r"\b(?:" + "|".join(NUMBER_WORDS) + r")\b", re.IGNORECASE)
_YEARS = range(1000, 2101)
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?\s$"
)
_MONTH_AFTER = re.compile(
    r"\s(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_FACTORS = (0.25, 0.4, 0.5, 0.6, 0.7, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number at `start:end` of a text, and whether it reads as a year, an ordinal or a word."""

    start: int
    end: int
    text: str
    kind: str


def figures(text: str) -> list[Figure]:
    """Numbers of `text` in order: `year`, `day`, `plain`, `ordinal` and `word` (two to ninety)."""
    found: list[Figure] = []
    for match in NUMBER.finditer(text):
        token = match.group()
        kind = "plain"
        if (
            len(token) == 4
            and token.isdigit()
            and int(token) in _YEARS
            and not text[match.end() :].startswith("%")
        ):
            kind = "year"
        elif token.isdigit() and int(token) <= 31 and _beside_month(text, match.start(), match.end()):
            kind = "day"
        found.append(Figure(match.start(), match.end(), token, kind))
    found.extend(Figure(m.start(), m.end(), m.group(), "ordinal") for m in _ORDINAL.finditer(text))
    found.extend(Figure(m.start(), m.end(), m.group(), "word") for m in _WORD.finditer(text))
    return sorted(found, key=lambda figure: figure.start)


def other_number(figure: Figure, text: str, rng: np.random.Generator) -> str:
    """A different number for `figure`, of the same kind and format (decimals, commas, case kept)."""
    if figure.kind == "year":
        return _other_year(int(figure.text), rng)
    if figure.kind == "day":
        return str(_different(int(figure.text), range(1, 29), rng))
    if figure.kind == "ordinal":
        value = int(_ORDINAL.match(figure.text).group(1))  # type: ignore[union-attr]
        other = _near(value, rng)
        return f"{other}{_suffix(other)}"
    if figure.kind == "word":
        return _other_word(figure.text, rng)
    percent = text[figure.end :].lstrip().startswith(("%", "percent", "per cent"))
    return _other_plain(figure.text, percent, rng)


def perturb_numbers(text: str, rng: np.random.Generator) -> str:
    """`text` with every number replaced by another one."""
    parts: list[str] = []
    position = 0
    for figure in figures(text):
        parts += [text[position : figure.start], other_number(figure, text, rng)]
        position = figure.end
    return "".join([*parts, text[position:]])


def value_of(token: str) -> float:
    """The value of a number as this module finds it (`1,000`, `3.5`, `19th`, `seven`)."""
    lowered = token.lower()
    if lowered in NUMBER_WORDS:
        return float(NUMBER_WORDS[lowered])
    return float(re.sub(r"[^\d.]", "", token))


def _beside_month(text: str, start: int, end: int) -> bool:
    return bool(_MONTH.search(text[max(0, start - 11) : start]) or _MONTH_AFTER.match(text[end : end + 11]))


def _other_year(year: int, rng: np.random.Generator) -> str:
    steps = [step for step in (*range(-24, -1), *range(2, 25)) if year + step <= max(year, 2024)]
    return str(year + int(rng.choice(steps)))


def _other_word(word: str, rng: np.random.Generator) -> str:
    value = NUMBER_WORDS[word.lower()]
    pool = list(range(2, 21)) if value <= 20 else list(range(20, 100, 10))
    near = [n for n in pool if n != value and abs(n - value) <= max(4, value // 2)]
    other = WORDS_OF[int(rng.choice(near))]
    return other.capitalize() if word[0].isupper() else other


def _other_plain(token: str, percent: bool, rng: np.random.Generator) -> str:
    bare = token.replace(",", "")
    decimals = len(bare.partition(".")[2])
    value = float(bare)
    if not decimals and value <= 12:
        return str(_near(int(value), rng))
    for index in rng.permutation(len(_FACTORS)):
        other = value * _FACTORS[int(index)] if value else float(rng.integers(1, 9))
        if percent and value <= 100 < other:
            continue
        written = f"{other:,.{decimals}f}" if "," in token else f"{other:.{decimals}f}"
        same_look = len(written) == len(token) or abs(len(written) - len(token)) == 1
        if written != token and same_look and float(written.replace(",", "")) > 0:
            return written
    step = 10.0**-decimals
    return f"{value + 3 * step:,.{decimals}f}" if "," in token else f"{value + 3 * step:.{decimals}f}"


def _near(value: int, rng: np.random.Generator) -> int:
    return _different(value, range(max(1, value - 4), value + 6), rng)


def _different(value: int, pool: range, rng: np.random.Generator) -> int:
    return int(rng.choice([n for n in pool if n != value]))


def _suffix(value: int) -> str:
    if 10 <= value % 100 <= 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
