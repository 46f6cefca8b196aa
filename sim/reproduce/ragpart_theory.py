"""Tables 2 to 5 of the RAGPart paper: where the sufficient condition for robustness holds.

A table is published as one mark a cell; every row of marks is a run of ticks from k = 3 on, so the
published figures are held as the last ticked k of each N (N = 3..15, k = 3..N).
"""

from __future__ import annotations

from defenses.ragpart.theory import is_robust
from sim.progress import Progress
from sim.reproduce.ragpart_published import SOURCE
from sim.reproduce.table import ReproduceOptions, Row, Table

_SIZES = range(3, 16)
_LAST_TICK = {  # table -> (poisoned fragments, naive, last ticked k for N = 3..15; 2: none)
    "ragpart-2": (2, True, (2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4)),
    "ragpart-3": (2, False, (2, 2, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10, 10)),
    "ragpart-4": (3, True, (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2)),
    "ragpart-5": (3, False, (2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7)),
}
_NOTES = (
    "1 = the condition holds, 0 = it does not; cells with k > N are not applicable and left out.",
    "The paper advises low N with high k, but in its own tables the condition fails for high k: at N = 5 "
    "and two poisoned fragments only k = 3 holds.",
    "The paper speaks of C(N,k)*D databases in section 3.1 and of C(N,k) lists of top-p documents "
    "right after: it is C(N,k) databases of D vectors.",
    "RAGPart's count leaves out combinations with one poisoned fragment, so at k = 1 it is zero and the "
    "condition always holds, although at k = 1 nothing dilutes the poison and Table 8 reports successes "
    "of up to 15 % there; the printed tables begin at k = 3.",
)


def table_2(options: ReproduceOptions, progress: Progress) -> Table:
    """Naive baseline, two poisoned fragments."""
    return _table("ragpart-2")


def table_3(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart, two poisoned fragments."""
    return _table("ragpart-3")


def table_4(options: ReproduceOptions, progress: Progress) -> Table:
    """Naive baseline, three poisoned fragments."""
    return _table("ragpart-4")


def table_5(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart, three poisoned fragments."""
    return _table("ragpart-5")


def _table(name: str) -> Table:
    n_poisoned, naive, last = _LAST_TICK[name]
    rows = [
        Row({"N": n, "k": k}, float(k <= tick), float(is_robust(n, k, n_poisoned, naive=naive)), "holds")
        for n, tick in zip(_SIZES, last, strict=True)
        for k in range(3, n + 1)
    ]
    agree = sum(row.published == row.measured for row in rows)
    return Table(
        name,
        f"{SOURCE}, Table {name.rpartition('-')[2]}",
        {
            "method": "naive" if naive else "ragpart",
            "poisoned_fragments": n_poisoned,
            "adversarial_documents": 1,
        },
        rows,
        (f"{agree} of {len(rows)} cells agree.", *_NOTES),
    )
