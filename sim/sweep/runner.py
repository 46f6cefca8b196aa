"""A whole sweep: cells planned, those not done worked through side by side, and the table of all."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aggregator.stages import VERIFIERS
from core.config import dump
from core.errors import ConfigError, ScrError, StoreError
from core.paths import cache_dir, write_atomic
from sim.cluster import ray_session
from sim.config import RunConfig
from sim.experiment import cache_folder, check_names, digests, load_data, try_parts
from sim.progress import Progress, Quiet, counting
from sim.sweep.cell import Cell, read_cell
from sim.sweep.config import SweepConfig
from sim.sweep.table import write_table
from sim.sweep.work import corpus_key, corpus_of, work

ORDER = "sweep.json"  # the cells in the order of the axes
_POLL_SECONDS = 2.0


def run_sweep(config: SweepConfig, out: Path, progress: Progress) -> list[dict[str, Any]]:
    """Work through the cells of `config` that are not in `out`; all finished ones of the folder.

    Leaves in `out`: `cells/HASH.json` (one whole file a cell), `sweep.yaml`, `sweep.json` (the order),
    `table.csv` and `table.parquet`. A sweep that was cut off goes on where it stopped, and one with other
    values on the axes and the same `base` adds its cells to the table.

    Raises:
        ConfigError: a cell that no run allows; nothing is started then.
        DataError: a data file is missing or malformed.
        ScrError: cells failed; the message names the first, the others are finished.
    """
    with cache_folder(config.cache_dir):
        cells = plan(config, progress)
        _begin(out, config, cells)
        waiting = [cell for cell in cells if not cell.path(out).is_file()]
        if len(waiting) < len(cells):
            progress.say(f"{len(cells) - len(waiting)} of {len(cells)} cells are in {out} already")
        failed = _work(waiting, config.workers or os.cpu_count() or 1, out, progress) if waiting else []
        found = _finished(out)
        if found:
            write_table(found, out)
    if failed:
        raise ScrError(f"{len(failed)} of {len(cells)} cells failed, the first: {failed[0][1]}")
    return found


def plan(config: SweepConfig, progress: Progress) -> list[Cell]:
    """Every cell, its settings checked as far as that goes without starting it."""
    cells: list[Cell] = []
    known: dict[str, Mapping[str, str]] = {}
    checked: set[str] = set()
    for place, settings in config.settings():
        if (key := _data_key(settings)) not in checked:
            first = not any(other.startswith(str(corpus_key(settings))) for other in checked)
            checked.add(key)
            load_data(settings, progress if first else Quiet(io.StringIO()))
        if (key := _stage_key(settings)) not in checked:
            checked.add(key)
            check_names(settings)
            try_parts(settings)
        verifies = bool(VERIFIERS & set(settings.stage_names))
        weights = f"{corpus_key(settings)}/{settings.checkpoint}/{verifies}"
        if weights not in known:
            found = digests(settings)
            known[weights] = found if verifies else {"data": found["data"]}  # others read no weights
        cells.append(Cell(place, settings, known[weights], config.timed))
    keys = [cell.key for cell in cells]
    for cell in cells:
        if keys.count(cell.key) > 1:
            raise ConfigError(f"two cells are the same run: {cell.place['attack']} / {cell.place['defense']}")
    return cells


def read_sweep(out: Path) -> list[dict[str, Any]]:
    """The finished cells of a sweep's folder, in the axes' order.

    Raises:
        ConfigError: no sweep is there, or no cell of it is finished.
        StoreError: a cell is unreadable.
    """
    if not (out / ORDER).is_file():
        raise ConfigError(f"{out}: holds no sweep (no {ORDER})")
    found = _finished(out)
    if not found:
        raise ConfigError(f"{out}: no cell of this sweep is finished")
    return found


def _begin(out: Path, config: SweepConfig, cells: Sequence[Cell]) -> None:
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made ({error.strerror})") from None
    write_atomic(out / "sweep.yaml", dump(config))
    shared = json.loads(json.dumps({"base": config.base, "timed": config.timed}))
    order = {"schema": 1, **shared, "cells": [cell.key for cell in cells]}
    earlier = _order(out) if (out / ORDER).is_file() else {}
    if all(earlier.get(key) == value for key, value in shared.items()):  # its cells belong in one table
        order["cells"] = list(dict.fromkeys([*order["cells"], *earlier.get("cells", ())]))
    write_atomic(out / ORDER, json.dumps(order) + "\n")


def _order(out: Path) -> dict[str, Any]:
    path = out / ORDER
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["cells"], list):
            raise TypeError("cells is no list")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: not the order of a sweep ({error}); delete it") from None
    return dict(found)


def _finished(out: Path) -> list[dict[str, Any]]:
    """The finished cells in their order."""
    paths = [out / "cells" / f"{name}.json" for name in _order(out)["cells"]]
    return [read_cell(path) for path in paths if path.is_file()]


def _work(cells: Sequence[Cell], workers: int, out: Path, progress: Progress) -> list[tuple[str, str]]:
    """Groups of cells, here one after the other, or on Ray side by side; what failed."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    first = cells[0].config
    progress.say(f"{len(cells)} cells in {len(groups)} groups; embedding {first.dataset}")
    for key, embedder in dict.fromkeys((corpus_key(cell.config), cell.config.embedder) for cell in cells):
        corpus_of(key, embedder)  # once, for all workers: vectors are on disk then
    cache = str(cache_dir())
    failed: list[tuple[str, str]] = []
    with counting(progress, "cells", len(cells)):
        if workers == 1 or len(groups) == 1:
            for group in groups.values():
                failed += work(group, str(out), cache, progress.advance)
            return failed
        with ray_session(first.ray_address, first.object_store_mb):
            failed = _on_ray(list(groups.values()), workers, out, cache, progress)
    return failed


def _on_ray(
    groups: Sequence[Sequence[Cell]], workers: int, out: Path, cache: str, progress: Progress
) -> list[tuple[str, str]]:
    """One task a group, at most `workers` at once; cells are counted as their files appear."""
    import ray
    from ray.exceptions import RayError

    task = ray.remote(work).options(num_cpus=0, max_retries=0)
    failed: list[tuple[str, str]] = []
    waiting = list(groups)
    running: dict[Any, Sequence[Cell]] = {}
    total = [cell.path(out) for group in groups for cell in group]
    shown = 0
    while waiting or running:
        while waiting and len(running) < workers:
            group = waiting.pop(0)
            running[task.remote(group, str(out), cache)] = group
        done, _ = ray.wait(list(running), num_returns=1, timeout=_POLL_SECONDS)
        for reference in done:
            group = running.pop(reference)
            try:
                failed += ray.get(reference)
            except RayError as error:  # a worker that died, or a bug: its cells are not lost silently
                line = str(error).strip().splitlines()[-1]
                failed += [(cell.key, f"{cell.place['attack']}: {line}") for cell in group]
        there = sum(path.is_file() for path in total)
        progress.advance(there - shown)
        shown = there
    return failed


def _data_key(config: RunConfig) -> str:
    """What the checks of data and attack depend on."""
    return f"{corpus_key(config)}/{config.queries}/{config.sources}/{config.attack}/{config.attack_option}"


def _stage_key(config: RunConfig) -> str:
    """What the checks of stages and reader depend on."""
    parts = (config.defense, config.stages, config.reader, config.llm, config.llm_options)
    return str((config.attacked, config.behavior, *parts))
