"""What a sentence states, in a form that two sentences can be compared by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from core.text import stop_words
from gnn.relations.lexicon import (
    ANTONYMS,
    CURRENCIES,
    DOWN,
    MILLIONS,
    MONTHS,
    NEGATIONS,
    NUMBER_WORDS,
    ORDER,
    SCALES,
    UNITS,
    UP,
)

TOKEN = re.compile(
    r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[%$€£]", re.UNICODE
)
_SIGNS = "$€£"
_SUFFIXES = ("ations", "ation", "ingly", "ments", "ment", "ness", "ings", "ing", "edly", "ies", "ied", "ely",
             "ers", "ed", "es", "ly", "er", "s", "e", "y")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentenceFacts:
    """The comparable content of one sentence.

    `stems`: content-word stems; `entities`: stems of capitalised words; `topic`: the other stems;
    `numbers`: (value, unit) with unit `year` for bare 1000-2199, the stem of a plural noun that follows
    where no unit is known, empty where there is neither; `negations`: count; `sign`: ups minus downs;
    `antonyms`: words that have a known opposite; `order`: (marker sign, left, right) around an order
    word; `length`: tokens.
    """

    text: str
    stems: frozenset[str]
    entities: frozenset[str]
    topic: frozenset[str]
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
    order: int


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
    number = NUMBER_WORDS.get(lower)
    order = ORDER.get(lower, 0)
    # isdecimal, not isdigit: a superscript is a digit but no number
    amount = token[0].isdecimal() or token[0] in _SIGNS or number is not None
    return _Word(
        lower=lower,
        stem=stem(lower) if keep else None,
        capital=token[0].isupper(),
        plain=not (amount or negation or sign or opposites or order),
        negation=negation,
        sign=sign,
        opposites=opposites,
        number=number,
        order=order,
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
    currency = ""
    scaled = 0  # tokens before this one belong to a number that has been read
    sequence: list[str | None] = []
    for i, token in enumerate(tokens):
        if i < scaled:
            sequence.append(None)
            continue
        word = _word(token)
        if not word.plain:
            first = token[0]
            if first.isdecimal() or word.number is not None:
                value = float(token.replace(",", "")) if word.number is None else word.number
                amount, unit, scaled = _amount(tokens, i, value, currency)
                numbers.add((amount, unit))
                currency = ""
                sequence.append(None)
                continue
            if first in _SIGNS:
                currency = first
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
    order = None
    if marker:
        left = frozenset(s for s in sequence[max(0, at - 8) : at] if s)
        right = frozenset(s for s in sequence[at + 1 : at + 9] if s)
        order = (marker, left, right)
    return SentenceFacts(
        text, frozenset(stems), frozenset(entities), frozenset(stems - entities), frozenset(numbers),
        negations, sign, frozenset(antonyms), frozenset(opposites), order, len(tokens),
    )  # fmt: skip


def _amount(tokens: list[str], i: int, value: float, currency: str) -> tuple[float, str, int]:
    """The number that begins at token `i`, its unit, and the first token that is no part of it."""
    comma = "," in tokens[i]
    following = [token.lower() for token in tokens[i + 1 : i + 5]]
    read = 0
    while following and following[0] in SCALES:
        value *= SCALES[following.pop(0)]
        read += 1
    if (
        following
        and following[0] in MILLIONS
        and (currency or (following[1:2] and following[1] in CURRENCIES))
    ):
        value *= MILLIONS[following.pop(0)]
        read += 1
    end = i + 1 + read
    if not following:
        return value, currency or _bare(value, comma), end
    known = UNITS.get(following[0]) or ("%" if following[:2] == ["per", "cent"] else currency)
    if known:
        return value, known, end
    if following[0] in MONTHS:
        return value, "day", end
    return value, _counted(tokens[end : end + 2]) or _bare(value, comma), end


def _counted(tokens: list[str]) -> str:
    """The stem of the plural noun that comes next, at most one adjective before it; else empty."""
    for token in tokens:
        if not token.islower() or token in stop_words() or not token.isalpha():
            return ""
        if len(token) > 3 and token[-1] == "s" and token[-2] not in "su":
            return stem(token)
    return ""


def _bare(value: float, comma: bool) -> str:
    """Unit of a number without one: `year` where it can be a year."""
    return "year" if not comma and value == int(value) and 1000 <= value <= 2199 else ""
