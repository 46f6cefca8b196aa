"""What an attacker who knows the defense regains, level by level (TRIS, section 3.2), for TRIS and for SCR.

The paper measures level 1 only and leaves 2 and 3 open. Here all four meet the same federation of sources,
since SCR judges sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.config import parse
from sim.bootstrap import ratio, ratio_interval
from sim.config import RunConfig
from sim.experiment import cache_folder
from sim.progress import Progress, counting
from sim.reproduce.table import ReproduceOptions, Row, Table
from sim.reproduce.tris_lab import Lab, World
from sim.sweep.cell import Cell
from sim.sweep.work import Group

# what an attacker of each level does against each defense
LEVELS: Mapping[str, Mapping[str, str]] = {
    "tris": {"L0": "poisonedrag", "L1": "tris_l1", "L2": "tris_l2", "L3": "tris_l3"},
    "scr": {"L0": "poisonedrag", "L1": "tris_l1", "L2": "scr_l2", "L3": "scr_l3"},
}
Outcomes = Sequence[Mapping[str, Any]]


def table_adaptive(options: ReproduceOptions, progress: Progress) -> Table:
    """ASR, accuracy and rejected poisons by level and defense, and what each level regains."""
    lab = Lab("tris-adaptive", options, progress, questions=12)
    rows: list[Row] = []
    notes: list[str] = []
    with cache_folder(options.cache_dir):
        for world in lab.worlds:
            found = _measure(lab, world)
            floor = _rate(found["none", "none"], "target_given")
            rows.append(_row(lab, world, "floor", "none", found["none", "none"], "target", "target_given"))
            for defense, levels in LEVELS.items():
                for level, attack in levels.items():
                    for name in ("none", defense):
                        outcomes = found[attack, name]
                        key = f"{level} ({attack})"
                        rows.append(_row(lab, world, key, name, outcomes, "asr", "attack_success"))
                        rows.append(_row(lab, world, key, name, outcomes, "accuracy", "correct"))
                        if name != "none":
                            rows.append(_row(lab, world, key, name, outcomes, "tnr", "rejected", "malicious"))
                notes.append(_regained(world.name, defense, levels, found, floor))
    notes.append(
        "regained: by how many points the defense's ASR rises over its ASR at level 0; a level may also lose "
        "reach, where its texts are worse at being retrieved or at persuading the reader (see `none`)."
    )
    return lab.finish(rows, notes, federated=True)


def _measure(lab: Lab, world: World) -> dict[tuple[str, str], Outcomes]:
    """Outcomes by (attack, defense): no attack undefended, and each level undefended and defended."""
    attacks: dict[str, list[str]] = {"none": ["none"]}
    for defense, levels in LEVELS.items():
        for attack in levels.values():
            attacks.setdefault(attack, ["none"]).append(defense)
    found: dict[tuple[str, str], Outcomes] = {}
    total = sum(len(defenses) for defenses in attacks.values())
    with counting(lab.progress, f"{world.name} adaptive", total):
        for attack, defenses in attacks.items():
            group: Group | None = None
            for defense in defenses:
                config = _config(lab, world, attack, defense)
                group = group or Group(config)
                cell = Cell({"attack": attack, "defense": defense}, config, {}, 1)
                found[attack, defense] = group.run(cell)["rounds"]
                lab.progress.advance()
    return found


def _config(lab: Lab, world: World, attack: str, defense: str) -> RunConfig:
    chosen, given = lab.settings, lab.options
    stages = {"tris": {"options": {"clusters": chosen.clusters}}} if defense == "tris" else {}
    values = {
        "dataset": world.path,
        "queries_file": given.queries_file,
        "qrels": given.qrels,
        "poison": given.poison,
        "queries": len(world.questions),
        "attack": attack,
        "defense": [defense],
        "stages": stages,
        "sources": chosen.sources,
        "malicious": chosen.malicious,
        "top_k": chosen.top_k,
        "reader": chosen.reader,
        "reader_k": chosen.reader_k,
        "embedder": given.embedder,
        "seed": given.seed,
        "compare": False,
    }
    return parse(RunConfig, values, f"{lab.table} / {attack} / {defense}")


def _row(
    lab: Lab,
    world: World,
    level: str,
    defense: str,
    outcomes: Outcomes,
    metric: str,
    above: str,
    below: str = "",
) -> Row:
    counts = _counts(outcomes, above, below)
    tops, bottoms = [c[0] for c in counts], [c[1] for c in counts]
    rng = lab.draws("adaptive", world.name, level, defense, metric)
    value, interval = ratio(tops, bottoms), ratio_interval(tops, bottoms, range(len(tops)), rng)
    return Row(
        {"dataset": world.name, "level": level, "defense": defense, "metric": metric},
        None,
        None if value is None else 100 * value,
        "%",
        None if interval is None else (100 * interval[0], 100 * interval[1]),
    )


def _counts(outcomes: Outcomes, above: str, below: str = "") -> list[tuple[float, float]]:
    """Above and below the line for each round; without `below` a yes or no that may not apply."""
    if below:
        return [(float(found[above]), float(found[below])) for found in outcomes]
    return [(float(found[above]), 1.0) for found in outcomes if found[above] is not None]


def _rate(outcomes: Outcomes, name: str) -> float:
    counts = _counts(outcomes, name)
    value = ratio([c[0] for c in counts], [c[1] for c in counts])
    return float("nan") if value is None else 100 * value


def _regained(
    dataset: str,
    defense: str,
    levels: Mapping[str, str],
    found: Mapping[tuple[str, str], Outcomes],
    floor: float,
) -> str:
    first = _rate(found[levels["L0"], defense], "attack_success")
    parts = []
    for level, attack in levels.items():
        undefended = _rate(found[attack, "none"], "attack_success")
        defended = _rate(found[attack, defense], "attack_success")
        gain = "" if level == "L0" else f", {defended - first:+.0f} points"
        parts.append(f"{level} {defended:.0f} % of {undefended:.0f} % undefended{gain}")
    return f"{dataset}, {defense}: {'; '.join(parts)} (floor without attack {floor:.0f} %)."
