"""Patterns that tell instructions, extraction, membership probes and hidden markup from plain prose.

All matching is done on `fold(text)`: compatibility forms unified, invisible characters gone. A
pattern is evidence, never proof: callers count distinct hits and weigh them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_WITHIN = r"[^.?!\n]"  # a cue does not reach over the end of its sentence


def _compile(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns)


INSTRUCTION = _compile(
    rf"\b(?:ignore|disregard|forget|override|bypass)\b{_WITHIN}{{0,40}}\b(?:previous|prior|above|earlier"
    rf"|preceding|all|any|your|these|other)\b{_WITHIN}{{0,30}}\b(?:instructions?|prompts?|context|rules"
    r"|documents?|directions|guidelines|passages?)\b",
    r"\b(?:you are|act as|pretend to be|behave as|respond as)\b(?: now)? (?:an?|the|my)? ?"
    r"(?:[a-z]+ )?(?:ai|assistant|chatbot|language model|llm|dan)\b",
    r"\bas an? (?:ai|large language|language) (?:model|assistant)\b",
    r"\b(?:system|developer) (?:prompt|message|instruction)s?\b",
    r"^\s*(?:system|assistant|human)\s*:",
    rf"\b(?:answer|respond|reply)\b{_WITHIN}{{0,20}}"
    r"\b(?:only with|exactly|with the (?:word|phrase|following))\b",
    rf"\b(?:please|always|just)\b {_WITHIN}{{0,12}}\b(?:output|print|say|return)\b {_WITHIN}{{1,40}}",
    rf"\bwhen(?:ever)? (?:you are|you're|a user|the user|being)\b{_WITHIN}{{0,20}}"
    r"\b(?:asked|asks|prompted)\b",
    rf"\bdo not (?:mention|reveal|trust|cite|follow|use)\b{_WITHIN}{{0,40}}"
    r"\b(?:the user|context|documents?|instructions?|prompt|passages?)\b",
    r"\bnew instructions?\s*:",
    r"\b(?:jailbreak|developer mode|do anything now)\b",
)
CONTROL = _compile(
    r"<\|[a-z0-9_]{1,32}\|>",
    r"\[/?INST\]|<</?SYS>>|</?s>",
    r"^\s*#{2,}\s*(?:instructions?|response|system|assistant|user)\b",
    r"</?(?:system|assistant|instructions?|context|documents?)>",
)
EXFILTRATION = _compile(r"!\[[^\]]{0,80}\]\(https?://[^)]{1,400}\)")
EXTRACTION = _compile(
    r"\b(?:repeat|copy|reproduce|print|output|display|show|quote|dump|write out|recite|return|give me|reveal)"
    rf"\b{_WITHIN}{{0,60}}\b(?:context|documents?|passages?|chunks?|retrieved|knowledge base|records?"
    r"|database|text above|everything above|sources?)\b",
    r"\b(?:verbatim|word[- ]for[- ]word|exact (?:text|words|content|wording)|full text"
    r"|entire (?:text|context|document|passage|record)"
    r"|without (?:any )?(?:chang|modif|summari|paraphras|omit)\w*)\b",
    r"\b(?:system|hidden|initial) prompt\b",
)
MEMBERSHIP = _compile(
    r"\b(?:in|part of|among|contained in|included in|appears? in|present in|stored in|found in)\b"
    r" (?:the |your |this )?(?:provided |retrieved |private |own )?"
    r"(?:context|database|knowledge base|corpus|index|data ?set|data store|documents|records)\b",
    r"\bfill (?:in )?(?:each |all |every )?(?:of )?(?:the |these )?(?:masks?|blanks?|gaps?|missing)\b",
    r"\b(?:masked|missing|hidden|redacted) (?:words?|tokens?|terms?)\b",
)
PLACEHOLDER = _compile(
    r"\[\s*(?:mask|blank|gap|redacted|masked)[^\]]{0,8}\]|<\s*(?:mask|blank)[^>]{0,8}>|_{3,}|\{\{\s*\w{0,12}\s*\}\}|█+"
)


def fold(text: str) -> str:
    """`text` in NFKC without invisible and direction-changing characters."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def invisible(text: str) -> int:
    """Number of invisible or direction-changing characters in `text` (soft hyphens and BOMs included)."""
    return len(_INVISIBLE.findall(text))


def count(folded: str, table: Sequence[re.Pattern[str]]) -> int:
    """How many patterns of `table` occur in `folded`; a pattern counts once."""
    return sum(pattern.search(folded) is not None for pattern in table)


def occurrences(folded: str, table: Sequence[re.Pattern[str]]) -> int:
    """How many times any pattern of `table` occurs in `folded`."""
    return sum(1 for pattern in table for _ in pattern.finditer(folded))


def remove(text: str, table: Sequence[re.Pattern[str]], replacement: str = " ") -> str:
    """`text` with every occurrence of `table` replaced, until none is left."""
    for pattern in table:
        text = pattern.sub(replacement, text)
    return text
