"""Sweeps by name."""

from __future__ import annotations

from typing import Any

from core.errors import ConfigError
from sim.sweep.axes import defense_variant

ATTACKS: tuple[Any, ...] = (
    "none",
    "saa",
    "poisonedrag",
    "ata",
    {
        "name": "hotflip",
        "settings": {"attack": "hotflip", "attack_option": {"iterations": 4}},
        "queries": 10,  # a quarter of a minute of crafting each
    },
    "query_as_poison",
    "tris_l1",
)
CHEAP = ("none", "scr", "agreement", "tris", "trustrag", "ragdefender")
COSTLY = ("ragpart", "ragmask")  # parts of every document are embedded
ASKING = ("perplexity", "filterrag", "none@robustrag", "none@reliabilityrag")  # a model, of each document


def _capped(names: tuple[str, ...], queries: int | None, seeds: int | None) -> list[dict[str, Any]]:
    return [
        {"name": name, "settings": defense_variant(name).settings, "queries": queries, "seeds": seeds}
        for name in names
    ]


DEFENSES: tuple[Any, ...] = (
    *_capped(CHEAP, None, None),
    *_capped(COSTLY, 10, None),
    *_capped(ASKING, 10, None),
)
PRESETS: dict[str, dict[str, Any]] = {
    # Every defense alone under every attack; the questions are those with a prepared poison in nq.
    "rivals": {
        "attack": list(ATTACKS),
        "defense": list(DEFENSES),
        "top_k": [3],
        "seed": [0, 1],
        "base": {
            "queries": 49,
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
