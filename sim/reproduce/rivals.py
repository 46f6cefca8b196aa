"""TRIS's rivals beside their own papers: TrustRAG's table 2 (with RobustRAG's column), FilterRAG's table I.

Setting, attack and reader are those of the TRIS tables (`sim.reproduce.tris_lab`), at the depth of each
paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.stage import Resources
from defenses.filterrag import FilterRagStage
from sim.progress import Progress
from sim.reproduce.rivals_published import CLEAN, FILTERRAG, SHARES, TRUSTRAG
from sim.reproduce.table import Key, ReproduceOptions, Row, Table
from sim.reproduce.tris_lab import Lab, World
from sim.reproduce.tris_pool import Asked, Pool, Round

_K = 5  # TrustRAG's top k
_CANDIDATES, _READ = 4, 2  # FilterRAG's s and k


def trustrag_table(options: ReproduceOptions, progress: Progress) -> Table:
    """ASR and accuracy with 100 to 20 % of five documents poisoned, and clean."""
    lab = Lab("trustrag-2", options, progress, questions=20)
    rows: list[Row] = []
    for world in lab.worlds:
        pool, crafted = _pool(lab, world, _K), lab.craft(world, "poisonedrag", _K)
        for share in (0, *SHARES):
            asked = [replace(one, texts=one.texts[: round(share * _K / 100)]) for one in crafted]
            for name, found in _trustrag_arms(lab, pool, asked, f"{world.name} {share} %", share > 0):
                said = TRUSTRAG.get((world.name, name), {}).get(share)
                accuracy, asr = (CLEAN.get((world.name, name)), None) if said is None else said
                key: Key = {
                    "dataset": world.name,
                    "defense": name,
                    "poisoned": share,
                    "questions": len(found),
                }
                rows.append(lab.row(key, accuracy, found, "accuracy"))
                if share:
                    rows.append(lab.row(key, asr, found, "asr"))
    notes = (
        "Published with Llama-3.1-8B, SimCSE vectors and 10 x 10 questions. TrustRAG is stage 1 here, at its "
        "threshold 0.88, which is made for SimCSE: stage 2 needs a model that knows the answers.",
        "Shares are of the poisons made for five places: one not among the five nearest has no effect.",
    )
    return lab.finish(rows, notes, source="TrustRAG, arXiv 2501.00879, table 2", depth=_K)


def filterrag_table(options: ReproduceOptions, progress: Progress) -> Table:
    """Two poisons among four candidates, two are read: poisons passed (ATR), ASR, accuracy."""
    lab = Lab("filterrag-1", options, progress, questions=5)
    stage = FilterRagStage({"keep": _READ}, Resources(lab.embedder, lab.llm, options.seed))
    rows: list[Row] = []
    for world in lab.worlds:
        pool = _pool(lab, world, _CANDIDATES, _READ)
        asked = lab.craft(world, "poisonedrag", 2)
        arms = {
            "clean": lab.measure(f"{world.name} clean", pool, asked, None, poisoned=False),
            "none": lab.measure(f"{world.name} undefended", pool, asked, None, poisoned=True),
            "filterrag": lab.measure(f"{world.name} filterrag", pool, asked, stage, poisoned=True),
        }
        for name, found in arms.items():
            said = FILTERRAG.get((world.name, name), {})
            key: Key = {"dataset": world.name, "arm": name, "questions": len(found)}
            rows.append(lab.row(key, said.get("accuracy"), found, "accuracy"))
            rows.append(lab.row(key, said.get("asr"), found, "target" if name == "clean" else "asr"))
            if name != "clean":
                rows.append(lab.row(key, said.get("atr"), found, "atr"))
    notes = (
        "Published with LLaMA-3 as the small model and GPT-3.5 as the reader, Contriever, 10 x 10 questions, "
        "two poisons and two true passages. Whether stop words count is not published: here they do not.",
    )
    return lab.finish(rows, notes, source="FilterRAG, arXiv 2508.02835, table I", depth=_CANDIDATES)


def _trustrag_arms(
    lab: Lab, pool: Pool, asked: Sequence[Asked], title: str, poisoned: bool
) -> list[tuple[str, list[Round]]]:
    arms = [
        ("none", lab.measure(f"{title} undefended", pool, asked, None, poisoned=poisoned)),
        ("trustrag", lab.measure(f"{title} trustrag", pool, asked, lab.trustrag(), poisoned=poisoned)),
    ]
    if lab.settings.robustrag:
        few = asked[: lab.settings.verified]
        for name in ("robustrag", "reliabilityrag"):
            reader = lab.open_reader(name)
            found = lab.measure(f"{title} {name}", pool, few, None, poisoned=poisoned, reader=reader)
            arms.append((name, found))
    return arms


def _pool(lab: Lab, world: World, k: int, read: int | None = None) -> Pool:
    return Pool(world.prepared, lab.embedder, lab.reader, k, read or k, lab.options.seed)
