"""Published figures of Adaptive Defense Orchestration (arXiv 2604.20932), as far as they are published.

Tables 4 and 8 from the authors' result files, which agree with every number that the paper quotes.
"""

from __future__ import annotations

SOURCE = "Adaptive Defense Orchestration for RAG, arXiv 2604.20932"
NQ, TRIVIA, PUBMED = "nq", "triviaqa", "pubmedqa"
METRICS = ("answer_relevancy", "faithfulness", "contextual_relevancy", "contextual_recall")

_NAMES = ("none", "dp", "trustrag", "av", "dp+trustrag", "dp+av", "trustrag+av", "all")
_TABLE_8 = {
    NQ: (
        (0.93, 0.74, 0.489, 0.593),
        (0.863, 0.77, 0.321, 0.361),
        (0.86, 0.72, 0.47, 0.586),
        (0.78, 0.77, 0.449, 0.592),
        (0.853, 0.67, 0.344, 0.38),
        (0.74, 0.58, 0.286, 0.364),
        (0.75, 0.69, 0.387, 0.571),
        (0.863, 0.72, 0.305, 0.35),
    ),
    TRIVIA: (
        (0.70, 0.79, 0.514, 0.575),
        (0.75, 0.82, 0.264, 0.359),
        (0.72, 0.81, 0.509, 0.567),
        (0.68, 0.83, 0.513, 0.606),
        (0.79, 0.75, 0.266, 0.339),
        (0.74, 0.76, 0.222, 0.354),
        (0.713, 0.79, 0.494, 0.59),
        (0.69, 0.77, 0.232, 0.336),
    ),
    PUBMED: (
        (0.833, 0.643, 0.424, 0.625),
        (0.793, 0.68, 0.27, 0.398),
        (0.803, 0.712, 0.418, 0.584),
        (0.76, 0.666, 0.39, 0.591),
        (0.803, 0.66, 0.267, 0.383),
        (0.563, 0.70, 0.224, 0.354),
        (0.477, 0.77, 0.326, 0.52),
        (0.583, 0.72, 0.205, 0.335),
    ),
}
TABLE_8: dict[tuple[str, str], dict[str, float]] = {
    (dataset, policy): dict(zip(METRICS, values, strict=True))
    for dataset, rows in _TABLE_8.items()
    for policy, values in zip(_NAMES, rows, strict=True)
}

# (data set, policy) -> attack success rate in percent
TABLE_5: dict[tuple[str, str], float] = {
    (NQ, "none"): 70.0,
    (NQ, "trustrag"): 0.0,
    (NQ, "av"): 72.0,
    (TRIVIA, "none"): 56.0,
    (TRIVIA, "trustrag"): 0.0,
    (TRIVIA, "av"): 56.0,
}
# (data set, policy) -> (members, non-members), percent of masks filled exactly
TABLE_6: dict[tuple[str, str], tuple[float, float]] = {
    (TRIVIA, "none"): (29.5, 12.0),
    (TRIVIA, "dp"): (16.8, 12.0),
    (PUBMED, "none"): (37.0, 6.0),
    (PUBMED, "dp"): (19.3, 5.0),
}
# aggregate over data sets; the Llama 3 controller
TABLE_7_ADO = {"asr": 0.0, "cr_poisoning": 0.429, "leak": 0.0, "cr_membership": 0.411}
TABLE_7_TARGETED = {"asr": 0.0, "cr_poisoning": 0.594, "leak": 18.05}
