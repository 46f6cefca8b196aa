"""Symmetric features of two sentences: what they share, and what only one of them states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gnn.relations.facts import SentenceFacts
from gnn.relations.lexicon import KNOWN_UNITS
from gnn.relations.subjects import FEATURES as SUBJECT_FEATURES

FEATURES = (
    "stem_containment", "stem_containment_max", "stem_jaccard",
    "entity_containment", "entities_shared", "entities_one_sided_min", "entities_one_sided_max",
    "numbers_shared", "numbers_one_sided_min", "numbers_one_sided_max", "unit_mismatch", "year_mismatch",
    "negation_parity", "negations_one_sided", "antonym", "order_reversed", "order_one_sided",
    "marker_differs", "sign_product", "sign_differs", "unmatched_min", "unmatched_max", "unmatched_even",
    "length_min", "length_ratio", "same_text", "replacement",
    # without what both documents are about anyway: the values that the sentences give, and the topic
    "values_shared", "values_one_sided_min", "values_one_sided_max", "values_alike", "values_both",
    "topic_shared", "topic_containment", "topic_one_sided_min", "topic_one_sided_max",
    "subject_named_min", "subject_named_max", "numbers_alike",
)  # fmt: skip
CONTEXT_FEATURES = ("cosine", "mutual", "document_cosine", *SUBJECT_FEATURES)
Numbers = frozenset[tuple[float, str]]
N_FEATURES = len(FEATURES) + len(CONTEXT_FEATURES)


def sentence_pair_features(
    f: SentenceFacts, g: SentenceFacts, names: frozenset[str] = frozenset()
) -> tuple[float, ...]:
    """`FEATURES` of two sentences, the same for (f, g) and (g, f); all finite, most in [0,1]."""
    return tuple(fact_features([f, g], [0], [1], [names])[0].tolist())


def fact_features(
    facts: Sequence[SentenceFacts],
    left: Sequence[int],
    right: Sequence[int],
    names: Sequence[frozenset[str]],
) -> NDArray[np.float32]:
    """(p, len(FEATURES)) of p pairs of sentences: `left` and `right` index `facts`.

    `names` are stems of what the two documents of each pair are about.
    """
    if not len(left):
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    each = np.array([_sentence(f) for f in facts], dtype=np.float64)
    pairs = [(facts[i], facts[j], about) for i, j, about in zip(left, right, names, strict=True)]
    both = np.array([_pair(f, g) for f, g, _ in pairs], dtype=np.float64)
    apart = np.array([_apart(f, g, about) for f, g, about in pairs], dtype=np.float64)
    stems_f, entities_f, numbers_f, negations_f, sign_f, length_f, order_f = each[left].T
    stems_g, entities_g, numbers_g, negations_g, sign_g, length_g, order_g = each[right].T
    shared, entities, numbers, only_f, only_g, unit, year, antonym, order, marker, same = both.T
    small, large = np.minimum(stems_f, stems_g), np.maximum(stems_f, stems_g)
    only_small, only_large = small - shared, large - shared
    fewest = np.minimum(entities_f, entities_g)
    less, more = np.minimum(only_f, only_g), np.maximum(only_f, only_g)
    n_f, n_g = numbers_f - numbers, numbers_g - numbers
    shorter = np.minimum(length_f, length_g)
    values_f, values_g, values, lone_f, lone_g, topic_f, topic_g, topic, named_f, named_g = apart.T
    topic_small, topic_large = np.minimum(topic_f, topic_g), np.maximum(topic_f, topic_g)
    columns = (
        shared / np.maximum(small, 1),
        shared / np.maximum(large, 1),
        shared / np.maximum(small + large - shared, 1),
        np.where(fewest > 0, entities / np.maximum(fewest, 1), 0.5),
        np.minimum(entities, 4) / 4,
        np.minimum(less, 3) / 3,
        np.minimum(more, 4) / 4,
        np.minimum(numbers, 3) / 3,
        np.minimum(np.minimum(n_f, n_g), 3) / 3,
        np.minimum(np.maximum(n_f, n_g), 4) / 4,
        unit,
        year,
        (negations_f - negations_g) % 2,
        np.minimum(np.abs(negations_f - negations_g), 2) / 2,
        np.minimum(antonym, 2) / 2,
        order,
        order_f != order_g,
        marker,
        np.sign(sign_f) * np.sign(sign_g),
        np.minimum(np.abs(sign_f - sign_g), 3) / 3,
        np.minimum(only_small, 8) / 8,
        np.minimum(only_large, 12) / 12,
        1.0 / (1.0 + only_large - only_small),
        np.minimum(np.log1p(shorter) / 4, 1.0),
        shorter / np.maximum(np.maximum(length_f, length_g), 1),
        same,
        (less > 0) & (shared >= 3) & (only_small <= 3) & (only_large <= 3),
        np.minimum(values, 3) / 3,
        np.minimum(np.minimum(lone_f, lone_g), 2) / 2,
        np.minimum(np.maximum(lone_f, lone_g), 3) / 3,
        (values_f > 0) == (values_g > 0),
        (values_f + numbers_f > 0) & (values_g + numbers_g > 0),
        np.minimum(topic, 5) / 5,
        topic / np.maximum(topic_small, 1),
        np.minimum(topic_small - topic, 6) / 6,
        np.minimum(topic_large - topic, 8) / 8,
        np.minimum(named_f, named_g),
        np.maximum(named_f, named_g),
        (numbers_f > 0) == (numbers_g > 0),
    )
    return np.column_stack(columns).astype(np.float32)


def _sentence(f: SentenceFacts) -> tuple[float, ...]:
    return (
        len(f.stems), len(f.entities), len(f.numbers), f.negations, f.sign, f.length, f.order is not None,
    )  # fmt: skip


def _pair(f: SentenceFacts, g: SentenceFacts) -> tuple[float, ...]:
    """What both sentences together say; sets that are empty are not compared."""
    entities = numbers = only_f = only_g = unit = year = antonym = order = marker = 0.0
    if f.entities:
        entities = len(f.entities & g.entities)
        # an entity counts as one-sided only if the other sentence does not mention the word at all
        only_f = len(f.entities - g.stems)
    if g.entities:
        only_g = len(g.entities - f.stems)
    if f.numbers and g.numbers:
        same_f, same_g = _same_numbers(f.numbers, g.numbers)
        numbers = min(len(same_f), len(same_g))
        common = {u for _, u in f.numbers - same_f} & {u for _, u in g.numbers - same_g}
        if common:
            unit, year = float(bool(common - {"year", ""})), float("year" in common)
    if f.antonyms and g.antonyms:
        antonym = len((f.antonyms - g.antonyms) & g.opposites | (g.antonyms - f.antonyms) & f.opposites)
    if f.order and g.order:
        same = _overlap(f.order[1], g.order[1]) + _overlap(f.order[2], g.order[2])
        crossed = _overlap(f.order[1], g.order[2]) + _overlap(f.order[2], g.order[1])
        marker = float(f.order[0] != g.order[0])
        order = (crossed - same) * (-0.5 if marker else 0.5)
    return (
        len(f.stems & g.stems), entities, numbers, only_f, only_g, unit, year, antonym, order, marker,
        f.text == g.text,
    )  # fmt: skip


def _apart(f: SentenceFacts, g: SentenceFacts, about: frozenset[str]) -> tuple[float, ...]:
    """What is left of both sentences without the names of what their documents are about."""
    values_f, values_g = f.entities - about, g.entities - about
    topic_f, topic_g = f.topic - about, g.topic - about
    return (
        len(values_f), len(values_g), len(values_f & values_g),
        len(values_f - g.stems), len(values_g - f.stems),
        len(topic_f), len(topic_g), len(topic_f & topic_g),
        not about.isdisjoint(f.stems), not about.isdisjoint(g.stems),
    )  # fmt: skip


def _same_numbers(f: Numbers, g: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers of each that the other gives too: in the same unit, or in one that a side leaves open."""
    if f == g:
        return f, g
    same = [(one, other) for one in f for other in g if _same_number(one, other)]
    return frozenset(one for one, _ in same), frozenset(other for _, other in same)


def _same_number(one: tuple[float, str], other: tuple[float, str]) -> bool:
    known = one[1] in KNOWN_UNITS and other[1] in KNOWN_UNITS
    return one[0] == other[0] and (one[1] == other[1] or not known)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0
