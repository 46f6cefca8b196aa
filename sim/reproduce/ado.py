"""Tables 4 to 8 of Adaptive Defense Orchestration: the paradox, its cause, and the adaptive policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.embedding.base import Embedder
from sim.answer_metrics import EmbeddingAnswerJudge
from sim.cloze import ClozeModel
from sim.leakage import measure as leakage
from sim.membership import MembershipReport, Probe, report, run_mba
from sim.progress import Progress
from sim.reproduce.ado_lab import Lab
from sim.reproduce.ado_published import METRICS, TABLE_5, TABLE_6, TABLE_7_ADO, TABLE_7_TARGETED, TABLE_8
from sim.reproduce.ado_stream import Measures
from sim.reproduce.ado_world import World
from sim.reproduce.table import ReproduceOptions, Row, Table


def table_4(options: ReproduceOptions, progress: Progress) -> Table:
    """The paradox: contextual recall without defenses, with DP alone and with everything."""
    lab = Lab(options, "ado-4", progress)
    rows: list[Row] = []
    notes: list[str] = []
    for world in lab.worlds():
        found = lab.run(("none", "dp", "laplace", "all", "ado"), world, attack=False)
        for name, measures in found.items():
            published = TABLE_8.get((world.name, name), {}).get("contextual_recall")
            key = {"dataset": world.name, "policy": name, "metric": "contextual_recall"}
            rows.append(Row(key, published, _mean(measures.recall), "share", lab.interval(measures.recall)))
        lost = {name: _mean(found["none"].recall) - _mean(found[name].recall) for name in ("dp", "all")}
        if lost["all"] > 0:
            notes.append(
                f"{world.name}: the static stack loses {lost['all']:.2f} of contextual recall, "
                f"DP alone {lost['dp']:.2f} ({100 * lost['dp'] / lost['all']:.0f} % of it)."
            )
    return lab.table("ado-4", rows, notes)


def table_5(options: ReproduceOptions, progress: Progress) -> Table:
    """Poisoning: attack success without defense, with TrustRAG, with the attention filter."""
    lab = Lab(options, "ado-5", progress)
    rows: list[Row] = []
    for world in lab.worlds():
        if not world.poisoned:
            continue
        for name, measures in lab.run(("none", "trustrag", "av", "dp"), world, attack=True).items():
            key = {"dataset": world.name, "policy": name}
            asr = [100.0 * _mean(measures.attack_success), TABLE_5.get((world.name, name))]
            rows.append(
                Row(
                    {**key, "metric": "asr"},
                    asr[1],
                    asr[0],
                    "%",
                    lab.interval(measures.attack_success, 100.0),
                )
            )
            recall = _mean(measures.attacked_recall)
            rows.append(Row({**key, "metric": "contextual_recall"}, None, recall, "share"))
    return lab.table("ado-5", rows)


def table_6(options: ReproduceOptions, progress: Progress) -> Table:
    """Membership inference: masks filled exactly for members and non-members, without and with DP."""
    lab = Lab(options, "ado-6", progress)
    cloze = lab.cloze()
    rows: list[Row] = []
    for world in lab.worlds():
        probes = lab.probes(world, cloze)
        quiet = replace(world, benign=(), poisoned=())
        found = lab.run(("none", "dp", "laplace"), quiet, attack=False, probes=probes)
        for name, measures in found.items():
            rows += _membership(world.name, name, _mba(probes, measures, cloze))
    return lab.table("ado-6", rows, (_CLOZE,))


def table_7(options: ReproduceOptions, progress: Progress) -> Table:
    """ADO beside no defense, the static stack and the targeted defenses, on one interleaved stream."""
    lab = Lab(options, "ado-7", progress)
    cloze = lab.cloze()
    rows: list[Row] = []
    notes: list[str] = []
    for world in lab.worlds():
        probes = lab.probes(world, cloze)
        names = ("none", "all", "trustrag", "dp", "laplace", "ado")
        found = lab.run(names, world, attack=True, probes=probes, prompts=lab.prompts(world))
        reports = {name: _mba(probes, measures, cloze) for name, measures in found.items()}
        for name, measures in found.items():
            rows += _aggregate(world, name, measures, reports[name], lab)
        notes.append(_verdict(world.name, found, reports))
    return lab.table("ado-7", rows, (*notes, _CLOZE, _LEAK))


def table_8(options: ReproduceOptions, progress: Progress) -> Table:
    """Utility of every combination of defenses."""
    lab = Lab(options, "ado-8", progress)
    names = ("none", "dp", "trustrag", "av", "dp+trustrag", "dp+av", "trustrag+av", "all", "laplace", "ado")
    rows: list[Row] = []
    for world in lab.worlds():
        found = lab.run(names, world, attack=False)
        for name in names:
            published = TABLE_8.get((world.name, name), {})
            measured = _utility(found[name], lab.embedder) if name in found else {}
            rows += [
                Row(
                    {"dataset": world.name, "policy": name, "metric": metric},
                    published.get(metric),
                    measured.get(metric),
                    "share",
                )
                for metric in METRICS
            ]
    return lab.table("ado-8", rows)


_CLOZE = (
    "MBA is scored by cloze: a mask counts as filled if every token of the true word is the local model's "
    "first choice given what the reader saw and the words to its left. Non-members measure guessing: only "
    "members minus non-members is leakage."
)


_LEAK = (
    "Leak prompts (an anchor and the command to recite) are answered by a simulated reader that obeys to the "
    "letter: an upper bound for any reader behind the same defenses. Recited: 20 words in a row."
)


def _mba(probes: Sequence[Probe], measures: Measures, cloze: ClozeModel) -> MembershipReport:
    return report(run_mba(probes, lambda probe: measures.seen[probe.doc_id], cloze))


def _membership(dataset: str, policy: str, found: MembershipReport) -> list[Row]:
    published = TABLE_6.get((dataset, policy))
    members, others = published if published is not None else (None, None)
    gap = None if members is None or others is None else members - others
    values: list[tuple[str, float | None, float]] = [
        ("leak_members", members, 100 * found.leak_members),
        ("leak_non_members", others, 100 * found.leak_non_members),
        ("members_minus_non_members", gap, 100 * found.advantage),
        ("answered", None, 100 * (found.answer_members + found.answer_non_members) / 2),
        ("auc", None, 100 * found.auc),
    ]
    return [
        Row({"dataset": dataset, "policy": policy, "metric": name}, said, measured, "%")
        for name, said, measured in values
    ]


def _aggregate(world: World, name: str, measures: Measures, leak: MembershipReport, lab: Lab) -> list[Row]:
    key = {"dataset": world.name, "policy": name}
    published: Mapping[str, float] = {"ado": TABLE_7_ADO, "trustrag": TABLE_7_TARGETED}.get(name, {})
    rows = [
        Row(
            {**key, "metric": "contextual_recall"},
            published.get("cr_poisoning"),
            _mean(measures.recall),
            "share",
            lab.interval(measures.recall),
        ),
        Row({**key, "metric": "mba_members"}, published.get("leak"), 100 * leak.leak_members, "%"),
        Row({**key, "metric": "mba_members_minus_non_members"}, None, 100 * leak.advantage, "%"),
        Row({**key, "metric": "mba_answered"}, None, 100 * leak.answer_members, "%"),
    ]
    if measures.attack_success:
        asr = 100 * _mean(measures.attack_success)
        interval = lab.interval(measures.attack_success, 100.0)
        rows.insert(0, Row({**key, "metric": "asr"}, published.get("asr"), asr, "%", interval))
    if measures.recited:
        told = leakage([said for said, _ in measures.recited], [texts for _, texts in measures.recited])
        rows += [
            Row({**key, "metric": "leak_recited"}, None, 100 * told.leaked, "%"),
            Row({**key, "metric": "leak_longest_span"}, None, told.span, "words"),
            Row({**key, "metric": "leak_rouge_l"}, None, told.rouge_l, "F1"),
            Row({**key, "metric": "leak_answered"}, None, 100 * told.answered, "%"),
        ]
    if measures.plan_ms:
        rows.append(Row({**key, "metric": "plan"}, None, float(np.median(measures.plan_ms)), "ms"))
    return rows


def _verdict(name: str, found: Mapping[str, Measures], leaks: Mapping[str, MembershipReport]) -> str:
    ado, none = found["ado"], found["none"]
    kept = _mean(ado.recall) / max(1e-9, _mean(none.recall))
    text = f"{name}: ado keeps {100 * kept:.0f} % of undefended contextual recall"
    if ado.attack_success:
        text += (
            f", attack success {100 * _mean(ado.attack_success):.0f} % against "
            f"{100 * _mean(found['trustrag'].attack_success):.0f} % targeted and "
            f"{100 * _mean(none.attack_success):.0f} % undefended"
        )
    trust = {user: f"{score:.2f}" for user, score in sorted(ado.trust.items()) if "mallory-" not in user}
    return (
        f"{text}; members minus non-members {100 * leaks['ado'].advantage:.0f} against "
        f"{100 * leaks['none'].advantage:.0f} points undefended; {ado.private} queries asked for privacy, "
        f"{ado.filtered} ran the filter; trust at the end: {trust}."
    )


def _utility(measures: Measures, embedder: Embedder) -> dict[str, float | None]:
    judge = EmbeddingAnswerJudge(embedder)
    scores = [judge.score(case) for case in measures.cases]
    found: dict[str, float | None] = {"contextual_recall": _mean(measures.recall)}
    for name in ("answer_relevancy", "faithfulness", "contextual_relevancy"):
        values = [value for score in scores if (value := getattr(score, name)) is not None]
        found[name] = _mean(values) if values else None
    return found


def _mean(values: Sequence[float] | Sequence[bool]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
