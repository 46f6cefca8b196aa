"""What verification of a round takes: documents of ten sources, sentence vectors cached, one core.

Documents come from the embedded synthetic world. Cold is the first time that a text is seen: no split,
facts or relations of it are known, only its vectors. Warm is the same texts again, under the beliefs
that the first time left.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from aggregator.fusion import fuse
from core.embedding import open_embedder
from core.embedding.base import Embedder
from core.memory import settle
from core.records import Candidate, Query
from gnn.checkpoint import Checkpoint, load_checkpoint
from gnn.credibility import tampering_evidence, verification_credibility
from gnn.inference.evidence import round_evidence
from gnn.inference.suspicion import content_levels
from gnn.round import VerificationRound, document_sentences, prepare_round
from gnn.scorer import SCHEMAS, CredibilityScorer
from gnn.signals import sigmoid
from gnn.texts import forget_texts
from sim.bench.result import BenchOptions, Result
from sim.corpora.records import Question
from sim.corpora.synthetic import build_world
from sim.rounds import RoundFactory, prepare

SOURCES = 10
WORLD = 1600  # documents: enough for a round of 1,000 distinct texts
SIZES = (50, 1000)
SMALL = (120, (10, 40))  # the same of a trial
STEPS = ("prepare", "content", "align_relations", "filter", "graph_network")


@dataclass(frozen=True)
class Given:
    """One round as it comes from the sources."""

    question: Question
    candidates: tuple[Candidate, ...]


def run(options: BenchOptions) -> list[Result]:
    """`verify_50_cold`, `verify_50_warm`, `verify_1000_cold`, `verify_1000_warm`; their steps; embedding."""
    with one_thread():
        checkpoint = load_checkpoint(None, SCHEMAS)
        embedder = open_embedder()
        documents, sizes = options.size((WORLD, SIZES), SMALL)
        world = prepare(build_world(documents, options.seed), embedder)
        results = []
        for size in sizes:
            factory = RoundFactory(
                world, embedder, SOURCES, malicious=0.0, alpha=100.0, top_k=size // SOURCES, seed=options.seed
            )
            rounds = [
                _round(factory, question, embedder, size)
                for question in world.corpus.questions[: 2 if size == sizes[-1] else 20]
            ]
            repeats = options.times(5 if size == sizes[-1] else 40)
            results += measure(checkpoint, embedder, rounds, repeats, size)
            if size == sizes[0]:
                results.append(Result(f"embedding_{size}_first_sight", _embedding(rounds[0]), "ms"))
        return results


def measure(
    checkpoint: Checkpoint, embedder: Embedder, rounds: list[Given], repeats: int, size: int
) -> list[Result]:
    """Cold and warm milliseconds of `rounds` (median), and of each step."""
    cold: list[float] = []
    warm: list[float] = []
    steps: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    _score(CredibilityScorer(checkpoint), rounds[0], embedder)  # vectors into memory, libraries loaded
    settle()  # as a server does
    for i in range(repeats):
        given = rounds[i % len(rounds)]
        embedder.embed([s for c in given.candidates for s in (*document_sentences(c.text), c.text)])
        forget_texts()
        scorer = CredibilityScorer(checkpoint)
        times = [_timed(partial(_score, scorer, given, embedder)) for _ in range(3)]
        cold.append(times[0])
        warm += times[1:]
        forget_texts()
        scorer = CredibilityScorer(checkpoint)
        steps["cold"].append(stepwise(scorer, given, embedder))
        steps["warm"].append(stepwise(scorer, given, embedder))
    results = [
        Result(f"verify_{size}_{name}", round(statistics.median(times), 3), "ms")
        for name, times in (("cold", cold), ("warm", warm))
    ]
    for name, found in steps.items():
        for step in STEPS:
            value = statistics.median(one[step] for one in found)
            results.append(Result(f"step/{size}_{name}/{step}", round(value, 3), "ms"))
    return results


def stepwise(scorer: CredibilityScorer, given: Given, embedder: Embedder) -> dict[str, float]:
    """Milliseconds of each step of one round, taken as `Channels.run` takes them."""
    channels, times = scorer.channels, {}

    def step(name: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        value = action()
        times[name] = 1000 * (time.perf_counter() - start)
        return value

    prepared: VerificationRound = step(
        "prepare", lambda: prepare_round(given.question.text, given.candidates, embedder)
    )
    _, logits = step("content", lambda: channels.content_logits(prepared))
    margin = logits - scorer.threshold
    related = step(
        "align_relations",
        lambda: channels.relate(prepared),
    )
    prior = scorer.start(prepared.sources)

    def infer() -> None:
        trust = sigmoid(margin + 1.0).astype("float32")
        gated = related.gated(trust)
        evidence = round_evidence(gated, prepared.holders, content_levels(prepared.holders, margin), trust)
        source_filter = channels.filter_for(len(prepared.sources))
        beliefs = source_filter.update(prior, evidence)
        source_filter.predict(beliefs, evidence)
        way = beliefs.expected(channels.filter_config)
        honest = beliefs.any_honest(prepared.holders)
        tampering = tampering_evidence(gated, evidence.scale, honest, way.noise)
        verification_credibility(honest, tampering, way)

    step("filter", infer)
    signals = channels.run(prepared, prior, scorer.threshold)
    step("graph_network", lambda: scorer.scored(prepared, signals))
    return times


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one core meanwhile."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _round(factory: RoundFactory, question: Question, embedder: Embedder, size: int) -> Given:
    """The distinct texts that ten sources return, `size` in all."""
    (simulated,) = factory.rounds([question])
    fused = fuse(simulated.replies, Query(question.text, simulated.request_id), embedder)
    return Given(question, fused.candidates[:size])


def _score(scorer: CredibilityScorer, given: Given, embedder: Embedder) -> object:
    return scorer.verify(given.question.text, given.candidates, embedder)


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def _embedding(given: Given) -> float:
    """Milliseconds to embed the round's documents and sentences with nothing cached, model loaded."""
    embedder = open_embedder(memory_only=True)
    embedder.embed(["a text that loads the model"])
    texts = [s for c in given.candidates for s in (c.text, *document_sentences(c.text))]
    return round(_timed(lambda: embedder.embed([given.question.text, *texts])), 1)
