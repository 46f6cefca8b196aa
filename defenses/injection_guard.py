"""Keeps instructions that stand in retrieved text or in a question from reaching the reader as such.

Documents are data. A sentence that addresses the model, a chat template's control token, an invisible
character or an image link that carries data out has no business in them: the guard cuts it out
(REWRITE) or drops the document, and says which. Detection is by pattern, so it raises the price of an
attack and does not end it; prompts must still delimit what they quote (`defenses.quoting`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from core.config import StrictModel, parse
from core.records import Candidate, Query
from core.stage import Hook, QueryDecision, Resources, StageInput, StageResult
from core.text import sentences
from core.verdict import Action, Verdict
from defenses import cues

_HIDDEN = 5  # invisible characters that make hidden text; typesetting leaves one or two in honest prose


class InjectionGuardConfig(StrictModel):
    """What is done with a document that holds instructions.

    `action`: `cut` removes the guilty sentences, `drop` the whole document. A document of which less
    than `keep_share` of its words would remain is dropped in any case. `refuse_queries`: a question with
    at least this many distinct cues is refused; 0 never refuses.
    """

    action: Literal["cut", "drop"] = "cut"
    keep_share: float = Field(default=0.3, ge=0, le=1)
    refuse_queries: int = Field(default=0, ge=0)


class InjectionGuardStage:
    """Pre-generation stage; stateless, no model."""

    name = "injection_guard"
    hook = Hook.PRE_GENERATION
    withholds = True  # what it drops stays hidden, also where everything else was dropped

    def __init__(
        self,
        config: Mapping[str, Any] | InjectionGuardConfig | None = None,
        resources: Resources | None = None,
    ) -> None:
        if not isinstance(config, InjectionGuardConfig):
            config = parse(InjectionGuardConfig, config or {}, self.name)
        self.config = config

    def run(self, given: StageInput) -> StageResult:
        judged = [self._judge(document) for document in given.documents]
        kept = tuple(document for document, verdict in judged if verdict.action is not Action.DROP)
        return StageResult(kept, tuple(verdict for _, verdict in judged))

    def _judge(self, document: Candidate) -> tuple[Candidate, Verdict]:
        found = findings(document.text)
        hits = float(sum(found.values()))
        if not hits:
            return document, Verdict(document.key, Action.KEEP, None, "passed")
        evidence = {name: float(value) for name, value in found.items() if value}
        text = without_instructions(document.text)
        share = len(text.split()) / max(1, len(document.text.split()))
        if self.config.action == "drop" or not text or share < self.config.keep_share:
            return document, Verdict(document.key, Action.DROP, None, "injection", evidence)
        if text == document.text:
            return document, Verdict(document.key, Action.KEEP, None, "passed", evidence)
        return replace(document, text=text), Verdict(
            document.key, Action.REWRITE, None, "injection", {**evidence, "kept_share": share}
        )


class InjectionQueryStage:
    """Pre-retrieval stage: cleans a question of control tokens and invisible characters, or refuses it."""

    name = "injection_query"
    hook = Hook.PRE_RETRIEVAL

    def __init__(
        self,
        config: Mapping[str, Any] | InjectionGuardConfig | None = None,
        resources: Resources | None = None,
    ) -> None:
        if not isinstance(config, InjectionGuardConfig):
            config = parse(InjectionGuardConfig, config or {}, self.name)
        self.config = config

    def run(self, query: Query) -> QueryDecision:
        found = findings(query.text)
        evidence = {name: float(value) for name, value in found.items() if value}
        hits = found["instruction"] + found["control"]
        if self.config.refuse_queries and hits >= self.config.refuse_queries:
            return QueryDecision(query, refused=True, reason="injection", evidence=evidence)
        if found["control"] or found["invisible"]:
            text = cues.remove(cues.fold(query.text), cues.CONTROL).strip()
            if not text:
                return QueryDecision(query, refused=True, reason="injection", evidence=evidence)
            return QueryDecision(replace(query, text=text), reason="cleaned", evidence=evidence)
        return QueryDecision(query, reason="passed", evidence=evidence)


def findings(text: str) -> dict[str, int]:
    """Distinct cues in `text` by kind; `invisible` is 0 or 1."""
    folded = cues.fold(text)
    return {
        "instruction": cues.count(folded, cues.INSTRUCTION),
        "control": cues.count(folded, cues.CONTROL),
        "exfiltration": cues.count(folded, cues.EXFILTRATION),
        "invisible": int(cues.invisible(text) >= _HIDDEN),
    }


def without_instructions(text: str) -> str:
    """`text` without guilty sentences, control tokens, image links and invisible characters.

    A text without any of them comes back unchanged.
    """
    if not any(findings(text).values()):
        return text
    folded = cues.remove(cues.remove(cues.fold(text), cues.EXFILTRATION), cues.CONTROL)
    if not cues.count(folded, cues.INSTRUCTION):
        return folded.strip()
    return " ".join(s for s in sentences(folded) if not cues.count(s, cues.INSTRUCTION))
