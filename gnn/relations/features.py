"""Symmetric features of two sentences: what they share, and what only one of them states."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gnn.relations.facts import SentenceFacts

FEATURES = (
    "stem_containment", "stem_containment_max", "stem_jaccard",
    "entity_containment", "entities_shared", "entities_one_sided_min", "entities_one_sided_max",
    "numbers_shared", "numbers_one_sided_min", "numbers_one_sided_max", "unit_mismatch", "year_mismatch",
    "negation_parity", "negations_one_sided", "antonym", "order_reversed", "order_one_sided",
    "marker_differs", "sign_product", "sign_differs", "unmatched_min", "unmatched_max", "unmatched_even",
    "length_min", "length_ratio", "same_text", "replacement",
)  # fmt: skip
CONTEXT_FEATURES = ("cosine", "mutual", "document_cosine")
N_FEATURES = len(FEATURES) + len(CONTEXT_FEATURES)


def sentence_pair_features(f: SentenceFacts, g: SentenceFacts) -> tuple[float, ...]:
    """`FEATURES` of two sentences, the same for (f, g) and (g, f); all finite, most in [0,1]."""
    shared = len(f.stems & g.stems)
    small, large = sorted((len(f.stems), len(g.stems)))
    union = small + large - shared
    only_small, only_large = small - shared, large - shared
    entities_shared = len(f.entities & g.entities)
    e_small = min(len(f.entities), len(g.entities))
    # an entity counts as one-sided only if the other sentence does not mention the word at all
    e_f, e_g = len(f.entities - g.stems), len(g.entities - f.stems)
    n_f, n_g = f.numbers - g.numbers, g.numbers - f.numbers
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
        min(len(f.numbers & g.numbers), 3) / 3,
        min(len(n_f), len(n_g), 3) / 3,
        min(max(len(n_f), len(n_g)), 4) / 4,
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
    )


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def pair_matrix(
    pairs: list[tuple[SentenceFacts, SentenceFacts]], context: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(n, N_FEATURES): sentence features beside `context` (n, 3): cosine, mutual best, document cosine."""
    if not pairs:
        return np.zeros((0, N_FEATURES), dtype=np.float32)
    rows = np.array([sentence_pair_features(f, g) for f, g in pairs], dtype=np.float32)
    return np.concatenate([rows, context.astype(np.float32)], axis=1)
