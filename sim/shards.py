"""OUT/shards.json: what each source holds in each trial, by category: the skew of the partition."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.trial import Trial

NAME = "shards.json"
_MOST_CATEGORIES = 24
OTHER = "other"


def shard_table(trial: Trial, categories: Sequence[Hashable]) -> dict[str, Any]:
    """The shards of one trial as plain values.

    `categories` has one entry a document; a number is the topic that a clustering found. Beyond the 24
    largest categories the rest is counted together.
    """
    names = [f"topic {value}" if isinstance(value, int) else str(value) for value in categories]
    largest = {name for name, _ in Counter(names).most_common(_MOST_CATEGORIES)}
    folded = [name if name in largest else OTHER for name in names]
    return {
        "trial": trial.number,
        "alpha": trial.skew.alpha,
        "replication": trial.skew.replication,
        "mean_divergence": round(trial.skew.mean_divergence, 4),
        "sources": [
            {
                "id": source,
                "malicious": source in trial.malicious,
                "documents": len(held),
                "categories": dict(sorted(Counter(folded[int(i)] for i in held).items())),
            }
            for source, held in zip(trial.sources, trial.members, strict=True)
        ],
    }


def with_trial(path: Path | None, table: Mapping[str, Any]) -> dict[str, Any]:
    """The content of shards.json after one more trial; `path` is the file as it is, if it is there."""
    earlier: list[Any] = []
    if path is not None and path.is_file():
        earlier = [
            one
            for one in json.loads(path.read_text(encoding="utf-8"))["trials"]
            if one["trial"] < table["trial"]
        ]
    return {"schema": 1, "trials": [*earlier, dict(table)]}
