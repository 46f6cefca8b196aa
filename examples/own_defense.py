"""A defense of your own in the pipeline, beside the aggregator's: the contract is checked for you.

python examples/own_defense.py
"""

from __future__ import annotations

import sys

from core.errors import ContractError
from core.pipeline import Pipeline
from core.records import Candidate, DocumentKey, Query
from core.stage import StageInput, StageResult, keep_where


class ShortTexts:
    """Keeps documents of at most `limit` characters."""

    name = "short-texts"

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def run(self, given: StageInput) -> StageResult:
        """Drop what is too long."""
        return keep_where(given, [len(document.text) <= self.limit for document in given.documents], "long")


class Careless:
    """Breaks the contract: drops a document without a verdict."""

    name = "careless"

    def run(self, given: StageInput) -> StageResult:
        """Keep the first document and say nothing of the others."""
        kept = keep_where(given, [True] * len(given.documents), "")
        return StageResult(kept.documents[:1], kept.verdicts[:1])


def main() -> tuple[str, ...]:
    """Run both; returns the texts that survive the first."""
    documents = tuple(
        Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(["short", "much longer " * 20])
    )
    given = StageInput(Query("Which texts are short?"), documents)
    result = Pipeline([ShortTexts(limit=40)]).run(given)
    for verdict in result.trail[0].verdicts:
        sys.stdout.write(f"{verdict.key}: {verdict.action}, {verdict.reason}\n")
    try:
        Pipeline([Careless()]).run(given)
    except ContractError as error:
        sys.stdout.write(f"{error}\n")
    return tuple(document.text for document in result.documents)


if __name__ == "__main__":
    main()
