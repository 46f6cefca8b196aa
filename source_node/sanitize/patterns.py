"""Identifiers by their shape: contacts, numbers, dates, and names that a title or a label announces.

Patterns find what looks like an identifier. A name without a title, label or comma form is not found;
an institution that needs more registers a detector of its own (a language model's, say).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from source_node.sanitize.base import Finding

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?:1[89]|20)\d\d"
_PART = r"(?:[A-ZÀ-Þ][A-Za-zÀ-ÿ'’]+(?:-[A-ZÀ-Þ][A-Za-zÀ-ÿ'’]+)*|[A-Z]\.)"
_NAME = rf"{_PART}(?:[ \t]+(?:(?:van|von|de|der|den|la|le|di|da|bin|al)[ \t]+)*{_PART}){{0,3}}"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Rev|Sr|Sra|Herr|Frau|Mme|Monsieur|Madame)"
_LABEL = (
    r"(?:patient(?:'s)?(?:[ \t]+name)?|name|nurse|physician|doctor|surgeon|attending|signed(?:[ \t]+by)?)"
)

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b")),
    ("url", re.compile(r"\b(?:https?://|www\.)[^\s<>\"')\]]{2,2000}", re.IGNORECASE)),
    (
        "ip_address",
        re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"),
    ),
    ("ssn", re.compile(r"(?<![\d-])\d{3}[- ]\d{2}[- ]\d{4}(?![\d-])")),
    (
        "record_number",
        re.compile(
            r"\b(?:MRN|medical record(?: number| no\.?)?|record (?:number|no\.?)|case (?:number|no\.?)"
            r"|account (?:number|no\.?)|policy (?:number|no\.?)|NHS(?: number| no\.?)?|patient ID|ID)"
            r"[ \t]*[:#=]?[ \t]*#?(?=[\w-]*\d)[\w-]{3,32}",
            re.IGNORECASE,
        ),
    ),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){3,7}(?:[ ]?[A-Z0-9]{1,3})?\b")),
    (
        "phone",
        re.compile(
            r"(?<![\w.])(?:\+\d{1,3}[ .-]?(?:\(\d{1,5}\)|\d{1,5})(?:[ .-]?\d{2,5}){1,4}"
            r"|\(\d{3}\)[ ]?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}|\d{3} \d{3} \d{4}"
            r"|0\d{2,4}[ /-]\d{3,8}(?:[ -]\d{2,6})?)(?![\w-])"
        ),
    ),
    (
        "date",
        re.compile(
            rf"\b(?:{_YEAR}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])"
            rf"|(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.](?:{_YEAR}|\d\d)"
            rf"|{_DAY}(?:[ \t]+of)?[ \t]+{_MONTH}(?:,?[ \t]+{_YEAR})?"
            rf"|{_MONTH}[ \t]+{_DAY}(?:,?[ \t]+{_YEAR})?"
            rf"|{_MONTH}[ \t]+{_YEAR})(?![\w])",
            re.IGNORECASE,
        ),
    ),
    ("number", re.compile(r"(?<![\w.,-])\d(?:[ -]?\d){8,18}(?![\w-])|(?<![\w.,-])\d{6,8}(?![\w-]|[.,]\d)")),
)
_TITLED = re.compile(rf"\b{_TITLE}\.?[ \t]+({_NAME})")
_LABELLED = re.compile(rf"\b(?i:{_LABEL})[ \t]*[:=][ \t]*({_NAME}(?:,[ \t]*{_NAME})?)")
_ALONE = re.compile(rf"(?m)^[ \t]*({_PART},[ \t]+{_NAME})[ \t]*$")


class PatternDetector:
    """Kinds: name, date, email, phone, ssn, record_number, iban, number, url, ip_address.

    `number` is any run of six digits or more that nothing else claims.
    """

    def find(self, text: str) -> Iterator[Finding]:
        for pattern in (_TITLED, _LABELLED, _ALONE):
            for match in pattern.finditer(text):
                yield Finding(*match.span(1), "name")
        for kind, shape in _PATTERNS:
            for match in shape.finditer(text):
                yield Finding(*match.span(), kind)
