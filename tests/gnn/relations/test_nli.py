"""A small random classifier, saved to disk and read back as any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.errors import ConfigError
from gnn.relations.nli import NliRelationScorer
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL, RelationScorer
from tests.gnn.parts import sentence_pairs

WORDS = "the bell weighs twelve nineteen kilograms and is made of bronze iron not".split()
LEFT = ["the bell weighs twelve kilograms", "the bell is bronze", "the bell is bronze"]
RIGHT = ["the bell weighs nineteen kilograms", "the bell is not bronze", "iron"]


def save(folder: Path, labels: dict[int, str]) -> str:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, id2label=labels, label2id={v: k for k, v in labels.items()},
            initializer_range=1.0,
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("nli")
    first = save(folder / "one", {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"})
    second = save(folder / "two", {0: "contradiction", 1: "entailment", 2: "neutral"})
    return first, second


def test_probabilities_have_no_direction(models):
    scorer = NliRelationScorer(models[0], batch=2)
    assert isinstance(scorer, RelationScorer)
    there, back = scorer.score(sentence_pairs(LEFT, RIGHT)), scorer.score(sentence_pairs(RIGHT, LEFT))
    assert there.shape == (3, 3)
    assert there.dtype == np.float32
    assert (there >= 0).all()
    np.testing.assert_allclose(there.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(there, back)
    fresh = NliRelationScorer(models[0], batch=64).score(sentence_pairs(RIGHT, LEFT))
    np.testing.assert_allclose(fresh, there, atol=1e-5)
    assert len({tuple(row) for row in there.tolist()}) == 3
    assert scorer.score(sentence_pairs([], [])).shape == (0, 3)
    (told,) = scorer.relate(sentence_pairs(LEFT, RIGHT, place=[0, 0, 0]))
    assert told[1] == there[:, CONFLICT].max()
    assert told[0] == pytest.approx(there[:, AGREE].max() * (1 - told[1]))


def test_columns_follow_the_models_own_labels(models):
    import torch

    for model, order in ((models[0], [1, 0, 2]), (models[1], [2, 1, 0])):  # neutral, agree, conflict
        scorer = NliRelationScorer(model)
        given = scorer._tokenizer(LEFT[0], RIGHT[0], return_tensors="pt")
        with torch.inference_mode():
            raw = torch.softmax(scorer._model(**given).logits, dim=-1)[0].numpy()
        read = scorer._read([(LEFT[0], RIGHT[0])])[0]
        np.testing.assert_allclose(read[[NEUTRAL, AGREE, CONFLICT]], raw[order], atol=1e-5)


def test_other_labels_and_missing_models_are_refused(tmp_path):
    other = save(tmp_path / "other", {0: "positive", 1: "neutral", 2: "negative"})
    with pytest.raises(ConfigError, match="entailment, neutral and contradiction, not positive"):
        NliRelationScorer(other)
    with pytest.raises(ConfigError, match="no such sequence classifier"):
        NliRelationScorer(str(tmp_path / "nothing"))
