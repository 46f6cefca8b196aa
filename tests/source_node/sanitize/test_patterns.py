"""What the patterns find, and what they leave."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from source_node.sanitize.base import sanitized
from source_node.sanitize.patterns import PatternDetector

DETECTOR = PatternDetector()


def clean(text: str) -> str:
    return sanitized(text, DETECTOR.find(text)).text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mr. John Smith left.", "Mr. [NAME] left."),
        ("seen by Prof. Maria de la Cruz today", "seen by Prof. [NAME] today"),
        ("Patient: Jane Q. Doe\nwell", "Patient: [NAME]\nwell"),
        ("Patient's name: O'Neil, Sean", "Patient's name: [NAME]"),
        ("write to j.doe+x@clinic.example.org now", "write to [EMAIL] now"),
        ("call (555) 123-4567 or 555-123-4567", "call [PHONE] or [PHONE]"),
        ("call +49 30 123456 today", "call [PHONE] today"),
        ("SSN 123-45-6789.", "SSN [SSN]."),
        ("MRN: 00123456 and mrn A-77", "[RECORD_NUMBER] and [RECORD_NUMBER]"),
        ("on 3 May 2021, 05/06/2020 and 2020-01-31", "on [DATE], [DATE] and [DATE]"),
        ("born March 3rd, 1950", "born [DATE]"),
        ("host 192.168.0.1, https://x.example/p?q=1 end", "host [IP_ADDRESS], [URL] end"),
        ("DE89 3704 0044 0532 0130 00", "[IBAN]"),
        ("number 1234567890", "number [NUMBER]"),
    ],
)
def test_identifiers_go(text: str, wanted: str) -> None:
    assert clean(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Aspirin 500 mg twice daily for 14 days lowers risk by 12.5 % (p < 0.001).",
        "The Great Wall of China is 21196 km long.",
        "Blood pressure 120/80, pulse 72, may improve in 3 weeks.",
        "Vitamin B12 and omega-3; see section 4.2.1.",
    ],
)
def test_what_is_no_identifier_stays(text: str) -> None:
    assert clean(text) == text


@given(st.text(max_size=200))
def test_any_text_can_be_searched_and_comes_out_the_same_twice(text: str) -> None:
    assert clean(text) == clean(text)


@pytest.mark.parametrize("piece", ["1 ", "1-", "a@", "Mr. A ", "A. ", "1.", "http://", "DE11 ", "(1)"])
def test_long_texts_take_no_exponential_time(piece: str) -> None:
    started = time.process_time()
    list(DETECTOR.find(piece * 5_000))
    assert time.process_time() - started < 20
