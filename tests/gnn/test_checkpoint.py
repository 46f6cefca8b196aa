from __future__ import annotations

import importlib.resources
from pathlib import Path

import numpy as np
import pytest

from core.errors import CheckpointError
from gnn.checkpoint import DEFAULT, Checkpoint, load_checkpoint
from gnn.scorer import SCHEMAS, CredibilityScorer
from tests.gnn.parts import make_checkpoint


def test_round_trip(tmp_path: Path) -> None:
    before = make_checkpoint(network=True, training={"seed": 3})
    before.save(tmp_path / "deep" / "c.npz")
    after = load_checkpoint(tmp_path / "deep" / "c.npz", SCHEMAS)
    assert after.meta["training"] == {"seed": 3}
    assert after.meta["threshold"] == before.meta["threshold"]
    assert after.arrays.keys() == before.arrays.keys()
    assert all(np.array_equal(after.arrays[name], before.arrays[name]) for name in before.arrays)


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_checkpoint(network=True).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no\.npz: cannot be read"):
        load_checkpoint(tmp_path / "no.npz")


@pytest.mark.parametrize("cut", [0, 1, 100, -1, -30])
def test_a_torn_file_is_refused(tmp_path: Path, cut: int) -> None:
    make_checkpoint().save(tmp_path / "c.npz")
    data = (tmp_path / "c.npz").read_bytes()
    (tmp_path / "c.npz").write_bytes(data[:cut] if cut else b"")
    with pytest.raises(CheckpointError, match=r"c\.npz: not a SecureCollaRAG checkpoint"):
        load_checkpoint(tmp_path / "c.npz")


def test_flipped_bytes_are_refused(tmp_path: Path) -> None:
    make_checkpoint().save(tmp_path / "c.npz")
    data = bytearray((tmp_path / "c.npz").read_bytes())
    for at in range(40, len(data), 5):
        data[at] ^= 0xFF
    (tmp_path / "c.npz").write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="not a SecureCollaRAG checkpoint"):
        load_checkpoint(tmp_path / "c.npz")


def test_pickled_content_is_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", __meta__=np.array([{"format": "x"}], dtype=object))
    with pytest.raises(CheckpointError, match="not a SecureCollaRAG checkpoint"):
        load_checkpoint(tmp_path / "c.npz")


def test_another_archive_and_another_version_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(CheckpointError, match="not a SecureCollaRAG checkpoint"):
        load_checkpoint(tmp_path / "other.npz")
    make_checkpoint(version=99).save(tmp_path / "new.npz")
    with pytest.raises(CheckpointError, match="version 99, this release reads 1; train anew"):
        load_checkpoint(tmp_path / "new.npz")


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_other_features_are_refused_by_name(tmp_path: Path, name: str) -> None:
    make_checkpoint(schemas={**SCHEMAS, name: "something else"}).save(tmp_path / "c.npz")
    with pytest.raises(CheckpointError, match=f"made for another {name} schema"):
        CredibilityScorer(tmp_path / "c.npz")


def test_a_write_that_fails_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.npz"
    make_checkpoint(threshold=1.0).save(path)
    before = path.read_bytes()

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        make_checkpoint(threshold=2.0).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


def test_without_a_path_the_shipped_one_is_read_or_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.resources, "files", lambda package: tmp_path)
    with pytest.raises(CheckpointError, match="no checkpoint is shipped with this install"):
        load_checkpoint()
    make_checkpoint().save(tmp_path / "checkpoints" / DEFAULT)
    assert isinstance(load_checkpoint(schemas=SCHEMAS), Checkpoint)
