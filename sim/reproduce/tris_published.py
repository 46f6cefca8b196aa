"""What TRIS (arXiv 2609.00470) publishes of the tables made here, as far as its text states it."""

from __future__ import annotations

SOURCE = "TRIS, arXiv 2609.00470"
# (dataset, arm, metric) -> percent; `removed` is (vanilla - arm) / vanilla, floor taken as 0
TABLE_1: dict[tuple[str, str, str], float] = {
    ("nq", "none", "asr"): 67.0,
    ("nq", "tris", "asr"): 3.0,
    ("nq", "tris", "accuracy_regained"): 41.0,
    ("nq", "tris", "accuracy_gap"): 2.0,
    ("nq", "tris", "removed"): 95.5,
    ("nq", "robustrag", "asr"): 6.7,
    ("nq", "robustrag", "accuracy"): 36.7,
    ("hotpotqa", "none", "asr"): 87.0,
    ("hotpotqa", "tris", "asr"): 14.0,
    ("hotpotqa", "tris", "accuracy_regained"): 45.0,
    ("hotpotqa", "tris", "accuracy_gap"): 16.0,
    ("hotpotqa", "tris", "removed"): 83.9,
    ("hotpotqa", "robustrag", "asr"): 3.3,
    ("hotpotqa", "robustrag", "accuracy"): 66.7,
}
# (layers, attack) -> ASR on NQ
TABLE_4: dict[tuple[str, str], float] = {("L1+L2", "poisonedrag"): 3.0, ("L1+L3", "hotflip"): 27.8}
# (arm, poisons) -> ASR on NQ
TABLE_8: dict[tuple[str, int], float] = {
    ("none", 1): 0.0,
    ("none", 5): 66.0,
    ("tris", 6): 4.0,
    ("tris", 10): 4.0,
    ("tris", 20): 4.0,
}
