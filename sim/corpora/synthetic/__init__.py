"""A fictional world: entities, facts in several independent tellings, near misses, questions and poisons.

Nothing in it exists, so no language model knows the answers. Documents of one group tell the same
facts in different words, so that several sources can hold the same knowledge without copies. All of it
follows from a seed; documents are streamed, groups are made one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from random import Random

import numpy as np

from core.errors import ConfigError
from core.records import Document
from core.seeding import derive_seed
from sim.corpora.records import Corpus, Poison, Question
from sim.corpora.synthetic.business import COMPANY
from sim.corpora.synthetic.culture import BOOK
from sim.corpora.synthetic.engineering import STRUCTURE
from sim.corpora.synthetic.kinds import Kind
from sim.corpora.synthetic.medicine import DRUG
from sim.corpora.synthetic.names import Names
from sim.corpora.synthetic.passages import Fact, Group, claim, tell
from sim.corpora.synthetic.people import PERSON
from sim.corpora.synthetic.places import TOWN
from sim.corpora.synthetic.values import Value, other

KINDS: tuple[Kind, ...] = (TOWN, PERSON, COMPANY, DRUG, BOOK, STRUCTURE)
DEFAULT_DOCUMENTS = 1000
MAX_DOCUMENTS = 10_000_000
_QUESTIONS = 1000
_CORE = 4
_ID = re.compile(r"w(\d{7,})-\d{2,}")
_POISONS = 5
_SUPPORTS = (
    "Two independent archives agree on this.",
    "Earlier statements to the contrary have been corrected since.",
    "This was confirmed when the records were checked again.",
    "What older guides say about it was a misprint.",
    "Anyone who asks on the spot is told the same.",
    "A recent survey came to the same result.",
    "The official register was updated accordingly.",
    "Doubts about it have been settled for good.",
)


class SyntheticWorld:
    """A world of `n_documents` documents, `wordings` tellings of each group of facts.

    Raises:
        ConfigError: a size out of range.
    """

    def __init__(self, n_documents: int = DEFAULT_DOCUMENTS, seed: int = 0, wordings: int = 3) -> None:
        if not 1 <= n_documents <= MAX_DOCUMENTS:
            raise ConfigError(
                f"the synthetic world has 1 to {MAX_DOCUMENTS:,} documents, not {n_documents:,}"
            )
        if not 1 <= wordings <= 100:
            raise ConfigError(f"the synthetic world has 1 to 100 wordings of a fact, not {wordings}")
        self.n_documents = n_documents
        self.wordings = wordings
        self.seed = seed
        self._names = Names(seed)
        self.group = lru_cache(maxsize=4096)(self._group)

    @property
    def n_groups(self) -> int:
        """How many groups of facts there are; the last may have fewer wordings."""
        return -(-self.n_documents // self.wordings)

    def documents(self) -> Iterator[Document]:
        """All documents, those of a group one after the other."""
        for number in range(self.n_groups):
            group = self.group(number)
            rng = self._random("orders", number)
            orders = [rng.sample(range(n), n) for n in (len(fact.relation.told) for fact in group.core)]
            for wording in range(min(self.wordings, self.n_documents - number * self.wordings)):
                text = tell(group, wording, orders, self._random("telling", number, wording))
                yield Document(f"w{number:07d}-{wording:02d}", text, group.name, group.kind.category)

    def __reduce__(self) -> tuple[type[SyntheticWorld], tuple[int, int, int]]:
        return SyntheticWorld, (self.n_documents, self.seed, self.wordings)

    def group_of(self, doc_id: str) -> int | None:
        """The number of the group that a document tells, None where it is not of this world."""
        found = _ID.fullmatch(doc_id)
        return int(found[1]) if found is not None and int(found[1]) < self.n_groups else None

    def values(self, doc_id: str) -> tuple[tuple[str, ...], ...]:
        """The ways to write the value of each fact of the document's group; empty for a foreign document."""
        number = self.group_of(doc_id)
        if number is None:
            return ()
        group = self.group(number)
        return tuple(fact.value.forms for fact in (*group.core, *group.spare))

    def falsify(self, doc_id: str, text: str, rng: np.random.Generator, facts: int | None = None) -> str:
        """`text` with other values for `facts` facts of its group (None: half of them).

        Equal draws alter the same facts in the same way in every telling of the group. At least one of
        the facts is told in all of them.
        """
        number = self.group_of(doc_id)
        if number is None:
            return text
        group = self.group(number)
        draws = Random(int(rng.integers(2**62)))
        wanted = facts if facts is not None else (len(group.core) + len(group.spare) + 1) // 2
        first = draws.randrange(len(group.core))
        others = [fact for i, fact in enumerate((*group.core, *group.spare)) if i != first]
        for fact in [group.core[first], *draws.sample(others, min(len(others), max(0, wanted - 1)))]:
            wrong = other(fact.relation.draw, fact.value, draws, self._names)
            text = _put(text, fact.value, wrong)
        return text

    def questions(self, limit: int = _QUESTIONS) -> Iterator[tuple[Question, Poison, set[str]]]:
        """(question, poison, ids of the documents that answer it), at most `limit`, one a group."""
        count = min(limit, self.n_groups)
        for number in sorted(self._random("asked").sample(range(self.n_groups), count)):
            group = self.group(number)
            rng = self._random("question", number)
            fact = rng.choice(group.core)
            form = rng.choice(fact.relation.asked)
            question = Question(f"q{number:07d}", form.format(n=group.name), fact.value.forms)
            wrong = other(fact.relation.draw, fact.value, rng, self._names)
            forms = rng.sample(fact.relation.told, _POISONS)
            supports = rng.sample(_SUPPORTS, _POISONS)
            texts = tuple(
                f"{claim(group, fact, wrong, form, rng)} {support}"
                for form, support in zip(forms, supports, strict=True)
            )
            held = min(self.wordings, self.n_documents - number * self.wordings)
            relevant = {f"w{number:07d}-{wording:02d}" for wording in range(held)}
            yield question, Poison(question.query_id, wrong.text, texts), relevant

    def _group(self, number: int) -> Group:
        kind = KINDS[number % len(KINDS)]
        name = self._names.entity(kind.names, number // len(KINDS))
        rng = self._random("facts", number)
        drawn = rng.sample(kind.relations, len(kind.relations))
        facts = [Fact(relation, relation.draw(rng, self._names)) for relation in drawn]
        return Group(number, name, kind, tuple(facts[:_CORE]), tuple(facts[_CORE:]))

    def _random(self, *path: str | int) -> Random:
        """The stream of draws that `path` names (for single draws the standard library is faster)."""
        return Random(derive_seed(self.seed, *path))


def _put(text: str, value: Value, wrong: Value) -> str:
    """`text` with `wrong` in place of `value`, written in the same way where there is one."""
    for i, form in enumerate(value.forms):
        found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text, re.IGNORECASE)
        if found is not None:
            told = wrong.forms[min(i, len(wrong.forms) - 1)]
            if found[0][0].isupper() and not form[0].isupper():
                told = told[0].upper() + told[1:]
            return f"{_article(text[: found.start()], told)}{told}{text[found.end() :]}"
    return text


def _article(before: str, value: str) -> str:
    """`before` with the indefinite article that it may end in made to fit `value`."""
    found = re.search(r"\b([Aa])n? $", before)
    if found is None or not value[:1].isalpha():
        return before
    return f"{before[: found.start()]}{found[1]}{'n' if value[0].lower() in 'aeiou' else ''} "


def build_world(n_documents: int | None = None, seed: int = 0, wordings: int = 3) -> Corpus:
    """The world as a data set in memory, its name beginning with `synthetic`."""
    size = DEFAULT_DOCUMENTS if n_documents is None else n_documents
    world = SyntheticWorld(size, seed, wordings)
    asked = list(world.questions())
    return Corpus(
        name=f"synthetic-{size}-s{seed}",
        documents=list(world.documents()),
        questions=[question for question, _, _ in asked],
        qrels={question.query_id: relevant for question, _, relevant in asked},
        poisons={question.query_id: poison for question, poison, _ in asked},
        synthetic=True,
        groups=[i // wordings for i in range(size)],
        world=world,
    )
