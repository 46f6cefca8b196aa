"""A sweep's rounds cut to the questions of one split of the training data.

The shipped checkpoint is trained on rounds of some data sets; what it does on questions that it has never
seen is told by the split `test` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.config import parse
from core.errors import ConfigError
from sim.config import RunConfig
from sim.corpora import load_corpus
from sim.sweep.work import corpus_key
from sim.training_rounds import split_of

SPLITS = ("train", "validation", "test")


def only_split(cells: Sequence[Mapping[str, Any]], split: str) -> list[dict[str, Any]]:
    """`cells` with the outcomes of the questions of `split`; cells that have none are left out.

    Cost and metrics stay those of all rounds.

    Raises:
        ConfigError: no split of this name, or no question of it in any cell.
        DataError: the data set of a cell is not there any more.
    """
    if split not in SPLITS:
        raise ConfigError(f"--split {split!r} is unknown; known: {', '.join(SPLITS)}")
    chosen: dict[tuple[Any, ...], set[str]] = {}
    found = []
    for cell in cells:
        key = corpus_key(parse(RunConfig, cell["settings"], "settings of a cell"))
        if key not in chosen:
            questions = load_corpus(*key).questions
            chosen[key] = {question.query_id for question in questions if split_of(question) == split}
        rounds = [record for record in cell["rounds"] if record["query_id"] in chosen[key]]
        if rounds:
            found.append({**cell, "rounds": rounds})
    if not found:
        raise ConfigError(f"--split {split}: no question of the sweep belongs to it")
    return found
