"""Length matching: an attack text padded with neutral sentences to the corpus's median length."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from core.text import contains_answer

_TRIES = 40


def pad(
    text: str,
    length: int,
    runs: Sequence[Sequence[str]],
    avoid: Collection[str],
    rng: np.random.Generator,
    *,
    keep_front: bool,
) -> str:
    """`text` with consecutive sentences of single documents around it until it has `length` words.

    Sentences that hold one of `avoid` (the answers and the target) are passed over. With `keep_front`
    the text stays in front, else it stands at a random place among the padding.
    """
    missing = length - len(text.split())
    padding: list[str] = []
    for _ in range(_TRIES if runs else 0):
        if missing <= 0:
            break
        run = runs[int(rng.integers(len(runs)))]
        start = int(rng.integers(len(run)))
        for sentence in run[start:]:
            if missing <= 0:
                break
            if any(contains_answer(sentence, answer) for answer in avoid):
                continue
            padding.append(sentence)
            missing -= len(sentence.split())
    place = 0 if keep_front else int(rng.integers(len(padding) + 1))
    return " ".join([*padding[:place], text, *padding[place:]])
