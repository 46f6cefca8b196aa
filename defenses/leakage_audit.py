"""Audits an answer against the documents behind it and masks or refuses recited text (ADO, fourth hook).

Measures: the longest run of words that the answer shares with a document, and ROUGE-L of the answer
against it. Short shared runs are what an answer is made of; long ones are recitation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from pydantic import Field

from core.config import StrictModel, parse
from core.records import Candidate, Query
from core.stage import AnswerDecision, Hook, Resources

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
WITHHELD = "[withheld]"
REFUSAL = "The answer would recite a stored document, so it is withheld."
_MAX_WORDS = 4000


class LeakageAuditConfig(StrictModel):
    """Limits of what may be recited.

    `max_span`: words in a row that an answer may share with a document. `max_share`: share of the answer
    that may stand in longer runs before the whole answer is refused under `action: mask`; with
    `action: refuse` any longer run refuses. `context`: words left at the start of a masked run, so that
    the reader of the answer sees what was withheld.
    """

    max_span: int = Field(default=100, ge=5)
    action: Literal["mask", "refuse"] = "mask"
    max_share: float = Field(default=1.0, ge=0, le=1)
    context: int = Field(default=3, ge=0)


class LeakageAuditStage:
    """Post-generation stage; stateless, no model."""

    name = "leakage_audit"
    hook = Hook.POST_GENERATION

    def __init__(
        self,
        config: Mapping[str, Any] | LeakageAuditConfig | None = None,
        resources: Resources | None = None,
    ) -> None:
        if not isinstance(config, LeakageAuditConfig):
            config = parse(LeakageAuditConfig, config or {}, self.name)
        self.config = config

    def run(self, query: Query, answer: str, documents: Sequence[Candidate]) -> AnswerDecision:
        runs = recited(answer, [document.text for document in documents], self.config.max_span)
        total = len(_TOKEN.findall(answer))
        covered = sum(end - start for start, end in runs)
        evidence = {
            "runs": float(len(runs)),
            "longest_span": float(max((end - start for start, end in runs), default=0)),
            "share": covered / total if total else 0.0,
        }
        if not runs:
            return AnswerDecision(answer, evidence=evidence)
        if self.config.action == "refuse" or evidence["share"] > self.config.max_share:
            return AnswerDecision(REFUSAL, refused=True, reason="recitation", evidence=evidence)
        return AnswerDecision(
            _masked(answer, runs, self.config.context), reason="recitation_masked", evidence=evidence
        )


def longest_common_span(answer: str, document: str) -> int:
    """Words in the longest run that `answer` and `document` share, case and punctuation ignored."""
    left, right = _tokens(answer), _tokens(document)
    return SequenceMatcher(None, left, right, autojunk=False).find_longest_match().size


def recited(answer: str, documents: Sequence[str], max_span: int) -> list[tuple[int, int]]:
    """Word ranges [start, end) of `answer`, disjoint and in order, that stand in a run longer than
    `max_span` words of some document.
    """
    tokens = _tokens(answer)
    size = max_span + 1
    if len(tokens) < size:
        return []
    seen = {
        tuple(piece[i : i + size]) for piece in map(_tokens, documents) for i in range(len(piece) - size + 1)
    }
    runs: list[tuple[int, int]] = []
    for i in range(len(tokens) - size + 1):
        if tuple(tokens[i : i + size]) in seen:
            if runs and i <= runs[-1][1]:
                runs[-1] = (runs[-1][0], i + size)
            else:
                runs.append((i, i + size))
    return runs


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)[:_MAX_WORDS]]


def _masked(answer: str, runs: Sequence[tuple[int, int]], context: int) -> str:
    places = [match.span() for match in _TOKEN.finditer(answer)]
    pieces: list[str] = []
    last = 0
    for start, end in runs:
        first = min(start + context, end - 1)
        pieces += [answer[last : places[first][0]], WITHHELD]
        last = places[end - 1][1]
    return "".join([*pieces, answer[last:]])
