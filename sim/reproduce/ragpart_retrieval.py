"""Tables 7 to 17 of the RAGPart paper: what the defenses cost on clean data, what they keep out.

Rows are keyed by attack and defense; the attack of clean rows is `none`, the undefended defense `none`.
"""

from __future__ import annotations

from collections.abc import Mapping

from defenses.ragpart.poll import Aggregation
from sim.progress import Progress
from sim.reproduce import ragpart_published as published
from sim.reproduce.ragpart_lab import Lab, percent
from sim.reproduce.retrieval import Rates, Retrieval, Scene
from sim.reproduce.table import Key, ReproduceOptions, Row, Table

SR = "% of questions with a gold document"
ASR = "% of questions with a poison"
_PAPER_LOSS = {"ragpart_k3": 31.0, "ragmask": 12.0}  # Contriever on NQ, relative, Table 7


def table_7(options: ReproduceOptions, progress: Progress) -> Table:
    """Success rate on clean data."""
    lab = Lab("ragpart-7", options, progress, questions=20)
    return lab.finish(_clean_rows(lab, _compare(lab, lab.clean)))


def table_8(options: ReproduceOptions, progress: Progress) -> Table:
    """Attack success rate of four attacks, with the success rate on clean data beside it."""
    lab = Lab("ragpart-8", options, progress, questions=10)
    figures = published.ATTACK_SUCCESS[lab.corpus][lab.settings.retriever]
    rows: list[Row] = []
    notes: list[str] = []
    for attack, cells in zip(published.ATTACKS, figures, strict=True):
        rates = _compare(lab, lab.attacked(attack))
        beside = dict(zip(published.DEFENSES, cells, strict=True))
        for name, rate in rates.items():
            key = {"attack": attack, "defense": name}
            rows.append(lab.row(key, beside.get(name), rate.poisoned, ASR))
        notes.append(_cuts(attack, rates))
    clean = _compare(lab, lab.clean)
    return lab.finish([*rows, *_clean_rows(lab, clean)], [*notes, _losses(clean)])


def table_9(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart's success rate by N and k."""
    lab = Lab("ragpart-9", options, progress, questions=40, documents=800)
    return _by_fragments(lab, lab.clean, "none", published.FRAGMENTS_SUCCESS, published.UNDEFENDED_SUCCESS)


def table_10(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart's attack success rate under AdvRAGgen by N and k."""
    lab = Lab("ragpart-10", options, progress, questions=10, documents=800)
    scene = lab.attacked("advraggen")
    return _by_fragments(lab, scene, "advraggen", published.FRAGMENTS_ATTACK, published.UNDEFENDED_ATTACK)


def table_11(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGMask's success rate by delta and segment length."""
    lab = Lab("ragpart-11", options, progress, questions=10, documents=2000)
    return _by_mask(lab, lab.clean, "none", published.MASK_SUCCESS, published.UNDEFENDED_SUCCESS)


def table_12(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGMask's attack success rate under AdvRAGgen by delta and segment length."""
    lab = Lab("ragpart-12", options, progress, questions=6, documents=2000)
    scene = lab.attacked("advraggen")
    return _by_mask(lab, scene, "advraggen", published.MASK_ATTACK, published.UNDEFENDED_ATTACK)


def table_14(options: ReproduceOptions, progress: Progress) -> Table:
    """The naive baseline's success rate by aggregation."""
    lab = Lab("ragpart-14", options, progress, questions=40, documents=600)
    return _by_aggregation(lab, {"none": published.NAIVE_SUCCESS[lab.settings.retriever]}, naive=True)


def table_15(options: ReproduceOptions, progress: Progress) -> Table:
    """The naive baseline's attack success rate by aggregation."""
    lab = Lab("ragpart-15", options, progress, questions=6, documents=600)
    cells = dict(zip(published.ATTACKS, published.NAIVE_ATTACK[lab.settings.retriever], strict=True))
    return _by_aggregation(lab, cells, naive=True)


def table_16(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart's success rate by aggregation."""
    lab = Lab("ragpart-16", options, progress, questions=40, documents=2000)
    return _by_aggregation(lab, {"none": published.RAGPART_SUCCESS[lab.settings.retriever]}, naive=False)


def table_17(options: ReproduceOptions, progress: Progress) -> Table:
    """RAGPart's attack success rate by aggregation."""
    lab = Lab("ragpart-17", options, progress, questions=10, documents=2000)
    cells = dict(zip(published.ATTACKS, published.RAGPART_ATTACK[lab.settings.retriever], strict=True))
    return _by_aggregation(lab, cells, naive=False)


def _compare(lab: Lab, scene: Scene) -> dict[str, Rates]:
    """No defense, RAGPart (k = 1 and k = 3), RAGMask, and the baselines where asked for, in one scene."""
    retrievals: dict[str, Retrieval] = {
        "none": lab.undefended(scene),
        "ragpart_k1": lab.voting(scene, 1),
        "ragpart_k3": lab.voting(scene, min(3, lab.settings.fragments)),
        "ragmask": lab.masking(scene),
        **lab.baselines(scene),
    }
    return {name: lab.rates(scene, retrieval) for name, retrieval in retrievals.items()}


def _clean_rows(lab: Lab, rates: Mapping[str, Rates]) -> list[Row]:
    cells = published.SUCCESS[lab.corpus][lab.settings.retriever]
    beside = dict(zip(published.DEFENSES, cells, strict=True))
    return [
        lab.row({"attack": "none", "defense": name}, beside.get(name), rate.found, SR)
        for name, rate in rates.items()
    ]


def _cuts(attack: str, rates: Mapping[str, Rates]) -> str:
    bare = percent(rates["none"].poisoned)
    if not bare:
        return f"{attack}: no poison was retrieved undefended, so there is nothing to cut."
    cuts = [
        f"{name} cuts {100 * (1 - percent(rates[name].poisoned) / bare):.0f} %"
        for name in rates
        if name != "none"
    ]
    return f"{attack}: of the undefended {bare:.0f} % {', '.join(cuts)}."


def _losses(rates: Mapping[str, Rates]) -> str:
    bare = percent(rates["none"].found)
    if not bare:
        return "On clean data no gold document was retrieved undefended."
    parts = []
    for name in (name for name in rates if name != "none"):
        lost = 100 * (1 - percent(rates[name].found) / bare)
        paper = f" (paper, Contriever: {_PAPER_LOSS[name]:.0f} %)" if name in _PAPER_LOSS else ""
        parts.append(f"{name} {lost:.0f} %{paper}")
    return f"Success rate lost on clean data, relative to the undefended {bare:.0f} %: {', '.join(parts)}."


def _by_fragments(
    lab: Lab, scene: Scene, attack: str, cells: Mapping[int, Mapping[int, int]], bare: int
) -> Table:
    rows = [_single(lab, scene, {"attack": attack, "defense": "none"}, bare)]
    for n, by_k in cells.items():
        for k, cell in by_k.items():
            rates = lab.rates(scene, lab.voting(scene, k, n))
            key: Key = {"attack": attack, "defense": "ragpart", "N": n, "k": k}
            rows.append(_row(lab, key, cell, rates))
    return lab.finish(rows)


def _by_mask(
    lab: Lab, scene: Scene, attack: str, cells: Mapping[float, Mapping[int, int]], bare: int
) -> Table:
    rows = [_single(lab, scene, {"attack": attack, "defense": "none"}, bare)]
    for delta, by_segment in cells.items():
        for segment, cell in by_segment.items():
            rates = lab.rates(scene, lab.masking(scene, segment=segment, delta=delta))
            key: Key = {"attack": attack, "defense": "ragmask", "delta": delta, "m": segment}
            rows.append(_row(lab, key, cell, rates))
    return lab.finish(rows)


def _by_aggregation(lab: Lab, cells: Mapping[str, tuple[int, int, int]], *, naive: bool) -> Table:
    name = "naive" if naive else "ragpart"
    rows: list[Row] = []
    for attack, (bare, intersection, majority) in cells.items():
        scene = lab.clean if attack == "none" else lab.attacked(attack)
        rows.append(_single(lab, scene, {"attack": attack, "defense": "none"}, bare))
        voting = lab.voting(scene, 3, naive=naive)
        for how, cell in ((Aggregation.INTERSECTION, intersection), (Aggregation.MAJORITY, majority)):
            rates = lab.rates(scene, voting.with_aggregation(how))
            rows.append(_row(lab, {"attack": attack, "defense": f"{name}_{how}"}, cell, rates))
    return lab.finish(rows)


def _single(lab: Lab, scene: Scene, key: Mapping[str, str], cell: int) -> Row:
    return _row(lab, key, cell, lab.rates(scene, lab.undefended(scene)))


def _row(lab: Lab, key: Key, cell: int, rates: Rates) -> Row:
    clean = key["attack"] == "none"
    return lab.row(key, cell, rates.found if clean else rates.poisoned, SR if clean else ASR)
