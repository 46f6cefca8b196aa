"""An institution's node: its documents in a crash-safe store, answered for over gRPC.

`from source_node import SourceNode` loads the node only when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from source_node.node import SourceNode as SourceNode

_LAZY = {"SourceNode": "source_node.node"}
__all__ = ["SourceNode"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
