"""A small paraphraser: the same statements in other words, for copies that are not copies.

Sentences change places where nothing refers back, neutral lead-ins come in, parentheses and trailing
clauses without figures go, words and connectives give way to synonyms, numbers change their format.
What is said stays: every number keeps its value, no negation comes or goes.
"""

from __future__ import annotations

import re

import numpy as np

from core.seeding import generator
from core.synonyms import PHRASES, WORDS
from core.text import content_hash, sentences
from sim.attacks.numbers import NUMBER_WORDS, WORDS_OF, Figure, figures

_LEAD_INS = (
    "Notably, ", "In fact, ", "As is known, ", "According to this account, ", "For reference, ",
    "As noted elsewhere, ", "It should be added that ", "To give the details, ",
)  # fmt: skip
_LOWERED = frozenset(
    """The A An In On At It This These There They He She We After Before During From With By For As Its
    His Her Their Most Many Some All Each Both Several When If Although While Since To Other Others More Less
    Certain Half Any Few Such One Two Three Our Your These Those Additional About Approximately""".split()
)
_REFERS = re.compile(
    r"^(?:he|she|it|they|his|her|its|their|this|these|that|those|such|however|therefore|thus|hence|but|and|or"
    r"|also|then|so|instead|moreover|furthermore|additionally|meanwhile|nevertheless|consequently|similarly"
    r"|otherwise|another|other|both|in addition|in contrast|as a result|for example|for instance|later"
    r"|afterwards|subsequently|finally|conversely|the (?:former|latter|same|other|second|following)"
    r"|-|\(|\d)\b",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"\s\([^()]{2,80}\)(?=[\s,.;:])")
_CLAUSE = re.compile(r",\s(?:which|including|such as|along with|as well as)\s[^,.;:()]{8,120}(?=[.!?]$)")
_HOLDS_FACT = re.compile(r"\d|\b(?:not|no|never|none|without|except|unless|only)\b|n['’]t\b", re.IGNORECASE)
_NUMBER_WORD = re.compile(r"\b(?:" + "|".join(NUMBER_WORDS) + r")\b", re.IGNORECASE)
_TOKEN = re.compile(r"(?<![\w'’-])[A-Za-z]+(?:-[a-z]+)?(?![\w'’-])")
_PERCENT_SIGN = re.compile(r"(?<=\d)\s?%(?!\w)")
_PERCENT_WORD = re.compile(r"(?<=\d)\s(?:percent|per cent)\b")
_COUNTED = re.compile(r"\s[a-z]{3,}")
_UNITS = re.compile(
    r"\s(?:percent|per cent|am|pm|km|kg|cm|mm|mg|mcg|ml|hrs?|min|million|billion|to|and|or|out)\b"
)
_NAMING = frozenset(
    """type grade stage phase chapter part version number no vitamin figure table level class page line
    section group step call calling code order day week week year age aged about than least most""".split()
)
_PHRASE = re.compile(r"\b(?:" + "|".join(re.escape(form) for form, _ in PHRASES) + r")\b")
_PHRASE_TABLE = dict(PHRASES)


def reword(text: str, seed: int) -> str:
    """`text` said differently; the same for equal text and seed, unchanged only if it has no sentence.

    White space is squashed.
    """
    rng = generator(seed, "reword", content_hash(text))
    parts = _reorder(sentences(text), rng)
    told = [_sentence(part, rng) for part in parts]
    if told and told == sentences(text):
        told[0] = _lead_in(told[0], rng)
    return " ".join(told)


def _reorder(parts: list[str], rng: np.random.Generator) -> list[str]:
    """Neighbours change places where neither they nor the next sentence refer back; the first one stays."""
    parts = list(parts)
    i = 1
    while i + 1 < len(parts):
        movable = not any(_REFERS.match(part) for part in parts[i : i + 3])
        if movable and rng.random() < 0.4:
            parts[i], parts[i + 1] = parts[i + 1], parts[i]
            i += 1
        i += 1
    return parts


def _sentence(text: str, rng: np.random.Generator) -> str:
    text = _omit(text, rng)
    text = _PHRASE.sub(lambda match: _pick(match.group(), _PHRASE_TABLE[match.group()], rng, 0.6), text)
    text = _synonyms(text, rng)
    text = _formats(text, rng)
    opens = text.partition(" ")[0] in _LOWERED  # a name or a heading takes no lead-in
    return _lead_in(text, rng) if opens and rng.random() < 0.25 else text


def _omit(text: str, rng: np.random.Generator) -> str:
    for pattern, chance in ((_PARENTHESIS, 0.5), (_CLAUSE, 0.3)):
        for match in reversed(list(pattern.finditer(text))):
            held = match.group()
            if rng.random() < chance and not _HOLDS_FACT.search(held) and not _NUMBER_WORD.search(held):
                text = text[: match.start()] + text[match.end() :]
    return text


def _synonyms(text: str, rng: np.random.Generator) -> str:
    def exchange(match: re.Match[str]) -> str:
        word = match.group()
        others = WORDS.get(word.lower())
        first, numbered = match.start() == 0, re.match(r"\s\d", text[match.end() :])
        if others is None or numbered or not (word.islower() or (first and word[1:].islower())):
            return word
        kept = [other for other in others if _fits(text[: match.start()], word, other)]
        return _pick(word, tuple(kept), rng, 0.5)

    return _TOKEN.sub(exchange, text)


def _formats(text: str, rng: np.random.Generator) -> str:
    text = _PERCENT_SIGN.sub(lambda m: " percent" if rng.random() < 0.5 else m.group(), text)
    text = _PERCENT_WORD.sub(lambda m: "%" if rng.random() < 0.5 else m.group(), text)
    for figure in reversed(figures(text)):
        if rng.random() < 0.5:
            text = text[: figure.start] + _other_format(figure, text) + text[figure.end :]
    return text


def _other_format(figure: Figure, text: str) -> str:
    token = figure.text
    before, after = text[: figure.start], text[figure.end :]
    if figure.kind == "word":
        free = token.islower() and not after.startswith("-") and not before.endswith("-")
        value = NUMBER_WORDS[token.lower()]
        return str(value) if free and value <= 12 and not _NUMBER_WORD.match(after.lstrip()) else token
    if figure.kind != "plain" or "." in token:
        return token
    bare = token.replace(",", "")
    if "," in token:
        return token if 1000 <= int(bare) <= 2100 else bare
    previous = before.rstrip().rpartition(" ")[2]
    if int(bare) > 9999 and not bare.startswith("0"):
        amount = before.endswith(("$", "€", "£")) or (_COUNTED.match(after) and previous.islower())
        return f"{int(bare):,}" if amount and previous not in _NAMING else token
    counts = bool(_COUNTED.match(after)) and not _UNITS.match(after)
    plain = before.endswith(" ") and previous.isalpha() and previous.islower() and previous not in _NAMING
    if counts and plain and bare == str(int(bare)) and 2 <= int(bare) <= 12:
        return WORDS_OF[int(bare)]
    return token


def _lead_in(text: str, rng: np.random.Generator) -> str:
    lead = _LEAD_INS[int(rng.integers(len(_LEAD_INS)))]
    first, sign, rest = text.partition(" ")
    return f"{lead}{first.lower() if first in _LOWERED else first}{sign}{rest}"


def _pick(word: str, others: tuple[str, ...], rng: np.random.Generator, chance: float) -> str:
    if not others or rng.random() >= chance:
        return word
    other = others[int(rng.integers(len(others)))]
    return other[0].upper() + other[1:] if word[0].isupper() else other


def _fits(before: str, word: str, other: str) -> bool:
    """Whether `a` or `an` in front still fits."""
    if not re.search(r"\b[Aa]n?\s$", before):
        return True
    return (word[0].lower() in "aeiou") == (other[0] in "aeiou")
