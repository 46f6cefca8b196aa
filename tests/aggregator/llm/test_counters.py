from __future__ import annotations

import threading

from aggregator.llm.counters import Counters


def test_totals_from_many_threads() -> None:
    counters = Counters()
    threads = [
        threading.Thread(target=lambda: [counters.add(calls=1, cost=0.5) for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counters.add(cached=1, retries=2, failures=3, prompt_tokens=4, completion_tokens=5)
    assert counters.as_dict() == {
        "calls": 800,
        "cached": 1,
        "retries": 2,
        "failures": 3,
        "prompt_tokens": 4,
        "completion_tokens": 5,
        "cost": 400.0,
    }
