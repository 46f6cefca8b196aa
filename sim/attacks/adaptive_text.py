"""What adaptive attackers write: triggers that copy no question, payloads that read like an entry."""

from __future__ import annotations

import numpy as np

from core.text import content_words, words
from defenses.tris.prefix import PrefixCheck
from sim.attacks.assertion import topic

_TRIGGERS = (
    "For anyone looking into {0} in connection with {1}, this is the relevant entry.",
    "This article treats {1}, in particular {0}.",
    "The following concerns {0} and what is known about {1}.",
    "An overview of {1} has to begin with {0}.",
    "Among the facts about {0}, those on {1} are often asked for.",
    "{0} is the subject of this note, seen from the side of {1}.",
)
_ENTRY = (
    "The matter is covered by several reference works, which agree in the main points.",
    "The account below follows the sources that are closest to the events.",
    "Later literature has taken over this account without changes.",
    "Details differ between accounts, the essential point does not.",
    "It is treated at length in the standard literature on {topic}.",
    "Surveys of {topic} give the same information.",
)
_UPDATES = (
    "The entry was revised after a recent review of the evidence; earlier editions gave another answer.",
    "This replaces what older works still say, since new records have come to light.",
    "Until the latest revision another answer was common; it has been corrected since.",
    "Following an update of the records, the older statement is no longer maintained.",
)


def paraphrased_trigger(question: str, rng: np.random.Generator) -> str:
    """A sentence with the question's content words in a drawn order among other words."""
    told = list(dict.fromkeys(content_words(question))) or words(question) or ["this"]
    drawn = [told[i] for i in rng.permutation(len(told))]
    half = max(1, len(drawn) // 2)
    first, second = " ".join(drawn[:half]), " ".join(drawn[half:] or drawn[:1])
    text = _TRIGGERS[int(rng.integers(len(_TRIGGERS)))].format(first, second)
    return text[:1].upper() + text[1:]


def encyclopedic(question: str, payload: str, rng: np.random.Generator, *, update: bool = False) -> str:
    """`payload` among one or two sentences of an encyclopedia's tone; with `update`, said to be new."""
    about = topic(question)
    frames = [_ENTRY[i].format(topic=about) for i in rng.permutation(len(_ENTRY))[:2]]
    if update:
        frames[0] = _UPDATES[int(rng.integers(len(_UPDATES)))]
    return " ".join([payload, *frames] if rng.random() < 0.5 else [frames[0], payload, frames[1]])


def longest_trigger(question: str, check: PrefixCheck, rest: str) -> str:
    """As much of the question's own wording as `check` lets pass in front of `rest`; "" if none does.

    Words are taken out one at a time, the one whose loss lowers the measured overlap most, until the
    document passes; ties go to the last word.
    """
    told = question.strip().rstrip("?.!").split()
    while told:
        trigger = f"{' '.join(told)}."
        if not check.rejects(check.measure(f"{trigger} {rest}")):
            return trigger[:1].upper() + trigger[1:]
        without = [[*told[:i], *told[i + 1 :]] for i in range(len(told))]
        overlaps = [check.measure(f"{' '.join(left)}. {rest}").largest for left in without]
        told = without[len(told) - 1 - int(np.argmin(overlaps[::-1]))]
    return ""
