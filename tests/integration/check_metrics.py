"""The contract of OUT/metrics.json (design 5.2) as strict models; as a script it checks one file.

A value that does not apply is null, never absent; a key that the contract does not name is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Share = Annotated[float, Field(ge=0, le=1)] | None
Count = Annotated[int, Field(ge=0)]
Milliseconds = Annotated[float, Field(ge=0)] | None


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Rate(Strict):
    value: Share
    ci95: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]] | None
    n: Count

    @model_validator(mode="after")
    def interval_holds_value(self) -> Rate:
        if (self.value is None) != (self.ci95 is None):
            raise ValueError("value and ci95 are null together")
        if self.value is not None and self.ci95 is not None:
            low, high = self.ci95
            if not low - 1e-9 <= self.value <= high + 1e-9:
                raise ValueError(f"{self.value} is outside its interval {self.ci95}")
        return self


class Documents(Strict):
    n_benign: Count
    n_malicious: Count | None
    n_neutral: Count | None
    tpr: Share
    tnr: Share
    fpr: Share
    fnr: Share
    auroc: Share
    ece: Share

    @model_validator(mode="after")
    def rates_complement(self) -> Documents:
        for right, wrong in ((self.tpr, self.fnr), (self.tnr, self.fpr)):
            if (right is None) != (wrong is None):
                raise ValueError("a rate and its complement are null together")
            if right is not None and wrong is not None and abs(right + wrong - 1) > 1e-6:
                raise ValueError(f"{right} + {wrong} is not 1")
        return self


class Retrieval(Strict):
    recall_at_k: Share
    mrr: Share
    poisoned_mrr: Share
    sr: Share
    retrieval_asr: Share


class Source(Strict):
    id: str
    malicious: bool
    reliability: Share


class Reliability(Strict):
    benign_mean: Share
    malicious_mean: Share


class Quantiles(Strict):
    p50: Milliseconds
    p95: Milliseconds


class Latency(Strict):
    fan_out: Quantiles
    verify: Quantiles
    stages: Quantiles
    read: Quantiles
    total: Quantiles


class Stage(Strict):
    dropped_benign: Count
    dropped_malicious: Count | None
    errors: Count


class Metrics(Strict):
    schema_: Literal[1] = Field(alias="schema")
    config: dict[str, Any]
    seed: int
    n_queries: Count
    n_trials: Count
    asr: Rate
    accuracy: Rate
    target_rate: Rate
    documents: Documents
    retrieval: Retrieval
    sources: list[Source]
    reliability: Reliability
    latency_ms: Latency
    stages: dict[str, Stage]
    failures: dict[str, Count]


def problems(text: str) -> list[str]:
    """What the metrics file `text` breaks, one line each; empty where it keeps the contract."""
    try:
        Metrics.model_validate_json(text)
    except ValidationError as error:
        return [f"{'.'.join(map(str, e['loc'])) or '(file)'}: {e['msg']}" for e in error.errors()]
    return []


def main() -> int:
    """Check the file named on the command line."""
    path = Path(sys.argv[1])
    found = problems(path.read_text(encoding="utf-8"))
    for line in found:
        sys.stderr.write(f"{path}: {line}\n")
    if not found:
        sys.stdout.write(f"{path}: keeps the contract\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
