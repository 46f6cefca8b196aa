"""A trained model in one file: arrays and a JSON header, no pickled code."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CheckpointError
from core.paths import write_atomic

FORMAT = "securecollarag-checkpoint"
VERSION = 1
DEFAULT = "default.npz"


@dataclass(frozen=True)
class Checkpoint:
    """`arrays` by name, and `meta`: schemas, thresholds, sizes, data, seeds and figures (the model card)."""

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write atomically."""
        buffer = io.BytesIO()
        header = json.dumps({"format": FORMAT, "version": VERSION, **self.meta}, sort_keys=True)
        arrays: dict[str, Any] = dict(self.arrays)
        arrays["__meta__"] = np.frombuffer(header.encode(), dtype=np.uint8)
        np.savez_compressed(buffer, **arrays)
        write_atomic(path, buffer.getvalue())


def load_checkpoint(path: Path | str | None = None, schemas: Mapping[str, str] | None = None) -> Checkpoint:
    """The checkpoint at `path` (None: the one shipped with the package).

    Args:
        schemas: schema name -> identity that this version computes; each must be in the header.

    Raises:
        CheckpointError: missing, not a checkpoint, of another version or for other features.
    """
    if path is None:
        data = _shipped()
        where = f"shipped checkpoint {DEFAULT}"
    else:
        where = str(path)
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise CheckpointError(f"{where}: cannot be read: {error.strerror}") from None
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop("__meta__").tobytes())
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{where}: not a SecureCollaRAG checkpoint ({error})") from None
    if meta.get("format") != FORMAT or meta.get("version") != VERSION:
        raise CheckpointError(
            f"{where}: checkpoint version {meta.get('version')}, this release reads {VERSION}; train anew"
        )
    for name, identity in (schemas or {}).items():
        if meta.get("schemas", {}).get(name) != identity:
            raise CheckpointError(
                f"{where}: made for another {name} schema than this release has; train anew (scr train)"
            )
    return Checkpoint(arrays, meta)


def _shipped() -> bytes:
    file = resources.files("gnn").joinpath("checkpoints", DEFAULT)
    try:
        return file.read_bytes()
    except OSError:
        raise CheckpointError(
            "no checkpoint is shipped with this install; train one with scr train"
        ) from None
