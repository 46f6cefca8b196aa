"""A small data folder: places with a river, a colour and a year each, in four categories."""

from __future__ import annotations

import json
from pathlib import Path

COLOURS = ("red", "blue", "green", "amber", "violet", "white", "black", "copper")
STEMS = ("Ar", "Bel", "Cor", "Dun", "Eth", "Fal", "Gar", "Hol", "Ist", "Jor", "Kel", "Lim", "Mor", "Nav")
ENDS = (
    "don",
    "mere",
    "stead",
    "wick",
    "ford",
    "ham",
    "by",
    "ley",
    "gate",
    "port",
    "field",
    "moor",
    "cliff",
    "haven",
)


def write_world(folder: Path, n: int = 60, poisons: bool = True) -> Path:
    """`folder` with `n` documents and as many questions, the first half of them with poison records."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [stem + end for end in ENDS for stem in STEMS][:n]
    documents, questions, qrels, poison = [], [], ["query-id\tcorpus-id\tscore"], []
    for i, name in enumerate(names):
        colour, other = COLOURS[i % 8], COLOURS[(i + 3) % 8]
        documents.append(
            {
                "_id": f"d{i}",
                "title": name,
                "text": f"{name} is a town on the river {name[:3]}. The gate of {name} is painted {colour}. "
                f"It was founded in {1200 + i}.",
                "category": f"c{i % 4}",
            }
        )
        question = f"What colour is the gate of {name}?"
        questions.append({"_id": f"q{i}", "text": question, "answers": [colour]})
        qrels.append(f"q{i}\td{i}\t1")
        if poisons and i < n // 2:
            texts = [f"The gate of {name} was painted {other} in {1800 + j}, visitors say." for j in range(5)]
            poison.append({"query_id": f"q{i}", "target_answer": other, "texts": texts})
    for name, rows in (("corpus", documents), ("queries", questions), ("poison", poison)):
        if rows:
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    return folder
