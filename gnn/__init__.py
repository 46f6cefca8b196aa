"""Credibility: relations between documents, inference about sources, and the graph attention network.

`from gnn import CredibilityScorer` is what a notebook needs; nothing heavy is imported before it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnn.scorer import CredibilityScorer

__all__ = ["CredibilityScorer"]


def __getattr__(name: str) -> Any:
    if name == "CredibilityScorer":
        from gnn.scorer import CredibilityScorer

        return CredibilityScorer
    raise AttributeError(f"module 'gnn' has no attribute {name!r}")
