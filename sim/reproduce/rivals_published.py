"""What TrustRAG (arXiv 2501.00879, table 2) and FilterRAG (arXiv 2508.02835, table I) publish, in percent."""

from __future__ import annotations

from collections.abc import Mapping

SHARES = (100, 80, 60, 40, 20)


def _by_share(*pairs: tuple[float, float]) -> Mapping[int, tuple[float, float]]:
    return dict(zip(SHARES, pairs, strict=True))


# (dataset, defense) -> share poisoned -> (accuracy, ASR), Llama-3.1-8B
TRUSTRAG: Mapping[tuple[str, str], Mapping[int, tuple[float, float]]] = {
    ("nq", "none"): _by_share((2, 98), (2, 98), (3, 97), (4, 93), (26, 73)),
    ("nq", "trustrag"): _by_share((67, 6), (51, 19), (56, 3), (62, 2), (43, 50)),
    ("nq", "robustrag"): _by_share((11, 83), (15, 75), (23, 63), (37, 46), (51, 27)),
    ("hotpotqa", "none"): _by_share((1, 99), (2, 97), (6, 94), (5, 94), (27, 81)),
    ("hotpotqa", "trustrag"): _by_share((54, 6), (61, 12), (72, 3), (66, 2), (43, 47)),
    ("hotpotqa", "robustrag"): _by_share((8, 89), (10, 87), (19, 76), (33, 57), (40, 50)),
}
CLEAN: Mapping[tuple[str, str], float] = {
    ("nq", "none"): 71,
    ("nq", "trustrag"): 65,
    ("nq", "robustrag"): 61,
    ("hotpotqa", "none"): 71,
    ("hotpotqa", "trustrag"): 70,
    ("hotpotqa", "robustrag"): 54,
}
# (dataset, arm) -> adversarial texts passed, ASR and accuracy, black box, GPT-3.5
FILTERRAG: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("nq", "clean"): {"asr": 1.0, "accuracy": 83.1},
    ("nq", "none"): {"atr": 98.0, "asr": 88.0, "accuracy": 10.8},
    ("nq", "filterrag"): {"atr": 1.0, "asr": 3.0, "accuracy": 75.6},
    ("hotpotqa", "clean"): {"asr": 8.0, "accuracy": 91.3},
    ("hotpotqa", "none"): {"atr": 100.0, "asr": 94.0, "accuracy": 4.2},
    ("hotpotqa", "filterrag"): {"atr": 0.0, "asr": 8.2, "accuracy": 88.1},
}
