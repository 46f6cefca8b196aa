"""RAGPart beside the C(N,k) databases that the paper builds, on real documents and on random vectors."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.embedding import open_embedder
from core.embedding.base import Vectors, unit_rows
from core.errors import ScrError
from core.seeding import generator
from defenses.ragpart.databases import Databases
from defenses.ragpart.fragments import embed_fragments
from defenses.ragpart.index import FragmentIndex
from sim.bench.data import corpora, texts_and_questions
from sim.bench.result import BenchOptions, Result

FRAGMENTS = 10
COMBINE = 5
DOCUMENTS = 10_000
LARGE = 100_000
TOP_P = 10
TOLERANCE = 1e-6
_DATA = ("nq", "hotpotqa", "medquad")
_NAME = f"n{FRAGMENTS}_k{COMBINE}"


def run(options: BenchOptions) -> list[Result]:
    """`ragpart_n10_k5_10000` (ms a question) and its memory, their ratios to the literal databases.

    Beside them: the share of list places with the same document in both, the largest difference in
    score, 100,000 documents (each real one ten times, with noise), and random vectors, which leave
    the pruning most to do.

    Raises:
        ScrError: a list differs by more than rounding.
    """
    size, most = options.size((DOCUMENTS, LARGE), (60, 120))
    found = corpora(_DATA, size)
    texts, questions = texts_and_questions(found, size, options.times(30, 3))
    names = "+".join(corpus.name for corpus in found)
    sys.stderr.write(f"{len(texts)} documents of {names}; fragments are embedded once and cached\n")
    embedder = open_embedder()
    parts = [
        embed_fragments(texts[start : start + 500], FRAGMENTS, embedder)
        for start in range(0, len(texts), 500)
    ]
    vectors = np.concatenate(parts)
    asked = list(embedder.embed(questions))
    rng = generator(options.seed, "bench", "ragpart")
    results = _beside_literal(vectors, asked, f"{_NAME}_{size}", memory=True)
    large = np.repeat(vectors, most // len(vectors), axis=0)
    large += 0.02 * rng.standard_normal(large.shape, dtype=np.float32)
    results += _alone(large, asked)
    del large
    shape = (len(vectors), FRAGMENTS, vectors.shape[2])
    random = unit_rows(rng.standard_normal((shape[0] * shape[1], shape[2]), dtype=np.float32)).reshape(shape)
    drawn = list(unit_rows(rng.standard_normal((min(10, len(asked)), shape[2]))))
    return results + _beside_literal(random, drawn, f"random_{_NAME}_{size}", memory=False)


def _alone(vectors: Vectors, asked: Sequence[NDArray[np.float32]]) -> list[Result]:
    """Ours where the literal form would not fit into memory."""
    index = FragmentIndex(vectors, COMBINE)
    times = []
    for query in asked:
        start = time.perf_counter()
        index.poll(query, TOP_P)
        times.append(1000 * (time.perf_counter() - start))
    name = f"{_NAME}_{len(vectors)}"
    return [
        Result(f"ragpart_{name}", round(statistics.median(times), 3), "ms"),
        Result(f"ragpart_memory_{name}", round(index.nbytes / 1e6, 1), "MB"),
    ]


def _beside_literal(
    vectors: Vectors, asked: Sequence[NDArray[np.float32]], name: str, *, memory: bool
) -> list[Result]:
    """Ours and the literal form in turn, question by question, after a check that they agree."""
    index, literal = FragmentIndex(vectors, COMBINE), Databases.averaged(vectors, COMBINE)
    same, apart = _agreement(index, literal, asked)
    ours, theirs = [], []
    for query in asked:
        start = time.perf_counter()
        index.poll(query, TOP_P)
        middle = time.perf_counter()
        literal.poll(query, TOP_P)
        ours.append(1000 * (middle - start))
        theirs.append(1000 * (time.perf_counter() - middle))
    fast, slow = statistics.median(ours), statistics.median(theirs)
    contenders = statistics.median(len(index.poll(query, TOP_P).documents) for query in asked)
    results = [Result(f"ragpart_{name}", round(fast, 3), "ms", round(slow, 3), round(slow / fast, 2))]
    if memory:
        held = literal.nbytes / index.nbytes
        results.append(
            Result(
                f"ragpart_memory_{name}",
                round(index.nbytes / 1e6, 1),
                "MB",
                round(literal.nbytes / 1e6, 1),
                round(held, 2),
            )
        )
    results += [
        Result(f"ragpart_agreement_{name}", round(same, 6), "share"),
        Result(f"ragpart_score_gap_{name}", apart, "cosine"),
        Result(f"ragpart_contenders_{name}", float(contenders), "documents"),
    ]
    del literal
    gc.collect()
    return results


def _agreement(
    index: FragmentIndex, literal: Databases, asked: Sequence[NDArray[np.float32]]
) -> tuple[float, float]:
    """Share of list places with the same document, and the largest difference of scores in one place."""
    same, apart = [], 0.0
    for query in asked:
        got, scores = index.lists(query, TOP_P)
        want, expected = literal.lists(query, TOP_P)
        same.append(float((got == want).mean()))
        apart = max(apart, float(np.abs(scores - expected).max()))
    if apart > TOLERANCE:
        raise ScrError(f"ours and the literal databases differ by {apart:.2g} in score: a bug")
    return statistics.fmean(same), apart
