"""Published tables by name; each is made by a function that is imported when it is first asked for.

A function takes `ReproduceOptions` and a `Progress` and returns a `Table` (`sim.reproduce.table`).
"""

from __future__ import annotations

from core.registry import Registry

REPRODUCTIONS = Registry(
    "table",
    "securecollarag.reproductions",
    {
        "ado-4": "sim.reproduce.ado:table_4",
        "ado-5": "sim.reproduce.ado:table_5",
        "ado-6": "sim.reproduce.ado:table_6",
        "ado-7": "sim.reproduce.ado:table_7",
        "ado-8": "sim.reproduce.ado:table_8",
        "ragpart-2": "sim.reproduce.ragpart_theory:table_2",
        "ragpart-3": "sim.reproduce.ragpart_theory:table_3",
        "ragpart-4": "sim.reproduce.ragpart_theory:table_4",
        "ragpart-5": "sim.reproduce.ragpart_theory:table_5",
        "ragpart-7": "sim.reproduce.ragpart_retrieval:table_7",
        "ragpart-8": "sim.reproduce.ragpart_retrieval:table_8",
        "ragpart-9": "sim.reproduce.ragpart_retrieval:table_9",
        "ragpart-10": "sim.reproduce.ragpart_retrieval:table_10",
        "ragpart-11": "sim.reproduce.ragpart_retrieval:table_11",
        "ragpart-12": "sim.reproduce.ragpart_retrieval:table_12",
        "ragpart-14": "sim.reproduce.ragpart_retrieval:table_14",
        "ragpart-15": "sim.reproduce.ragpart_retrieval:table_15",
        "ragpart-16": "sim.reproduce.ragpart_retrieval:table_16",
        "ragpart-17": "sim.reproduce.ragpart_retrieval:table_17",
        "scr-1": "sim.reproduce.scr:table_1",
        "scr-2": "sim.reproduce.scr:table_2",
        "scr-3": "sim.reproduce.scr:table_3",
        "scr-certificate": "sim.reproduce.scr:certificate",
        "filterrag-1": "sim.reproduce.rivals:filterrag_table",
        "trustrag-2": "sim.reproduce.rivals:trustrag_table",
        "tris-1": "sim.reproduce.tris:table_1",
        "tris-4": "sim.reproduce.tris:table_4",
        "tris-8": "sim.reproduce.tris:table_8",
        "tris-10": "sim.reproduce.tris:table_10",
        "tris-adaptive": "sim.reproduce.tris_adaptive:table_adaptive",
    },
    extra="sim",
)
