from __future__ import annotations

import json
import time

from sim.bench.result import Result, machine, median_ms


def test_what_a_figure_does_not_have_is_left_out():
    assert Result("a", 1.5, "ms").as_json() == {"name": "a", "value": 1.5, "unit": "ms"}
    assert Result("a", 1.0, "ms", 2.0, 2.0).as_json()["ratio"] == 2.0


def test_the_median_leaves_warm_up_out():
    calls = []

    def action():
        calls.append(1)
        time.sleep(0.2 if len(calls) <= 2 else 0.001)

    assert median_ms(action, repeats=3, warm_up=2) < 100
    assert len(calls) == 5


def test_the_machine_is_plain_json():
    assert json.loads(json.dumps(machine()))["memory_gb"] > 0
