from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import ConfigError
from core.paths import cache_dir, write_atomic


def test_order_of_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCR_CACHE", str(tmp_path / "scr"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir(tmp_path / "given") == tmp_path / "given"
    assert cache_dir() == tmp_path / "scr"
    monkeypatch.delenv("SCR_CACHE")
    assert cache_dir() == tmp_path / "xdg" / "securecollarag"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "home" / ".cache" / "securecollarag"
    assert cache_dir().is_dir()


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cache folder .*file/sub cannot be made .*SCR_CACHE"):
        cache_dir(tmp_path / "file" / "sub")


def test_write_atomic_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    write_atomic(target, "é")
    assert target.read_bytes() == "é".encode()
    write_atomic(target, b"\x00")
    assert target.read_bytes() == b"\x00"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    write_atomic(target, "old")

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomic(target, "a" * 2_000_000)
    script = (
        "import sys, itertools; from pathlib import Path; from core.paths import write_atomic\n"
        "for i in itertools.count(): write_atomic(Path(sys.argv[1]), 'ab'[i % 2] * 2_000_000); print(flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(target)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    content = target.read_text()
    assert len(content) == 2_000_000
    assert len(set(content)) == 1
