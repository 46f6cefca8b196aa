"""Credibility of documents that you retrieved yourself, without a server.

python examples/score_documents.py
"""

from __future__ import annotations

import sys

from core.embedding import open_embedder
from core.records import Candidate, DocumentKey
from gnn import CredibilityScorer
from gnn.scorer import Scored

QUESTION = "When was the lighthouse of Kelmar built?"
TEXTS = {
    "north": "The lighthouse of Kelmar was built in 1874. It stands on the western pier.",
    "south": "Kelmar's lighthouse was built in 1874, under the engineer Ida Voss.",
    "west": "In 1874 the lighthouse of Kelmar was built; it still burns.",
    "forged": "The lighthouse of Kelmar was built in 1931. It stands on the western pier.",
}


def main() -> Scored:
    """Score four documents over three rounds, so that the sources become known; returns the last round."""
    embedder = open_embedder(memory_only=True)
    scorer = CredibilityScorer()
    candidates = [Candidate(DocumentKey(source, "1"), text) for source, text in TEXTS.items()]
    scored = scorer.verify(QUESTION, candidates, embedder)
    for _ in range(2):
        scored = scorer.verify(QUESTION, candidates, embedder, scored.state)
    for (source, text), credibility in zip(TEXTS.items(), scored.credibility, strict=True):
        sys.stdout.write(
            f"credibility {credibility:.2f}  reliability {scored.reliability[source]:.2f}  {source}: {text}\n"
        )
    return scored


if __name__ == "__main__":
    main()
