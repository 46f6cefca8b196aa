"""The pair features of two sentences one by one, what the batch in `gnn.relations.features` is compared with."""

from __future__ import annotations

import math

import numpy as np

from gnn.relations.facts import SentenceFacts
from gnn.relations.lexicon import KNOWN_UNITS


def sentence_pair_features(
    f: SentenceFacts, g: SentenceFacts, about: frozenset[str] = frozenset()
) -> tuple[float, ...]:
    """`FEATURES` of two sentences, the same for (f, g) and (g, f); all finite, most in [0,1]."""
    shared = len(f.stems & g.stems)
    small, large = sorted((len(f.stems), len(g.stems)))
    union = small + large - shared
    only_small, only_large = small - shared, large - shared
    entities_shared = len(f.entities & g.entities)
    e_small = min(len(f.entities), len(g.entities))
    # an entity counts as one-sided only if the other sentence does not mention the word at all
    e_f, e_g = len(f.entities - g.stems), len(g.entities - f.stems)

    def given(number: tuple[float, str], others: frozenset[tuple[float, str]]) -> bool:
        return any(
            number[0] == value
            and (number[1] == unit or number[1] not in KNOWN_UNITS or unit not in KNOWN_UNITS)
            for value, unit in others
        )

    n_f = {number for number in f.numbers if not given(number, g.numbers)}
    n_g = {number for number in g.numbers if not given(number, f.numbers)}
    equal = min(len(f.numbers) - len(n_f), len(g.numbers) - len(n_g))
    if f.numbers == g.numbers:
        n_f, n_g, equal = set(), set(), len(f.numbers)
    units_f = {unit for _, unit in n_f}
    units_g = {unit for _, unit in n_g}
    common = units_f & units_g
    order = one_sided_order = marker = 0.0
    if f.order and g.order:
        same = _overlap(f.order[1], g.order[1]) + _overlap(f.order[2], g.order[2])
        crossed = _overlap(f.order[1], g.order[2]) + _overlap(f.order[2], g.order[1])
        flipped = f.order[0] != g.order[0]
        order = (crossed - same) * (-1.0 if flipped else 1.0) / 2.0
        marker = float(flipped)
    elif f.order or g.order:
        one_sided_order = 1.0
    antonym = len((f.antonyms - g.antonyms) & g.opposites | (g.antonyms - f.antonyms) & f.opposites)
    matched = (e_f > 0) and (e_g > 0)
    return (
        shared / small if small else 0.0,
        shared / large if large else 0.0,
        shared / union if union else 0.0,
        entities_shared / e_small if e_small else 0.5,
        min(entities_shared, 4) / 4,
        min(e_f, e_g, 3) / 3,
        min(max(e_f, e_g), 4) / 4,
        min(equal, 3) / 3,
        min(len(f.numbers) - equal, len(g.numbers) - equal, 3) / 3,
        min(max(len(f.numbers) - equal, len(g.numbers) - equal), 4) / 4,
        float(bool(common - {"year", ""})),
        float("year" in common),
        float((f.negations - g.negations) % 2),
        min(abs(f.negations - g.negations), 2) / 2,
        min(antonym, 2) / 2,
        order,
        one_sided_order,
        marker,
        float(np.sign(f.sign) * np.sign(g.sign)),
        min(abs(f.sign - g.sign), 3) / 3,
        min(only_small, 8) / 8,
        min(only_large, 12) / 12,
        1.0 / (1.0 + abs(only_large - only_small)),
        min(math.log1p(min(f.length, g.length)) / 4, 1.0),
        min(f.length, g.length) / max(f.length, g.length, 1),
        float(f.text == g.text),
        float(matched and shared >= 3 and only_small <= 3 and only_large <= 3),
        *_apart(f, g, about),
    )


def _apart(f: SentenceFacts, g: SentenceFacts, about: frozenset[str]) -> tuple[float, ...]:
    values_f, values_g = f.entities - about, g.entities - about
    topic_f, topic_g = f.stems - f.entities - about, g.stems - g.entities - about
    alone = sorted((len(values_f - g.stems), len(values_g - f.stems)))
    shared = len(topic_f & topic_g)
    small, large = sorted((len(topic_f), len(topic_g)))
    named = sorted((bool(f.stems & about), bool(g.stems & about)))
    return (
        min(len(values_f & values_g), 3) / 3,
        min(alone[0], 2) / 2,
        min(alone[1], 3) / 3,
        float(bool(values_f) == bool(values_g)),
        float(bool(values_f or f.numbers) and bool(values_g or g.numbers)),
        min(shared, 5) / 5,
        shared / small if small else 0.0,
        min(small - shared, 6) / 6,
        min(large - shared, 8) / 8,
        float(named[0]),
        float(named[1]),
        float(bool(f.numbers) == bool(g.numbers)),
    )


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0
