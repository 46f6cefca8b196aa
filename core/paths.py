"""Where caches live and how files are written so that a crash leaves the old or the new one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from core.errors import ConfigError


def cache_dir(override: str | Path | None = None) -> Path:
    """The one cache folder, made if missing: `override`, SCR_CACHE, or XDG_CACHE_HOME/securecollarag.

    Raises:
        ConfigError: it cannot be made.
    """
    if override is not None:
        path = Path(override)
    elif os.environ.get("SCR_CACHE"):
        path = Path(os.environ["SCR_CACHE"])
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        path = Path(base) / "securecollarag"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"cache folder {path} cannot be made ({error.strerror}); name another with SCR_CACHE"
        ) from None
    return path


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace `path` by `data` so that a reader or a crash sees the old content or the new, never half."""
    _replace(path, data, 0o666)  # less what the process's umask takes away


def write_private(path: Path, data: str | bytes) -> None:
    """`write_atomic` for a secret: the file is its owner's alone (0600) from its first byte on."""
    _replace(path, data, 0o600)


def _replace(path: Path, data: str | bytes, mode: int) -> None:
    payload = data.encode("utf-8") if isinstance(data, str) else data
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
