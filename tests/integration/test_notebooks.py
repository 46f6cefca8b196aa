"""The notebooks of docs/notebooks/ run from top to bottom in a real kernel, and are stored without outputs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
NAMES = (
    "federation_in_five_minutes",
    "train_and_evaluate",
    "your_own_attack_and_defense",
    "hospital_node",
)
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _notebook(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_every_notebook_is_run_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_stored_without_outputs_and_noise(name: str) -> None:
    notebook = _notebook(name)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert notebook["metadata"] == KERNEL
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in notebook["cells"]] == [
        f"cell-{i}" for i in range(1, len(notebook["cells"]) + 1)
    ]
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        assert "".join(cell["source"]).strip()


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_like_a_page(name: str) -> None:
    """A title first, prose before code, and nothing too long to take in."""
    cells = _notebook(name)["cells"]
    assert cells[0]["source"][0].startswith("# ")
    code = [i for i, cell in enumerate(cells) if cell["cell_type"] == "code"]
    assert 5 <= len(code) <= 15
    told = [i for i in code if cells[i - 1]["cell_type"] == "markdown"]
    assert len(told) >= len(code) - 2
    assert all(len(cells[i]["source"]) <= 45 for i in code)


@pytest.mark.parametrize("name", NAMES)
def test_readers_find_it(name: str) -> None:
    assert f"notebooks/{name}.ipynb" in (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert "docs/notebooks.md" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # of the client that talks to the kernel; the kernel has its own
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "IPYTHONDIR": str(home),
        "JUPYTER_CONFIG_DIR": str(home),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    client.execute(env=environment)  # a cell that fails raises, with its traceback
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
