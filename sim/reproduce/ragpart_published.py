"""Figures of the RAGPart & RAGMask paper, Tables 7 to 17, in percent."""

from __future__ import annotations

SOURCE = "RAGPart & RAGMask (arXiv 2512.24268)"

RETRIEVERS = ("contriever", "ance", "me5", "gte-large")
ATTACKS = ("hotflip", "hotflip_spread", "query_as_poison", "advraggen")
DEFENSES = ("none", "ragpart_k1", "ragpart_k3", "ragmask")

# Table 7, success rate on clean data: corpus -> retriever -> (none, RAGPart N5 k1, N5 k3, RAGMask)
SUCCESS = {
    "nq": {
        "contriever": (78, 55, 54, 69),
        "ance": (55, 20, 18, 35),
        "me5": (94, 65, 76, 80),
        "gte-large": (69, 32, 49, 59),
    },
    "fiqa": {
        "contriever": (58, 31, 36, 41),
        "ance": (33, 15, 17, 20),
        "me5": (79, 53, 60, 67),
        "gte-large": (64, 28, 43, 47),
    },
}

# Table 8, attack success rate: corpus -> retriever -> for each attack (none, N5 k1, N5 k3, RAGMask)
ATTACK_SUCCESS = {
    "nq": {
        "contriever": ((87, 2, 0, 7), (85, 5, 4, 9), (78, 2, 3, 4), (91, 10, 6, 8)),
        "ance": ((61, 0, 1, 4), (45, 1, 0, 6), (68, 0, 0, 8), (79, 6, 3, 8)),
        "me5": ((18, 0, 0, 1), (15, 0, 8, 3), (73, 3, 0, 9), (81, 8, 7, 4)),
        "gte-large": ((10, 0, 0, 1), (16, 1, 1, 4), (63, 2, 2, 4), (70, 6, 5, 7)),
    },
    "fiqa": {
        "contriever": ((95, 2, 0, 1), (92, 2, 6, 3), (85, 9, 1, 3), (94, 13, 11, 7)),
        "ance": ((78, 0, 0, 3), (67, 6, 1, 3), (65, 5, 0, 3), (86, 6, 4, 5)),
        "me5": ((21, 0, 1, 0), (26, 0, 0, 7), (45, 9, 0, 7), (95, 15, 14, 7)),
        "gte-large": ((20, 0, 0, 0), (28, 0, 2, 0), (58, 5, 1, 0), (83, 8, 6, 5)),
    },
}

# Tables 9 and 10, FiQA: N -> k -> RAGPart success rate, attack success rate under AdvRAGgen
FRAGMENTS_SUCCESS = {
    5: {1: 53, 3: 60, 5: 60},
    10: {1: 44, 3: 45, 5: 41, 10: 39},
    15: {1: 34, 3: 33, 5: 30, 10: 28, 15: 28},
    20: {1: 26, 3: 26, 5: 24, 10: 24, 15: 22, 20: 21},
}
FRAGMENTS_ATTACK = {
    5: {1: 15, 3: 14, 5: 7},
    10: {1: 19, 3: 14, 5: 5, 10: 1},
    15: {1: 15, 3: 15, 5: 8, 10: 1, 15: 1},
    20: {1: 20, 3: 9, 5: 4, 10: 1, 15: 1, 20: 1},
}

# Tables 11 and 12, FiQA: delta -> segment length -> RAGMask success rate, attack success rate
MASK_SUCCESS = {
    0.01: {10: 66, 15: 65, 20: 66, 25: 66},
    0.05: {10: 73, 15: 73, 20: 72, 25: 71},
    0.1: {10: 74, 15: 74, 20: 74, 25: 74},
    0.5: {10: 74, 15: 74, 20: 74, 25: 74},
}
MASK_ATTACK = {
    0.01: {5: 11, 10: 7, 15: 5, 20: 6, 25: 6},
    0.05: {5: 44, 10: 28, 15: 18, 20: 12, 25: 9},
    0.1: {5: 55, 10: 49, 15: 35, 20: 27, 25: 22},
    0.5: {5: 57, 10: 57, 15: 57, 20: 57, 25: 57},
}
UNDEFENDED_SUCCESS = 74  # stated with Tables 9 and 11
UNDEFENDED_ATTACK = 95  # stated with Tables 10 and 12

# Tables 14 and 16, FiQA, N=5 k=3: retriever -> (none, intersection, majority)
NAIVE_SUCCESS = {
    "contriever": (58, 35, 52),
    "ance": (33, 17, 27),
    "me5": (79, 48, 74),
    "gte-large": (64, 34, 52),
}
RAGPART_SUCCESS = {
    "contriever": (58, 19, 36),
    "ance": (33, 10, 18),
    "me5": (79, 32, 60),
    "gte-large": (64, 25, 43),
}

# Tables 15 and 17, FiQA, N=5 k=3: retriever -> for each attack (none, intersection, majority)
NAIVE_ATTACK = {
    "contriever": ((95, 23, 76), (92, 21, 47), (85, 20, 67), (94, 24, 77)),
    "ance": ((78, 18, 50), (67, 7, 18), (65, 15, 42), (89, 20, 58)),
    "me5": ((21, 2, 3), (26, 3, 4), (45, 14, 36), (95, 33, 66)),
    "gte-large": ((20, 0, 3), (28, 2, 5), (58, 9, 29), (83, 15, 57)),
}
RAGPART_ATTACK = {
    "contriever": ((95, 5, 1), (92, 2, 6), (85, 1, 1), (94, 3, 11)),
    "ance": ((78, 0, 0), (67, 0, 1), (65, 0, 0), (86, 1, 4)),
    "me5": ((21, 0, 0), (26, 0, 4), (45, 0, 1), (95, 6, 14)),
    "gte-large": ((20, 0, 0), (28, 2, 5), (58, 0, 0), (83, 2, 6)),
}

CONTRADICTIONS = (
    "Table 13 gives 35, 17, 48, 34 as the naive baseline's success rate under majority voting; those are "
    "Table 14's figures under intersection. Under majority Table 14 has 52, 27, 74, 52, which beats "
    "RAGPart's 36, 18, 60, 43 instead of losing to it.",
    "Tables 9 and 11 state an undefended success rate of 74, which no retriever of Table 7 has on FiQA "
    "(58, 33, 79, 64); their cells for N=5 equal multilingual E5's 53 and 60 of Table 7.",
    "Table 7's caption says m=1 for RAGMask, Table 8's m=10.",
    "Table 8 and Table 17 differ for the same setting (FiQA, N=5, k=3, majority): Contriever HotFlip 0 and "
    "1, mE5 HotFlip 1 and 0, spread-out 0 and 4, query as poison 0 and 1, GTE spread-out 2 and 5, query "
    "as poison 1 and 0; ANCE's undefended AdvRAGgen is 86 in Tables 8 and 17 and 89 in Table 15; ANCE's "
    "clean rate under RAGPart is 17 in Table 7 and 18 in Tables 13 and 16.",
    "Table 12 has 57 at delta=0.5 for every m, although the undefended rate is 95: no drop in similarity "
    "can exceed 0.5 there, so nothing is masked and RAGMask must equal no defense, as it does here.",
)
