"""A tiny random model made on the spot: the wrapper is what is tested, not the vectors' meaning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.embedding import open_embedder
from core.embedding.sentence_transformer import SentenceTransformerEmbedder
from core.errors import EmbeddingError


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    bert = folder / "bert"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(bert)
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(bert)
    sentence_transformers.SentenceTransformer(str(bert)).save(str(folder / "model"))
    return folder / "model"


def test_unit_rows_of_the_models_dimension(model_folder: Path) -> None:
    embedder = SentenceTransformerEmbedder(str(model_folder))
    assert embedder.dimension == 16
    vectors = embedder.embed(["a fact", "another", "", "a fact"])
    assert vectors.shape == (4, 16)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[0], vectors[3], atol=1e-6)
    assert embedder.embed([]).shape == (0, 16)


def test_by_name_with_its_path(model_folder: Path) -> None:
    embedder = open_embedder(f"sentence-transformer:{model_folder}")
    assert embedder.identity == f"sentence-transformer/{model_folder}"
    assert embedder.embed(["a"]).shape == (1, 16)


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(EmbeddingError, match="cannot load") as caught:
        SentenceTransformerEmbedder(str(tmp_path)).embed(["a"])
    assert "\n" not in str(caught.value)
