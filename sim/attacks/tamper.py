"""Rule-based tampering: a text with a few false edits that keep its grammar and look.

A tactic lists the edits that it could make; `tamper` draws a tactic at random from those of the domain,
takes its edits one per sentence, goes on with further tactics while edits are wanted, and sees to it
that the main statement is among what changes. Numbers keep their format and words their case, so that
style gives little away.
"""

from __future__ import annotations

import re

import numpy as np

from sim.attacks.lexicon import Lexicon
from sim.attacks.passage import Edit, Passage
from sim.attacks.tactics import TACTICS, negations
from sim.attacks.wordlists import CLASSES


def tamper(
    text: str, domain: str, rng: np.random.Generator, lexicon: Lexicon, edits: int | None = None
) -> str:
    """`text` with `edits` false edits (None: for every second sentence or 45 words, at least 2).

    `domain` is general, medical or finance (another one counts as general). Fewer edits are made where
    the text offers fewer; where no rule applies the main statement is negated.
    """
    passage = Passage(text, lexicon)
    if not passage.spans:
        return text
    wanted = edits if edits is not None else max(2, (len(passage.spans) + 1) // 2, len(text.split()) // 45)
    tactics = TACTICS.get(domain, TACTICS["general"])
    offers = [tactics[int(i)](passage, rng) for i in rng.permutation(len(tactics))]
    chosen: list[Edit] = []
    main = passage.main
    in_main = [edit for offer in offers for edit in offer if passage.sentence_of(edit) == main]
    if in_main:
        chosen.append(_of_first_tactic(in_main, offers, rng))
    else:
        chosen.extend(edit for edit in negations(passage, rng) if passage.sentence_of(edit) == main)
        del chosen[1:]
    for edit in list(chosen):
        chosen += _likewise(edit, chosen, offers, text)
    touched = {passage.sentence_of(edit) for edit in chosen}
    wanted += len(chosen) - 1
    for fresh in (True, False):
        for offer in offers:
            for index in rng.permutation(len(offer)):
                edit = offer[int(index)]
                sentence = passage.sentence_of(edit)
                if len(chosen) >= wanted or (fresh and sentence in touched) or _overlaps(edit, chosen):
                    continue
                chosen.append(edit)
                same = _likewise(edit, chosen, offers, text)
                chosen += same
                wanted += len(same)
                touched.add(sentence)
    altered = apply_edits(text, chosen)
    return altered if altered != text else _deny(text)


def apply_edits(text: str, edits: list[Edit]) -> str:
    """`text` with `edits`, which must not overlap, and `a` / `an` put right in front of a new word."""
    for edit in sorted(edits, key=lambda edit: -edit.start):
        before, after = text[: edit.start], text[edit.end :]
        if edit.text and edit.end > edit.start and re.search(r"\b[Aa]n?\s$", before):
            before = _article(before, text[edit.start : edit.end], edit.text)
        text = before + edit.text + after
    return text


def _of_first_tactic(edits: list[Edit], offers: list[list[Edit]], rng: np.random.Generator) -> Edit:
    """An edit of the tactic that was drawn first among those that reach the main statement."""
    for offer in offers:
        mine = [edit for edit in edits if any(edit is other for other in offer)]
        if mine:
            return mine[int(rng.integers(len(mine)))]
    return edits[0]


def _likewise(edit: Edit, chosen: list[Edit], offers: list[list[Edit]], text: str) -> list[Edit]:
    """The same exchange of a name (or member of a class) elsewhere in the text, so that it stays coherent."""
    old = text[edit.start : edit.end]
    if not (old[:1].isupper() or old.lower() in CLASSES) or not edit.text:
        return []
    found: list[Edit] = []
    for offer in offers:
        for other in offer:
            same = text[other.start : other.end] == old and other.text == edit.text
            if same and not _overlaps(other, [*chosen, *found]):
                found.append(other)
    return found


def _overlaps(edit: Edit, chosen: list[Edit]) -> bool:
    return any(edit.start <= other.end and other.start <= edit.end for other in chosen)


def _article(before: str, old: str, new: str) -> str:
    vowels = "aeiouAEIOU"
    if (old[:1] in vowels) == (new[:1] in vowels) or not new[:1].isalpha():
        return before
    stem = re.sub(r"([Aa])n?\s$", r"\1", before)
    return f"{stem}n " if new[0] in vowels else f"{stem} "


def _deny(text: str) -> str:
    """The last resort for a text without a verb, name, number or opposite: its denial."""
    match = re.search(r"\w", text)
    if match is None:
        return text
    first = text[match.start() :]
    word = first.split(maxsplit=1)[0]
    lowered = first if word.isupper() and len(word) > 1 else first[0].lower() + first[1:]
    return f"{text[: match.start()]}No {lowered}"
