"""The policy file of a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ConfigError
from source_node.access.policy import CallerRule, Rate, read_policy


def read(tmp_path: Path, text: str):
    path = tmp_path / "callers.yaml"
    path.write_text(text)
    return read_policy(path).callers


def test_callers_and_what_they_may_do(tmp_path: Path) -> None:
    callers = read(
        tmp_path,
        "callers:\n"
        "  aggregator:\n"
        "  study: {top_k: 3, categories: [heart, lung], rate: 2.5, epsilon_budget: 10}\n"
        "  burst: {rate: {per_second: 1, burst: 4}}\n",
    )
    assert callers["aggregator"] == CallerRule()
    study = callers["study"]
    assert (study.top_k, study.categories, study.epsilon_budget) == (3, {"heart", "lung"}, 10)
    assert study.rate == Rate(per_second=2.5)
    assert callers["burst"].rate == Rate(per_second=1, burst=4)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("caller: {}", "'callers' is missing"),
        ("callers: [a]", "callers"),
        ("callers: {a: {topk: 1}}", "unknown key 'callers.a.topk'"),
        ("callers: {a: {top_k: 0}}", "callers.a.top_k"),
        ("callers: {a: {rate: 0}}", "callers.a.rate.per_second"),
        ("callers: {a: {rate: true}}", "callers.a.rate"),
        ("callers: {a: {epsilon_budget: .inf}}", "callers.a.epsilon_budget"),
        ("callers: {a: {}, A: {}}", "'a' stands there twice"),
        ("callers: {'': {}}", "a caller needs a name"),
        ("callers: {a: {", "callers.yaml:"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=r"callers\.yaml") as caught:
        read(tmp_path, text)
    assert problem in str(caught.value)
