"""The cells of a sweep as one Markdown table, seeds pooled, and who beats whom below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import ConfigError
from core.seeding import generator
from sim.bootstrap import ratio, ratio_interval
from sim.sweep.paired import compare_paired, holm

LEVEL = 0.05
_NUMBERS = ("malicious", "dirichlet_alpha", "replication", "top_k")
Cells = Sequence[Mapping[str, Any]]
Place = tuple[str, tuple[Any, ...]]  # attack, numbers


@dataclass(frozen=True)
class Compared:
    """`difference` of a defense from the reference; `beyond` chance, its attack's other defenses counted."""

    difference: float
    beyond: bool


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
    places = dict.fromkeys((p.attack, p.numbers) for p in pools)
    compared = {
        (place, name): _compared_all([p for p in pools if (p.attack, p.numbers) == place], name)
        for place in places
        for name in against
    }
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
        numbers = [str(one.numbers[i]) for i in varied]
        figures = [_rate(one, "attack_success" if one.attacked else "target_given")]
        lines.append(
            _row(
                [
                    one.attack,
                    one.defense,
                    *numbers,
                    str(len(one.rounds)),
                    *figures,
                    *(
                        _against(compared[(one.attack, one.numbers), name].get(one.defense))
                        for name in against
                    ),
                    _rate(one, "correct"),
                    _share(one, "kept", "benign"),
                    _share(one, "rejected", "malicious"),
                    _mean(one, lambda cell: cell["cost"]["cpu_ms"]["p50"]),
                    _mean(one, lambda cell: cell["cost"]["llm_calls"]),
                ]
            )
        )
    return "\n".join([_caption(cells), "", *lines, "", *_verdicts(compared, pools)])


def matrix(cells: Cells) -> str:
    """ASR / accuracy of each defense (rows) under each attack (columns), in percent, seeds pooled.

    Without an attack the first figure is the floor: how often the reader gives the attack's target anyway.
    Behind the ASR (without an attack, the accuracy) stands its difference from the defense `none` on the
    rounds that both have, `*` where it is beyond chance. `rounds`: of each cell of the row, or the fewest
    and the most.

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
    beyond = {
        (attack, defense): found
        for attack in attacks
        for defense, found in _compared_all([one for one in pools if one.attack == attack], "none").items()
    }
    lines = [_row(["ASR / accuracy %", *attacks, "rounds"]), _row(["---", *["---:"] * (len(attacks) + 1)])]
    for defense in dict.fromkeys(one.defense for one in pools):
        here = [found.get((attack, defense)) for attack in attacks]
        rounds = sorted({len(one.rounds) for one in here if one is not None})
        count = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]}-{rounds[-1]}"
        shown = [
            _brief(one, beyond.get((attack, defense))) for attack, one in zip(attacks, here, strict=True)
        ]
        lines.append(_row([defense, *shown, count]))
    return "\n".join(lines)


def _brief(one: Pool | None, compared: Compared | None) -> str:
    if one is None:
        return ""
    names = ("attack_success" if one.attacked else "target_given", "correct")
    asr, accuracy = (_rate(one, name).partition(" ")[0] for name in names)
    against = f" ({_against(compared)})" if compared is not None else ""
    return f"{asr}{against} / {accuracy}" if one.attacked else f"{asr} / {accuracy}{against}"


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
    questions = max(len({record["query_id"] for record in cell["rounds"]}) for cell in cells)
    fixed = []
    for name in _NUMBERS:
        values = {cell["place"][name] for cell in cells}
        if len(values) == 1:
            fixed.append(f"{name.replace('_', ' ')} {values.pop()}")
    data = str(first["dataset"]).rstrip("/").rpartition("/")[2]
    uneven = len({len(one.rounds) for one in pool(cells)}) > 1
    most = "at most " if uneven else ""
    return (
        f"{data}, {most}{questions} questions x {len(seeds)} seed{'s' if len(seeds) > 1 else ''} "
        f"(`rounds`), {first['sources']} sources, {', '.join(fixed)}, reader {first['reader']} "
        f"(a defense `x@READER` reads with another). 95 % bootstrap intervals over questions. "
        f"`vs`: difference of ASR in points (without an attack: of accuracy) on the questions and seeds that "
        f"both have, * where it is beyond chance: paired sign-flip test over questions, p < {LEVEL} after "
        f"Holm's correction for the defenses compared under one attack. Without an attack the ASR column "
        f"holds the floor: how often the reader gives the attack's target anyway. CPU ms: median per "
        f"question, defense and reader; vectors of known texts cached, a model's calls at their first cost."
    )


def _verdicts(
    compared: Mapping[tuple[Place, str], Mapping[str, Compared]], pools: Sequence[Pool]
) -> Iterator[str]:
    """Per attack and reference: which defenses are better, which worse, beyond chance."""
    yield f"Beyond chance (p < {LEVEL}, paired by question, Holm), by ASR, or accuracy without an attack:"
    yield ""
    attacked = {one.attack for one in pools if one.attacked}
    several = len({one.numbers for one in pools}) > 1
    parts: dict[Place, list[str]] = {}
    for (place, name), found in compared.items():
        sign = -1 if place[0] in attacked else 1
        better = [f"`{d}`" for d, c in found.items() if c.beyond and sign * c.difference > 0]
        worse = [f"`{d}`" for d, c in found.items() if c.beyond and sign * c.difference < 0]
        parts.setdefault(place, []).append(
            f"better than `{name}`: {', '.join(better) or 'none of them'}; "
            f"worse: {', '.join(worse) or 'none of them'}"
        )
    for (attack, numbers), texts in parts.items():
        yield f"- **{attack}**{f' at {numbers}' if several else ''}: {'. '.join(texts)}."


def _compared_all(here: Sequence[Pool], name: str) -> dict[str, Compared]:
    """Each defense of one place on the axes against the defense `name` of it, which is left out."""
    others = [one for one in here if one.defense == name]
    if not others:
        return {}
    found = {}
    for one in here:
        if one is not others[0]:
            metric = "attack_success" if one.attacked else "correct"
            paired = compare_paired(*_shared(one, others[0]), metric)
            if paired is not None:
                found[one.defense] = paired
    beyond = holm([paired.p for paired in found.values()], LEVEL)
    return {
        defense: Compared(paired.difference, yes)
        for (defense, paired), yes in zip(found.items(), beyond, strict=True)
    }


def _shared(first: Pool, second: Pool) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The rounds of both pools under the seeds that both have."""
    seeds = {cell["place"]["seed"] for cell in first.cells} & {cell["place"]["seed"] for cell in second.cells}
    left, right = (
        [record for cell in one.cells if cell["place"]["seed"] in seeds for record in cell["rounds"]]
        for one in (first, second)
    )
    return left, right


def _against(found: Compared | None) -> str:
    return "" if found is None else f"{100 * found.difference:+.0f}{'*' if found.beyond else ''}"


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
