"""What TRIS costs a question: layers 1 and 2 over 50 candidates whose vectors are there."""

from __future__ import annotations

from core.embedding.base import unit_rows
from core.records import Candidate, DocumentKey, Query
from core.seeding import generator
from core.stage import Resources, StageInput
from defenses.tris.stage import TrisStage
from sim.bench.result import BenchOptions, Result, median_ms

DOCUMENTS = 50
DIMENSION = 384
_WORDS = 100  # per document
_QUESTION = "which engineer designed the second lighthouse on the northern pier of kelmar"


def run(options: BenchOptions) -> list[Result]:
    """`tris_l1_l2_50` in milliseconds, and each layer alone."""
    given = _round(options.seed)
    repeats = options.times(100)
    layers = {
        "tris_l1_l2_50": {},
        "tris_l1_50": {"prefix": False},
        "tris_l2_50": {"geometry": False},
    }
    found = []
    for name, settings in layers.items():
        stage = TrisStage(settings, Resources())
        found.append(Result(name, round(median_ms(lambda run=stage.run: run(given), repeats), 4), "ms"))  # type: ignore[misc]
    return found


def _round(seed: int) -> StageInput:
    rng = generator(seed, "bench", "tris")
    vocabulary = [*_QUESTION.split(), *(f"word{i}" for i in range(400))]
    documents = tuple(
        Candidate(
            DocumentKey(f"source-{i % 10:02d}", f"d{i}"), " ".join(rng.choice(vocabulary, _WORDS)), rank=i + 1
        )
        for i in range(DOCUMENTS)
    )
    vectors = unit_rows(rng.normal(size=(DOCUMENTS, DIMENSION)))
    return StageInput(Query(_QUESTION), documents, vectors, None, {}, seed)
