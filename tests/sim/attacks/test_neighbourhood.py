from __future__ import annotations

import numpy as np

from core.embedding.hashing import HashingEmbedder
from sim.attacks.neighbourhood import neighbourhood

EMBEDDER = HashingEmbedder(128)
RUNS = (
    ("Bread costs two coins.", "Rain fell all day."),
    ("The blue hall of Kelmar stands on a hill.", "Orla Venn painted its ceiling."),
    ("Visitors admire the ceiling of the blue hall.", "It was painted in spring."),
    ("Sheep eat grass.", "Stones are grey."),
)
QUESTION = "who painted the ceiling of the blue hall"


def test_what_is_near_without_the_answer() -> None:
    found = neighbourhood(QUESTION, RUNS, {"Orla Venn"}, EMBEDDER)
    assert set(found.texts) == {" ".join(RUNS[1]), " ".join(RUNS[2])}
    assert not any("Orla" in sentence for sentence in found.sentences)
    assert len(found.sentences) == 3
    assert found.sentence_vectors.shape == (3, 128)
    assert np.linalg.norm(found.centre) == np.float32(1.0) or abs(np.linalg.norm(found.centre) - 1) < 1e-5
    assert float(found.centre @ found.query) > float(EMBEDDER.embed([" ".join(RUNS[3])])[0] @ found.query)


def test_nothing_near() -> None:
    found = neighbourhood("zz yy", RUNS, set(), EMBEDDER)
    assert found.texts == found.sentences == ()
    assert np.array_equal(found.centre, found.query)
    assert neighbourhood("zz yy", (), set(), EMBEDDER).texts == ()
