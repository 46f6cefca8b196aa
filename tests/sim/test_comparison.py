from __future__ import annotations

import io
import json

from rich.console import Console

from sim.arms import plan_arms
from sim.comparison import compare
from sim.config import RunConfig
from tests.sim.rounds_made import document, dropped, record


def table(**changes):
    arms = plan_arms(RunConfig(attack="saa"), True)
    clean = [record(query_id=f"q{i}", documents=(document(),)) for i in range(4)]
    attacked = [
        record(
            query_id=f"q{i}",
            attacked=True,
            target="x",
            target_given=i < 3,
            attack_success=i < 3,
            correct=i == 3,
            documents=(document(), dropped("scr", "source-01", "p", "malicious")),
        )
        for i in range(4)
    ]
    flags = {
        "seed": 0,
        "reader": "extractive",
        "simulated": True,
        "forced_choice": False,
        "dataset": "synthetic",
        "synthetic": True,
    }
    return compare([(arm, attacked if arm.attacked else clean) for arm in arms], **{**flags, **changes})


def shown(comparison, width=140):
    stream = io.StringIO()
    comparison.print(Console(file=stream, width=width))
    return stream.getvalue()


def test_every_row_has_its_figures_with_intervals():
    text = shown(table())
    for title in ("no attack, undefended", "no attack, SCR", "undefended (MS-RAG)", "single source (SS-RAG)"):
        assert title in text
    assert "75.0 (" in text
    assert "100.0 (100-100)" in text
    lines = [line for line in text.splitlines() if "no attack, undefended" in line]
    assert "-" in lines[0].split("│")[2]


def test_no_figure_is_cut_off_on_a_narrow_terminal():
    text = shown(table(), width=80)
    assert "…" not in text
    assert "(100-100)" in text


def test_labels_say_what_is_simulated_synthetic_or_forced():
    assert "extractive (simulated reader, synthetic)" in shown(table())
    text = shown(table(reader="choice", simulated=False, forced_choice=True, synthetic=False, dataset="nq"))
    assert "choice (forced choice, data nq)" in text


def test_the_table_is_plain_json():
    found = json.loads(json.dumps(table().as_json()))
    assert found["n_rounds"] == 4
    assert [row["arm"] for row in found["rows"]][-1] == "defended"
    defended = found["rows"][-1]
    assert defended["asr"]["value"] == 0.75
    assert defended["tnr"] == {"value": 1.0, "ci95": [1.0, 1.0], "n": 4}
    assert found["rows"][0]["asr"]["value"] is None
