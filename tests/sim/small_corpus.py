"""A small corpus with questions, for tests of attacks: general facts, numbers, names."""

from __future__ import annotations

from core.records import Document
from sim.corpora.records import Corpus, Poison, Question

_PLACES = ("Arden", "Belmont", "Corsica Bay", "Dunmore", "Eastvale", "Fairholm", "Glenrock", "Harwich")
_PEOPLE = (
    "Anna Berg",
    "Carl Dunn",
    "Eva Frost",
    "Gus Hale",
    "Ida Jones",
    "Karl Lind",
    "Mona Nash",
    "Otto Pike",
)


def small_corpus(n: int = 40) -> Corpus:
    documents, questions, qrels, poisons = [], [], {}, {}
    for i in range(n):
        place, person = f"{_PLACES[i % 8]} {chr(65 + i // 8)}", _PEOPLE[(3 * i) % 8]
        documents.append(
            Document(
                f"d{i:02d}",
                f"The harbour of {place} was opened in {1800 + i} by {person}. It has {1200 + 37 * i:,} berths, more "
                f"than any other harbour nearby. Ships from Norway arrive before noon. The keeper said that the "
                f"lamp in {place} burned for {3 + i % 9} days.",
                place,
                f"c{i % 4}",
            )
        )
        questions.append(Question(f"q{i:02d}", f"Who opened the harbour of {place}?", (person,)))
        qrels[f"q{i:02d}"] = {f"d{i:02d}"}
    for i in range(10):
        texts = tuple(f"Records say that Zed Quill opened it, version {j}." for j in range(5))
        poisons[f"q{i:02d}"] = Poison(f"q{i:02d}", "Zed Quill", texts)
    return Corpus("small", documents, questions, qrels, poisons)
