"""What an attacker knows of a corpus: plain data, made once, small enough to travel to a source."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median

from core.text import sentences, words
from sim.attacks.answers import AnswerIndex
from sim.attacks.lexicon import Lexicon, build_lexicon
from sim.corpora.records import Corpus, FactWorld

_SAMPLE = 3000  # documents looked at: enough for the statistics, bounded at a million documents
_MEDICAL = re.compile(
    r"\b(?:patients?|disease|treatments?|clinical|symptoms?|therapy|diagnos\w+|surgery|syndrome|cancer"
    r"|infections?|doctor|mg|dose|disorder|medicines?)\b",
    re.IGNORECASE,
)
_FINANCE = re.compile(
    r"\b(?:revenues?|fiscal|shares?|assets?|income|tax|sales|cash|net|stock|financial|earnings|million"
    r"|company|loan|bank|invest\w*|interest|debt)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CorpusView:
    """`domain` is general, medical or finance; `median_words` the median document length in words.

    `runs` are runs of consecutive sentences of single documents, for padding; `world` knows the facts
    behind the documents, where these were made from facts.
    """

    name: str
    domain: str
    median_words: int
    runs: tuple[tuple[str, ...], ...]
    lexicon: Lexicon
    answers: AnswerIndex
    world: FactWorld | None = None

    def for_source(self) -> CorpusView:
        """What tampering at a source needs: everything but the padding and the answers."""
        return replace(self, runs=(), answers=AnswerIndex(()))


@lru_cache(maxsize=16)
def view_of(corpus: Corpus) -> CorpusView:
    """The view of `corpus`, remembered as long as a few corpora are in use."""
    step = max(1, len(corpus.documents) // _SAMPLE)
    sample = [document.text for document in corpus.documents[::step]]
    runs = tuple(run for run in (tuple(sentences(text)) for text in sample) if run)
    return CorpusView(
        name=corpus.name,
        domain=domain_of(sample),
        median_words=int(median(len(text.split()) for text in sample)),
        runs=runs,
        lexicon=build_lexicon(sample),
        answers=AnswerIndex(tuple(corpus.questions)),
        world=corpus.world,
    )


def domain_of(texts: list[str]) -> str:
    """The domain most of whose words stand in `texts`: medical or finance from 2 in 100 on."""
    total = sum(len(words(text)) for text in texts)
    medical = sum(len(_MEDICAL.findall(text)) for text in texts)
    finance = sum(len(_FINANCE.findall(text)) for text in texts)
    if max(medical, finance) < max(0.02 * total, 1):
        return "general"
    return "medical" if medical >= finance else "finance"
