"""Sweeps by name."""

from __future__ import annotations

from typing import Any

from core.errors import ConfigError

ATTACKS: tuple[Any, ...] = (
    "none",
    "saa",
    "poisonedrag",
    "ata",
    {"name": "hotflip", "settings": {"attack": "hotflip", "attack_option": {"iterations": 4}}},
    "query_as_poison",
    "tris_l1",
)
DEFENSES = (
    "none",
    "scr",
    "agreement",
    "ragpart",
    "ragmask",
    "tris",
    "trustrag",
    "ragdefender",
    "perplexity",
    "filterrag",
    "none@robustrag",
    "none@reliabilityrag",
)
PRESETS: dict[str, dict[str, Any]] = {
    # Every defense alone under every attack. Small, since four of them ask a language model of each document.
    "rivals": {
        "attack": list(ATTACKS),
        "defense": list(DEFENSES),
        "top_k": [3],
        "seed": [0, 1],
        "base": {
            "queries": 10,
            "llm": "smollm2",
            "stages": {
                "perplexity": {"options": {"words": 40}},
                "filterrag": {"options": {"max_tokens": 8}},
            },
        },
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
