from __future__ import annotations

import numpy as np

from aggregator.config import StageSpec
from aggregator.reputation import Reputation
from aggregator.stages import build_stages
from core.embedding.hashing import HashingEmbedder
from core.records import Candidate, DocumentKey, Query
from core.stage import Resources, StageInput
from sim.relations import MOST, Relation, RelationWatch, by_position, relations_of

TEXTS = (
    "Arden is a town on the river Ard. The gate of Arden is painted red. It was founded in 1210.",
    "The gate of Arden is painted red. Arden was founded in 1210.",
    "Arden is a town on the river Ard. The gate of Arden is painted blue. It was founded in 1300.",
)


def candidates(texts=TEXTS):
    keys = [DocumentKey(f"source-{i}", f"d{i}") for i in range(len(texts))]
    return tuple(
        Candidate(key, text, holders=(key,), rank=i + 1)
        for i, (key, text) in enumerate(zip(keys, texts, strict=True))
    )


def run(names, watch=True):
    embedder = HashingEmbedder()
    specs = [StageSpec(name=name) for name in names]
    pipeline = build_stages(specs, Resources(embedder=embedder), Reputation()).pipeline
    seen = RelationWatch(pipeline) if watch else None
    documents = candidates()
    given = StageInput(
        Query("What colour is the gate of Arden?"),
        documents,
        embedder.embed([d.text for d in documents]),
        embedder.embed(["What colour is the gate of Arden?"])[0],
    )
    return pipeline.run(given), seen


def test_a_verifiers_relations_are_seen_and_change_nothing():
    watched, seen = run(["agreement"])
    alone, _ = run(["agreement"], watch=False)
    assert [r.verdicts for r in watched.trail] == [r.verdicts for r in alone.trail]
    found = {(one.left.doc_id, one.right.doc_id): one for one in seen.take()}
    assert found["d0", "d2"].conflict > 0.3
    assert found["d0", "d1"].conflict < 0.1 < found["d0", "d1"].agree
    assert seen.take() == ()


def test_stages_that_relate_nothing_leave_nothing():
    _, seen = run(["tris"])
    assert seen.take() == ()


class Signals:
    def __init__(self, agree, conflict):
        self.relations = self
        self.agree, self.conflict = agree, conflict


def test_the_strongest_are_kept_and_weak_ones_go():
    n = 40
    rng = np.random.default_rng(0)
    agree = np.triu(rng.random((n, n)), 1).astype(np.float32)
    agree += agree.T
    agree[agree < 0.1] = 0.01
    documents = candidates([str(i) for i in range(n)])
    found = relations_of(documents, Signals(agree, np.zeros_like(agree)))
    assert len(found) == MOST
    assert [one.agree for one in found] == sorted((one.agree for one in found), reverse=True)
    few = relations_of(documents[:2], Signals(agree[:2, :2] * 0 + 0.01, np.zeros((2, 2))))
    assert few == ()


def test_ends_become_positions_and_strangers_are_left_out():
    a, b, c = (one.key for one in candidates())
    relations = [Relation(a, b, 0.5, 0.0), Relation(b, c, 0.0, 1.0)]
    assert by_position(relations, {a: 4, b: 1}) == ((4, 1, 0.5, 0.0),)
