"""What a sentence states, in a form that two sentences can be compared by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from core.text import stop_words
from gnn.relations.lexicon import ANTONYMS, DOWN, MONTHS, NEGATIONS, NUMBER_WORDS, ORDER, SCALES, UNITS, UP

TOKEN = re.compile(
    r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[%$€£]", re.UNICODE
)
_CURRENCIES = "$€£"
_SUFFIXES = ("ations", "ation", "ingly", "ments", "ment", "ness", "ings", "ing", "edly", "ies", "ied", "ely",
             "ers", "ed", "es", "ly", "er", "s", "e", "y")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentenceFacts:
    """The comparable content of one sentence.

    `stems`: content-word stems; `entities`: stems of capitalised words; `numbers`: (value, unit)
    with unit `year` for bare 1000-2199, empty where none; `negations`: count; `sign`: ups minus
    downs; `antonyms`: words that have a known opposite; `order`: (marker sign, left, right) around
    an order word; `length`: tokens.
    """

    text: str
    stems: frozenset[str]
    entities: frozenset[str]
    numbers: frozenset[tuple[float, str]]
    negations: int
    sign: int
    antonyms: frozenset[str]
    opposites: frozenset[str]
    order: tuple[int, frozenset[str], frozenset[str]] | None
    length: int


class _Word(NamedTuple):
    """What one token contributes; `plain` where that is no more than its stem."""

    lower: str
    stem: str | None
    capital: bool
    plain: bool
    negation: bool
    sign: int
    opposites: frozenset[str]
    number: float | None
    unit: str | None
    scale: float | None
    order: int
    month: bool


@lru_cache(maxsize=500_000)
def stem(word: str) -> str:
    """A light suffix stripper: enough to match inflections, cheap enough for every word."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


@lru_cache(maxsize=500_000)
def _word(token: str) -> _Word:
    lower = token.lower()
    negation = lower in NEGATIONS or lower.endswith(("n't", "n’t"))
    keep = lower not in stop_words() and len(lower) > 1
    sign = (lower in UP) - (lower in DOWN)
    opposites = ANTONYMS.get(lower, frozenset())
    special = (NUMBER_WORDS.get(lower), UNITS.get(lower), SCALES.get(lower))
    order = ORDER.get(lower, 0)
    # isdecimal, not isdigit: a superscript is a digit but no number
    amount = token[0].isdecimal() or token[0] in _CURRENCIES or any(v is not None for v in special)
    return _Word(
        lower=lower,
        stem=stem(lower) if keep else None,
        capital=token[0].isupper(),
        plain=not (amount or negation or sign or opposites or order),
        negation=negation,
        sign=sign,
        opposites=opposites,
        number=special[0],
        unit=special[1],
        scale=special[2],
        order=order,
        month=lower in MONTHS,
    )


def sentence_facts(text: str) -> SentenceFacts:
    """The facts of one sentence; pure, so callers cache it by content."""
    tokens = TOKEN.findall(text)
    stems: set[str] = set()
    entities: set[str] = set()
    numbers: set[tuple[float, str]] = set()
    antonyms: set[str] = set()
    opposites: set[str] = set()
    negations = sign = marker = 0
    at = -1
    pending: float | None = None
    currency = ""
    sequence: list[str | None] = []
    for i, token in enumerate(tokens):
        word = _word(token)
        if not (word.plain and pending is None):
            first = token[0]
            if first.isdecimal():
                if pending is not None:
                    numbers.add((pending, currency or _bare(pending)))
                pending = float(token.replace(",", ""))
                sequence.append(None)
                continue
            if word.scale is not None and pending is not None:
                pending *= word.scale
                sequence.append(None)
                continue
            if pending is not None:
                unit = word.unit or currency
                if unit or not word.month:
                    numbers.add((pending, unit or _bare(pending)))
                else:
                    numbers.add((pending, "day"))
                pending, currency = None, ""
            elif first in _CURRENCIES:
                currency = first
            if word.number is not None:
                if (i + 1 < len(tokens) and tokens[i + 1].lower() in SCALES) or tokens[i + 1 : i + 2] == [
                    "%"
                ]:
                    pending = word.number
                else:
                    follower = _word(tokens[i + 1]).unit if i + 1 < len(tokens) else None
                    numbers.add((word.number, follower or ""))
                sequence.append(None)
                continue
            negations += word.negation
            sign += word.sign
            if word.opposites:
                antonyms.add(word.lower)
                opposites |= word.opposites
            if word.order and marker == 0:
                marker, at = word.order, i
        if word.stem is not None:
            stems.add(word.stem)
            # a capital opens every sentence: the first word counts only as part of a longer name
            if word.capital and (i > 0 or (len(tokens) > 1 and tokens[1][:1].isupper())):
                entities.add(word.stem)
        sequence.append(word.stem)
    if pending is not None:
        numbers.add((pending, currency or _bare(pending)))
    order = None
    if marker:
        left = frozenset(s for s in sequence[max(0, at - 8) : at] if s)
        right = frozenset(s for s in sequence[at + 1 : at + 9] if s)
        order = (marker, left, right)
    return SentenceFacts(
        text, frozenset(stems), frozenset(entities), frozenset(numbers), negations, sign,
        frozenset(antonyms), frozenset(opposites), order, len(tokens),
    )  # fmt: skip


def _bare(value: float) -> str:
    """Unit of a number without one: `year` where it can be a year."""
    return "year" if value == int(value) and 1000 <= value <= 2199 else ""
