"""What takes identifiers out of a document before it leaves; detectors by name."""

from __future__ import annotations

from core.registry import Registry

DETECTORS = Registry(
    "detector",
    "securecollarag.detectors",
    {"patterns": "source_node.sanitize.patterns:PatternDetector"},
)
