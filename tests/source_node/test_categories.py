"""Categories by pattern and by similarity."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document
from source_node.categories import CategoryDescriptions, CategoryRules, SimilarityLabeler
from source_node.ingest import IngestOptions, ingest
from source_node.store import DocumentStore


def test_the_first_rule_that_matches_decides(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "rules:\n- {category: heart, pattern: 'cardi|heart'}\n- {category: letter, pattern: ^letters/, field: id}\n"
        "default: other\n"
    )
    rules = CategoryRules.read(path)
    given = [
        Document("letters/1", "About the Heart."),
        Document("letters/2", "x"),
        Document("3", "x"),
        Document("4", "heart", "", "own"),
    ]
    assert [rules.apply(d).category for d in given] == ["heart", "letter", "other", "own"]
    path.write_text("rules: [{category: a, pattern: '('}]")
    with pytest.raises(ConfigError, match="not a regular expression"):
        CategoryRules.read(path)


def test_the_nearest_description_names_the_category(tmp_path: Path) -> None:
    embedder = HashingEmbedder(256)
    path = tmp_path / "categories.yaml"
    path.write_text("categories: {metal: copper zinc iron, bird: sparrow finch owl}\nmin_similarity: 0.1\n")
    given = CategoryDescriptions.read(path)
    labeler = SimilarityLabeler(given, embedder)
    documents = [
        Document("1", "Copper and iron."),
        Document("2", "An owl."),
        Document("3", "Umbrella"),
        Document("4", "zinc", "", "own"),
    ]
    options = IngestOptions(labeler=labeler)
    ingest(documents, tmp_path / "store", embedder, options=options)
    assert [d.category for d in DocumentStore(tmp_path / "store").documents] == ["metal", "bird", None, "own"]
    assert ingest(documents, tmp_path / "store", embedder, options=options).unchanged == 4
    other = CategoryDescriptions(categories={"thing": "umbrella"}, min_similarity=0.5)
    options = IngestOptions(labeler=SimilarityLabeler(other, embedder))
    assert ingest(documents, tmp_path / "store", embedder, options=options).changed == 3
