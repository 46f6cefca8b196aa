from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnn.graph import DOCUMENT_FEATURES, EDGE_FEATURES, SOURCE_FEATURES, Graph, build_graph
from gnn.round import VerificationRound
from tests.gnn.parts import FALSE, OTHER, QUESTION, TRUE, a_round, dispute_round
from tests.gnn.test_signals import channels


def graph_of(given_: VerificationRound) -> Graph:
    ready = channels()
    return build_graph(ready.run(given_, ready.start(given_.sources), 0.0))


def check(graph: Graph, n: int, m: int) -> None:
    assert graph.documents.shape == (n, len(DOCUMENT_FEATURES))
    assert graph.sources.shape == (m, len(SOURCE_FEATURES))
    assert graph.base.shape == (n,)
    assert graph.edge_index.shape == (2, len(graph.edge_attr))
    assert graph.edge_attr.shape[1] == len(EDGE_FEATURES)
    for array in (graph.documents, graph.sources, graph.edge_attr, graph.base):
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
        assert (np.abs(array) <= 8.0).all()
    if graph.edge_index.size:
        assert graph.edge_index.min() >= 0
        assert graph.edge_index.max() < n + m


def test_edges_by_hand() -> None:
    given_ = a_round([(TRUE, ["a", "b"]), (FALSE, ["c"]), (OTHER, ["c"])])
    graph = graph_of(given_)
    check(graph, 3, 3)
    edges = {(int(a), int(b)): attr for (a, b), attr in zip(graph.edge_index.T, graph.edge_attr, strict=True)}
    # documents 0-2, sources a b c = nodes 3 4 5
    between = {edge for edge in edges if max(edge) < 3}
    assert {(0, 1), (1, 0)} <= between
    assert edges[0, 1][1] > 0.3  # conflict
    holds = {edge for edge, attr in edges.items() if attr[4] == 1.0}
    assert holds == {(3, 0), (4, 0), (5, 1), (5, 2)}
    held_by = {edge for edge, attr in edges.items() if attr[5] == 1.0}
    assert held_by == {(b, a) for a, b in holds}


def test_a_big_round_keeps_a_bounded_number_of_edges_per_document() -> None:
    held = [
        (f"{TRUE} Note {'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]} says so.", [f"s{i % 10}"])
        for i in range(60)
    ]
    graph = graph_of(a_round(held))
    check(graph, 60, 10)
    inner = graph.edge_index[:, (graph.edge_index < 60).all(axis=0)]
    assert np.bincount(inner[1], minlength=60).max() <= 24


def test_no_documents() -> None:
    graph = graph_of(a_round([], sources=["a", "b"]))
    check(graph, 0, 2)
    assert graph.edge_index.shape == (2, 0)


TEXTS = [TRUE, FALSE, OTHER, f"{QUESTION} {FALSE}", "?", "12 12 12", "A. B. C."]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(TEXTS), st.lists(st.sampled_from("abcd"), min_size=1, unique=True)),
        min_size=1, max_size=7, unique_by=lambda pair: pair[0],
    )
)  # fmt: skip
def test_any_round(held: list[tuple[str, list[str]]]) -> None:
    check(graph_of(a_round(held, sources=["a", "b", "c", "d"])), len(held), 4)


def test_base_is_the_fused_logit_of_the_channels() -> None:
    given_ = dispute_round()
    ready = channels()
    signals = ready.run(given_, ready.start(given_.sources), 0.0)
    assert build_graph(signals).base == pytest.approx(np.clip(signals.fused_logit, -8, 8), abs=1e-5)
