"""The cells of a sweep as one Markdown table, seeds pooled, and who beats whom below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import ConfigError
from core.seeding import generator
from sim.bootstrap import ratio, ratio_interval
from sim.sweep.paired import compare_paired

LEVEL = 0.05
_NUMBERS = ("malicious", "dirichlet_alpha", "replication", "top_k")
Cells = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Pool:
    """One attack under one defense at one place of the other axes; rounds of all seeds."""

    attack: str
    defense: str
    numbers: tuple[Any, ...]
    cells: tuple[Mapping[str, Any], ...]

    @property
    def rounds(self) -> list[Mapping[str, Any]]:
        """Outcomes of every round, seed after seed."""
        return [record for cell in self.cells for record in cell["rounds"]]

    @property
    def attacked(self) -> bool:
        """Whether an attack was made."""
        return any(record["attack_success"] is not None for record in self.rounds)


def markdown(cells: Cells, reference: Sequence[str] = ("none", "scr")) -> str:
    """The table, the settings above it, and one line an attack on what beats what.

    Each defense's attack success (without an attack: its accuracy) is compared with that of the defenses
    in `reference` that the sweep has.

    Raises:
        ConfigError: no cell.
    """
    pools = pool(cells)
    if not pools:
        raise ConfigError("there is no finished cell to show")
    varied = [i for i in range(len(_NUMBERS)) if len({p.numbers[i] for p in pools}) > 1]
    against = [name for name in reference if any(p.defense == name for p in pools)]
    heads = [
        "attack",
        "defense",
        *(_NUMBERS[i] for i in varied),
        "rounds",
        "ASR %",
        *(f"vs {n}" for n in against),
    ]
    heads += ["accuracy %", "TPR %", "TNR %", "CPU ms", "LLM calls"]
    lines = [_row(heads), _row(["---", "---", *["---:"] * (len(heads) - 2)])]
    for one in pools:
        places = [str(one.numbers[i]) for i in varied]
        figures = [_rate(one, "attack_success" if one.attacked else "target_given")]
        lines.append(
            _row(
                [
                    one.attack,
                    one.defense,
                    *places,
                    str(len(one.rounds)),
                    *figures,
                    *(_against(one, pools, name) for name in against),
                    _rate(one, "correct"),
                    _share(one, "kept", "benign"),
                    _share(one, "rejected", "malicious"),
                    _mean(one, lambda cell: cell["cost"]["cpu_ms"]["p50"]),
                    _mean(one, lambda cell: cell["cost"]["llm_calls"]),
                ]
            )
        )
    return "\n".join([_caption(cells), "", *lines, "", *_verdicts(pools, against)])


def matrix(cells: Cells) -> str:
    """ASR / accuracy of each defense (rows) under each attack (columns), in percent, seeds pooled.

    Without an attack the first figure is the floor: how often the reader gives the attack's target anyway.

    Raises:
        ConfigError: no cell, or several places on an axis other than attack, defense and seed.
    """
    pools = pool(cells)
    if len({one.numbers for one in pools}) != 1:
        raise ConfigError(
            "the brief table needs one value each of malicious, dirichlet alpha, replication, top k"
        )
    found = {(one.attack, one.defense): one for one in pools}
    attacks = list(dict.fromkeys(one.attack for one in pools))
    lines = [_row(["ASR / accuracy %", *attacks]), _row(["---", *["---:"] * len(attacks)])]
    for defense in dict.fromkeys(one.defense for one in pools):
        lines.append(_row([defense, *(_brief(found.get((attack, defense))) for attack in attacks)]))
    return "\n".join(lines)


def _brief(one: Pool | None) -> str:
    if one is None:
        return ""
    names = ("attack_success" if one.attacked else "target_given", "correct")
    return " / ".join(_rate(one, name).partition(" ")[0] for name in names)


def pool(cells: Cells) -> list[Pool]:
    """Cells that differ in the seed alone put together; attack by attack, defenses as they first come."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in cells:
        place = cell["place"]
        key = (place["attack"], place["defense"], tuple(place[name] for name in _NUMBERS))
        found.setdefault(key, []).append(cell)
    ranks: list[dict[Any, int]] = [{}, {}, {}]  # by the order in which values first come
    for key in found:
        for rank, value in zip(ranks, key, strict=True):
            rank.setdefault(value, len(rank))
    ordered = sorted(found, key=lambda key: (ranks[0][key[0]], ranks[2][key[2]], ranks[1][key[1]]))
    return [
        Pool(attack, defense, numbers, tuple(found[attack, defense, numbers]))
        for attack, defense, numbers in ordered
    ]


def _caption(cells: Cells) -> str:
    first = cells[0]["settings"]
    seeds = sorted({cell["place"]["seed"] for cell in cells})
    questions = max(cell["metrics"]["n_queries"] for cell in cells)
    fixed = []
    for name in _NUMBERS:
        values = {cell["place"][name] for cell in cells}
        if len(values) == 1:
            fixed.append(f"{name.replace('_', ' ')} {values.pop()}")
    data = str(first["dataset"]).rstrip("/").rpartition("/")[2]
    return (
        f"{data}, {questions} questions x {len(seeds)} seed{'s' if len(seeds) > 1 else ''}, "
        f"{first['sources']} sources, {', '.join(fixed)}, reader {first['reader']} "
        f"(a defense `x@READER` reads with another). 95 % bootstrap intervals over questions. "
        f"`vs`: difference of ASR in points (without an attack: of accuracy), * where a paired sign-flip "
        f"test over questions gives p < {LEVEL}. Without an attack the ASR column holds the floor: how often "
        f"the reader gives the attack's target anyway. CPU ms: median per question, defense and reader; "
        f"vectors of known texts cached, model calls at what they cost when made."
    )


def _verdicts(pools: Sequence[Pool], against: Sequence[str]) -> Iterator[str]:
    """Per attack and reference: which defenses are better, which worse, beyond chance."""
    yield f"Beyond chance (p < {LEVEL}, paired by question), by ASR, or accuracy without an attack:"
    yield ""
    for attack, numbers in dict.fromkeys((p.attack, p.numbers) for p in pools):
        here = [p for p in pools if (p.attack, p.numbers) == (attack, numbers)]
        parts = []
        for name in against:
            better: list[str] = []
            worse: list[str] = []
            for one in here:
                found = _compared(one, here, name)
                if found is None or found[1] >= LEVEL:
                    continue
                gain = -found[0] if one.attacked else found[0]
                (better if gain > 0 else worse).append(f"`{one.defense}`")
            parts.append(
                f"better than `{name}`: {', '.join(better) or 'none of them'}; "
                f"worse: {', '.join(worse) or 'none of them'}"
            )
        place = "" if len({p.numbers for p in pools}) == 1 else f" at {numbers}"
        yield f"- **{attack}**{place}: {'. '.join(parts)}."


def _compared(one: Pool, pools: Sequence[Pool], name: str) -> tuple[float, float] | None:
    """Difference and p value to the defense `name` under the same attack; None for itself."""
    for other in pools:
        same = (other.attack, other.numbers) == (one.attack, one.numbers)
        if same and other.defense == name and other is not one:
            found = compare_paired(one.rounds, other.rounds, "attack_success" if one.attacked else "correct")
            return None if found is None else (found.difference, found.p)
    return None


def _against(one: Pool, pools: Sequence[Pool], name: str) -> str:
    found = _compared(one, pools, name)
    if found is None:
        return ""
    return f"{100 * found[0]:+.0f}{'*' if found[1] < LEVEL else ''}"


def _rate(one: Pool, name: str) -> str:
    """Share of yes among the rounds to which `name` applies."""
    counts = [(float(r[name]), 1.0) for r in one.rounds if r[name] is not None]
    return _figure(counts, [r["query_id"] for r in one.rounds if r[name] is not None], name)


def _share(one: Pool, above: str, below: str) -> str:
    counts = [(float(r[above]), float(r[below])) for r in one.rounds]
    return _figure(counts, [r["query_id"] for r in one.rounds], above)


def _figure(counts: Sequence[tuple[float, float]], clusters: Sequence[str], name: str) -> str:
    tops, bottoms = [c[0] for c in counts], [c[1] for c in counts]
    value = ratio(tops, bottoms)
    interval = ratio_interval(tops, bottoms, clusters, generator(0, "sweep", name)) if counts else None
    if value is None or interval is None:
        return "-"
    return f"{100 * value:.0f} ({100 * interval[0]:.0f}-{100 * interval[1]:.0f})"


def _mean(one: Pool, read: Any) -> str:
    values = [read(cell) for cell in one.cells]
    mean = float(np.mean(values))
    return f"{mean:.0f}" if mean >= 10 or mean == 0 else f"{mean:.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
