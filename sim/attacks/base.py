"""What an attack is, and the options that every attack is asked with.

An attack of kind `inject` makes texts for a question, which malicious sources return in front of their
own documents. An attack of kind `tamper` rewrites the documents that a malicious source returns. Either
is built from an `AttackContext` and draws only from the Generator that a call brings, so that equal
seeds give equal texts at every source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import Field

from core.config import StrictModel, parse
from core.errors import ConfigError
from sim.attacks import ATTACKS
from sim.attacks.view import CorpusView
from sim.corpora.records import Poison, Question

Kind = Literal["none", "inject", "tamper"]


class AttackOptions(StrictModel):
    """`--attack-option KEY=VALUE`; an option that the chosen attack does not read must keep its default.

    `collude`: all malicious sources use the same texts, edits and target; false deals texts out so that
    no two return the same one and draws edits per source. `prefix`: the question in front of a
    PoisonedRAG payload. `length`: `matched` pads texts with neutral sentences of the corpus to its median
    document length. `per_source`: attack documents per source and question (None: top-k). `reword`: a
    document that several sources hold is reworded independently at each. `swap` (control): honest sources
    return the edited text, malicious ones the original. `edit_rate`: share of the documents that
    tampering alters. `edits`: edits per document (None: about one in every second sentence, at least 2).
    `iterations`: HotFlip's. `samples`: paraphrases that AdvRAGgen chooses from. `writer`: who writes them,
    `rules`, `woven-rules` or a language model (`smollm2`, `openai:MODEL`, …).
    """

    collude: bool = True
    prefix: bool = True
    length: Literal["as-is", "matched"] = "as-is"
    per_source: int | None = Field(default=None, ge=1)
    reword: bool = False
    swap: bool = False
    edit_rate: float = Field(default=1.0, ge=0.0, le=1.0)
    edits: int | None = Field(default=None, ge=1)
    iterations: int = Field(default=8, ge=1)
    samples: int = Field(default=8, ge=1)
    writer: str = "rules"


@dataclass(frozen=True, slots=True)
class Payloads:
    """Texts that assert `target_answer`, most wanted first."""

    target_answer: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class AttackContext:
    """What an attack knows: its options, and of the corpus what `CorpusView` holds."""

    view: CorpusView
    options: AttackOptions
    seed: int = 0


@runtime_checkable
class Attack(Protocol):
    """The face of every attack; one of `payloads` and `tamper` is called, by `kind`.

    `reads` names the options that change this attack.
    """

    kind: ClassVar[Kind]
    reads: ClassVar[frozenset[str]]

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        """Texts for `question`, asserting the poison's target where one is given."""
        ...

    def tamper(self, text: str, domain: str, rng: np.random.Generator) -> str:
        """`text` with false edits; unchanged where nothing can be edited."""
        ...


class BaseAttack:
    """Shared by attacks: neither injects nor tampers unless a child says so."""

    kind: ClassVar[Kind] = "none"
    reads: ClassVar[frozenset[str]] = frozenset(AttackOptions.model_fields)

    def __init__(self, context: AttackContext) -> None:
        self.context = context

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        return Payloads(poison.target_answer if poison else "", ())

    def tamper(self, text: str, domain: str, rng: np.random.Generator) -> str:
        return text

    def tamper_document(self, doc_id: str, text: str, domain: str, rng: np.random.Generator) -> str:
        """The altered text of a document; by default its identity does not matter."""
        return self.tamper(text, domain, rng)


def open_attack(name: str, context: AttackContext) -> Attack:
    """The attack called `name`.

    Raises:
        ConfigError: unknown attack, or an option set that this attack does not read.
    """
    factory = ATTACKS.get(name)
    defaults = AttackOptions()
    for key in AttackOptions.model_fields:
        if key not in factory.reads and getattr(context.options, key) != getattr(defaults, key):
            known = ", ".join(sorted(factory.reads))
            raise ConfigError(f"attack {name!r} has no option {key!r}; its options: {known}")
    if context.options.swap and not context.options.collude:
        raise ConfigError(
            "attack option swap: malicious sources all return the original, collude must be true"
        )
    attack: Attack = factory(context)
    return attack


def parse_options(pairs: Sequence[str] | Mapping[str, Any]) -> AttackOptions:
    """Options from `KEY=VALUE` texts (or a mapping), strictly.

    Raises:
        ConfigError: no `=`, unknown key, a key twice, a value of the wrong type.
    """
    if isinstance(pairs, Mapping):
        return parse(AttackOptions, pairs, "attack options")
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not sign:
            raise ConfigError(f"attack option {pair!r} must be KEY=VALUE")
        if key in values:
            raise ConfigError(f"attack option {key!r} is given twice")
        values[key] = None if value.strip().lower() == "none" else value.strip()
    return parse(AttackOptions, values, "attack options")
