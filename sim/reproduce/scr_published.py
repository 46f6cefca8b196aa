"""Published figures of the SecureCollaRAG paper (arXiv 2608.04366), Tables I to III."""

from __future__ import annotations

SOURCE = "SecureCollaRAG, arXiv 2608.04366"
ATTACKS = ("saa", "poisonedrag", "ata")
DEFENSES = ("ss_rag", "ms_rag", "robustrag", "filterrag", "scr")
MODELS = ("DeepSeek-V3", "Qwen-2.5-14B", "LLaMA3-8B")

# data set -> defense -> model -> ASR in percent, attacks in the order above
_TABLE_1: dict[str, dict[str, tuple[tuple[float, float, float], ...]]] = {
    "nq": {
        "ss_rag": ((84.20, 86.52, 87.76), (81.00, 91.48, 88.12), (78.56, 82.44, 85.68)),
        "ms_rag": ((56.92, 72.92, 65.00), (62.40, 75.52, 54.52), (48.36, 58.72, 52.88)),
        "robustrag": ((23.20, 44.52, 51.52), (57.28, 59.72, 42.36), (39.84, 47.60, 45.28)),
        "filterrag": ((10.18, 18.00, 42.36), (16.52, 26.18, 32.68), (12.18, 23.64, 34.28)),
        "scr": ((10.52, 16.12, 27.12), (12.48, 20.52, 27.16), (15.28, 18.64, 22.36)),
    },
    "hotpotqa": {
        "ss_rag": ((52.48, 64.20, 62.48), (59.56, 64.00, 62.52), (58.16, 61.32, 63.48)),
        "ms_rag": ((42.52, 50.48, 58.12), (47.95, 50.52, 53.08), (46.20, 46.32, 53.28)),
        "robustrag": ((34.12, 49.12, 32.52), (41.30, 39.68, 32.52), (37.20, 42.16, 31.12)),
        "filterrag": ((10.18, 16.48, 36.18), (18.52, 21.16, 32.16), (12.48, 23.24, 28.16)),
        "scr": ((8.24, 12.44, 23.04), (13.50, 20.12, 21.38), (15.08, 18.40, 21.08)),
    },
}
# (data set, defense, attack, model) -> ASR in percent
TABLE_1: dict[tuple[str, str, str, str], float] = {
    (dataset, defense, attack, model): value
    for dataset, defenses in _TABLE_1.items()
    for defense, models in defenses.items()
    for model, values in zip(MODELS, models, strict=True)
    for attack, value in zip(ATTACKS, values, strict=True)
}

# (attack, audit) -> TPR, TNR in percent; MediNote with DeepSeek-V3
TABLE_2: dict[tuple[str, str], tuple[float, float]] = {
    ("saa", "with"): (95.00, 94.33),
    ("saa", "without"): (88.40, 86.50),
    ("poisonedrag", "with"): (93.14, 99.75),
    ("poisonedrag", "without"): (89.96, 93.33),
    ("ata", "with"): (97.02, 93.62),
    ("ata", "without"): (88.99, 80.45),
}

# (data set, attack) -> mean reliability of benign and of malicious sources
TABLE_3: dict[tuple[str, str], tuple[float, float]] = {
    ("medinote", "saa"): (0.983, 0.009),
    ("medinote", "poisonedrag"): (0.885, 0.018),
    ("medinote", "ata"): (0.818, 0.287),
    ("finance-alpaca", "saa"): (0.998, 0.012),
    ("finance-alpaca", "poisonedrag"): (0.852, 0.016),
    ("finance-alpaca", "ata"): (0.793, 0.246),
}
