"""Sweeps by name."""

from __future__ import annotations

from typing import Any

from core.errors import ConfigError

ATTACKS = ("none", "saa", "poisonedrag", "ata", "hotflip", "query_as_poison", "tris_l1")
DEFENSES = (
    "none",
    "scr",
    "agreement",
    "ragpart",
    "ragmask",
    "tris",
    "trustrag",
    "filterrag",
    "ragdefender",
    "perplexity",
    "none@smollm2",
    "none@robustrag",
    "none@reliabilityrag",
)
PRESETS: dict[str, dict[str, Any]] = {
    # every defense alone under every attack, with the embedded language model as the reader
    "rivals": {
        "attack": list(ATTACKS),
        "defense": list(DEFENSES),
        "seed": [0, 1],
        "base": {"queries": 20, "reader": "choice", "llm": "smollm2"},
    },
}


def preset(name: str) -> dict[str, Any]:
    """The settings of a sweep by name.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in PRESETS:
        raise ConfigError(f"--preset {name!r} is unknown; known: {', '.join(PRESETS)}")
    return dict(PRESETS[name])
