"""Gives documents without a category one: by patterns, or by similarity to descriptions of categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from pydantic import Field, field_validator

from core.bounds import MAX_ID_BYTES
from core.config import StrictModel, load
from core.embedding.base import Embedder, Vectors
from core.records import Document
from core.text import content_hash
from source_node.index import checked_vectors


class Rule(StrictModel):
    """Documents whose `field` matches `pattern` somewhere (a regular expression, case ignored)."""

    category: str = Field(min_length=1, max_length=MAX_ID_BYTES // 4)
    pattern: str = Field(min_length=1)
    field: Literal["id", "title", "text"] = "text"

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return value


class CategoryRules(StrictModel):
    """The file of `--category-rules`: the first rule that matches decides, else `default`."""

    rules: tuple[Rule, ...] = Field(min_length=1)
    default: str | None = None

    @classmethod
    def read(cls, path: Path) -> CategoryRules:
        """The rules in the YAML at `path`.

        Raises:
            ConfigError: no such file, or a key or pattern that is wrong.
        """
        return load(cls, path)

    def apply(self, document: Document) -> Document:
        """`document` with the category of its first matching rule, unless it has one already."""
        if document.category is not None:
            return document
        parts = {"id": document.doc_id, "title": document.title, "text": document.text}
        for rule in self.rules:
            if re.search(rule.pattern, parts[rule.field], re.IGNORECASE):
                return replace(document, category=rule.category)
        return replace(document, category=self.default)


class CategoryDescriptions(StrictModel):
    """The file of `--category-descriptions`: a sentence a category; below `min_similarity` there is none."""

    categories: dict[str, str] = Field(min_length=1)
    min_similarity: float = Field(default=0.2, ge=-1.0, le=1.0)

    @classmethod
    def read(cls, path: Path) -> CategoryDescriptions:
        """The descriptions in the YAML at `path`.

        Raises:
            ConfigError: no such file, or a key that is wrong.
        """
        return load(cls, path)


class Labeler(Protocol):
    """Names the category of documents from their vectors; equal `identity` labels equally."""

    @property
    def identity(self) -> str: ...

    def label(self, vectors: Vectors) -> Sequence[str | None]:
        """One category (or None) a row."""
        ...


class SimilarityLabeler:
    """The category whose description is nearest by cosine, None where none is near enough."""

    def __init__(self, given: CategoryDescriptions, embedder: Embedder) -> None:
        self._names = list(given.categories)
        self._least = given.min_similarity
        self._vectors = checked_vectors(embedder, list(given.categories.values()))
        self.identity = content_hash("\x1f".join((given.model_dump_json(), embedder.identity)))

    def label(self, vectors: Vectors) -> Sequence[str | None]:
        scores = vectors @ self._vectors.T
        best = np.argmax(scores, axis=1)
        return [
            self._names[column] if scores[row, column] >= self._least else None
            for row, column in enumerate(best)
        ]
