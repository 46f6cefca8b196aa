"""Published tables by name; each is made by a function that is imported when it is first asked for.

A function takes `ReproduceOptions` and a `Progress` and returns a `Table` (`sim.reproduce.table`).
"""

from __future__ import annotations

from core.registry import Registry

REPRODUCTIONS = Registry(
    "table",
    "securecollarag.reproductions",
    {
        "ragpart-2": "sim.reproduce.ragpart_theory:table_2",
        "ragpart-3": "sim.reproduce.ragpart_theory:table_3",
        "ragpart-4": "sim.reproduce.ragpart_theory:table_4",
        "ragpart-5": "sim.reproduce.ragpart_theory:table_5",
    },
    extra="sim",
)
