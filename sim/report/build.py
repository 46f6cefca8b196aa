"""From a folder to its page and its figures, whatever kind of folder it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ConfigError, DataError
from sim.report.load import load_run
from sim.report.sweep_page import TABLE, sweep_report

if TYPE_CHECKING:
    from core.embedding.base import Embedder


def build_page(root: Path, *, projection: bool = True) -> str:
    """The page of the run or sweep in `root`.

    Raises:
        DataError: `root` is neither.
        MissingPackageError: plotly is not installed.
    """
    _check(root)
    if is_sweep(root):
        return sweep_report(root)
    from sim.report.run_page import run_report

    data = load_run(root)
    return run_report(data, _opener(data.config) if projection else None)


def write_figures(
    root: Path, target: Path, formats: Sequence[str] = (), *, projection: bool = True
) -> list[str]:
    """Every figure of the run or sweep in `root` as files in `target`; returns their names.

    Raises:
        ConfigError: a format that is none of png, svg, pdf.
        DataError: `root` is neither run nor sweep.
        MissingPackageError: matplotlib is not installed.
    """
    from sim.report.figures import FORMATS, draw_run, draw_sweep

    for name in formats:
        if name not in FORMATS:
            raise ConfigError(f"--format {name}: must be one of {', '.join(FORMATS)}")
    chosen = tuple(formats) or FORMATS
    _check(root)
    if is_sweep(root):
        return draw_sweep(root, target, chosen)
    from sim.report.run_page import content_of

    data = load_run(root)
    return draw_run(content_of(data, _opener(data.config) if projection else None), target, chosen)


def is_sweep(root: Path) -> bool:
    """Whether `root` is the folder of a sweep."""
    return (root / TABLE).is_file() and not (root / "rounds.jsonl").is_file()


def _check(root: Path) -> None:
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; give the --out of a run or a sweep")


def _opener(config: Any) -> Callable[[], Embedder]:
    from core.embedding import open_embedder

    return lambda: open_embedder(str(config.get("embedder") or "minilm"))
