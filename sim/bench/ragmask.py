"""RAGMask's two modes: seconds a question, and how far the fast one decides as the exact one does."""

from __future__ import annotations

import statistics
import sys
import time
from math import ceil

import numpy as np

from core.embedding import open_embedder
from core.embedding.minilm import MiniLMEmbedder
from defenses.ragmask.mask import MaskConfig, Masker, Mode
from sim.attacks.query_as_poison import QueryCrafter
from sim.bench.data import corpora, texts_and_questions
from sim.bench.result import BenchOptions, Result

TOP_P = 5
ALPHA = 4.0
DOCUMENTS = 3_595  # nq as a whole
_DATA = ("nq",)


def run(options: BenchOptions) -> list[Result]:
    """`ragmask_exact`, `ragmask_fast` (s a question, no cache), `ragmask_agreement` of segment decisions.

    `ragmask_same_top`: share of the top p that both choose. The documents are the alpha * p best of the
    corpus, of which the last three carry the question as poison.
    """
    world, most = options.size((DOCUMENTS, DOCUMENTS), (60, 10))
    texts, questions = texts_and_questions(corpora(_DATA, world), most, options.times(5, 1))
    sys.stderr.write(f"{len(texts)} documents, embedded once and cached\n")
    cached = open_embedder()
    vectors, asked = cached.embed(texts), cached.embed(questions)
    bare = MiniLMEmbedder()
    bare.load()
    maskers = {mode: Masker(MaskConfig(mode=mode), bare) for mode in Mode}
    seconds: dict[Mode, list[float]] = {mode: [] for mode in Mode}
    alike, top = [], []
    for question, query in zip(questions, asked, strict=True):
        rows = np.argsort(-(vectors @ query), kind="stable")[: ceil(ALPHA * TOP_P)]
        documents = [texts[row] for row in rows]
        rng = np.random.default_rng(options.seed)
        documents[-3:] = [QueryCrafter().craft(question, text, rng) for text in documents[-3:]]
        found = {}
        for mode, masker in maskers.items():
            start = time.perf_counter()
            found[mode] = masker.sanitize(query, documents)
            seconds[mode].append(time.perf_counter() - start)
        for exact, fast in zip(found[Mode.EXACT], found[Mode.FAST], strict=True):
            alike += [(i in exact.cut) == (i in fast.cut) for i in range(len(exact.spans))]
        best = [set(np.argsort([-one.after for one in found[mode]])[:TOP_P].tolist()) for mode in Mode]
        top.append(len(best[0] & best[1]) / TOP_P)
    exact_s, fast_s = (statistics.median(seconds[mode]) for mode in (Mode.EXACT, Mode.FAST))
    return [
        Result("ragmask_exact", round(exact_s, 3), "s"),
        Result("ragmask_fast", round(fast_s, 3), "s", round(exact_s, 3), round(exact_s / fast_s, 2)),
        Result("ragmask_agreement", round(statistics.fmean(alike), 4), "share"),
        Result("ragmask_same_top", round(statistics.fmean(top), 4), "share"),
    ]
