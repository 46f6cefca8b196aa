"""Plausible wrong answers: drawn from the answers of other questions that ask for the same kind of thing."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.text import contains_answer, normalise_answer, words
from sim.attacks.lexicon import Lexicon
from sim.attacks.numbers import perturb_numbers
from sim.attacks.tamper import tamper
from sim.corpora.records import Question

_MONTH = r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(rf"\b(?:{_MONTH})[a-z]*\b.*\d|^\d{{4}}$", re.IGNORECASE)
_ASK = re.compile(
    r"\b(how many|how much|how long|how old|how far|how|who|whom|whose|when|where|which|what|why)\b"
)
_FLIPS = {
    "yes": "no", "no": "yes", "maybe": "no", "true": "false", "false": "true",
    "positive": "negative", "negative": "positive",
}  # fmt: skip
_LONG = 8  # words from which an answer is a sentence


def shape(answer: str) -> str:
    """`flip` (yes, no, ...), `date`, `number`, `name`, `phrase` or `sentence`."""
    tokens = answer.split()
    if answer.strip().rstrip(".").lower() in _FLIPS:
        return "flip"
    if len(tokens) >= _LONG:
        return "sentence"
    if _DATE.search(answer.strip()):
        return "date"
    if re.search(r"\d", answer):
        return "number"
    capitals = sum(token[:1].isupper() for token in tokens)
    return "name" if capitals * 2 > len(tokens) else "phrase"


def asks_for(question: str) -> str:
    """The question word, or `whether` where there is none."""
    match = _ASK.search(question.lower())
    return match.group(1) if match else "whether"


@dataclass(frozen=True)
class AnswerIndex:
    """Answers of a corpus by question word and shape."""

    questions: tuple[Question, ...]

    def wrong_answer(self, question: Question, rng: np.random.Generator) -> str:
        """An answer of the shape of the right one that is none of the accepted ones."""
        right = question.answers[0]
        kind = shape(right)
        if kind == "flip":
            bare = right.strip().rstrip(".")
            flipped = _FLIPS[bare.lower()]
            return flipped.capitalize() if bare[:1].isupper() else flipped
        if kind == "sentence":
            return self._other_sentence(question, rng)
        for key in ((asks_for(question.text), kind), ("", kind)):
            pool = self._pools.get(key, ())
            for index in rng.permutation(len(pool))[:50]:
                answer = pool[int(index)]
                if _differs(answer, question.answers):
                    return answer
        return _altered(right, rng)

    def _other_sentence(self, question: Question, rng: np.random.Generator) -> str:
        """The answer to a question put in the same words about something else, its subject exchanged.

        Where no such answer names its subject, the right answer with false edits.
        """
        head, subject = _head(question.text)
        pool = self._by_head.get(head, ()) if subject else ()
        for index in rng.permutation(len(pool))[:80]:
            other = pool[int(index)]
            answer, theirs = other.answers[0].strip(), _head(other.text)[1]
            if not theirs or theirs.lower() == subject.lower() or answer.endswith("?"):
                continue
            exchanged = re.sub(rf"\b{re.escape(theirs)}\b", lambda _: subject, answer, flags=re.IGNORECASE)
            if exchanged != answer and _differs(exchanged, question.answers):
                return exchanged
        return _altered(question.answers[0], rng)

    @cached_property
    def _pools(self) -> dict[tuple[str, str], list[str]]:
        pools: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        for question in self.questions:
            answer = question.answers[0].strip()
            kind = shape(answer)
            pools[(asks_for(question.text), kind)].setdefault(answer)
            pools[("", kind)].setdefault(answer)
        return {key: list(found) for key, found in pools.items()}

    @cached_property
    def _by_head(self) -> dict[str, list[Question]]:
        pools: dict[str, list[Question]] = defaultdict(list)
        for question in self.questions:
            pools[_head(question.text)[0]].append(question)
        return dict(pools)


def _head(question: str) -> tuple[str, str]:
    """A question as (its frame up to the first capitalised word after the start, its subject)."""
    tokens = question.strip().rstrip("? ").split()
    for i, token in enumerate(tokens[1:], start=1):
        if token[:1].isupper() or token[:1].isdigit():
            subject = re.split(r"\s[(\[]|\s-\s|;", " ".join(tokens[i:]))[0]
            return " ".join(tokens[:i]).lower(), subject
    return " ".join(tokens[:2]).lower(), ""


def _differs(answer: str, accepted: tuple[str, ...]) -> bool:
    return all(
        not contains_answer(right, answer) and not contains_answer(answer, right) for right in accepted
    ) and bool(normalise_answer(answer))


def _altered(answer: str, rng: np.random.Generator) -> str:
    """Where no other question helps: other numbers, or false edits that negate at the least."""
    changed = perturb_numbers(answer, rng)
    if changed != answer:
        return changed
    if len(answer.split()) >= _LONG:
        return tamper(answer, "general", rng, Lexicon())
    return f"not {answer}" if words(answer) else "unknown"
