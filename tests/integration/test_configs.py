"""Every example of configs/ is what its command takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import StrictModel, load
from core.registry import Registry
from core.stage import Resources

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["aggregator", "sim", "source_ingest", "source_node", "sweep"]


def _model(name: str) -> type[StrictModel]:
    if name == "sim":
        from sim.config import RunConfig

        return RunConfig
    if name == "sweep":
        from sim.sweep.config import SweepConfig

        return SweepConfig
    if name == "aggregator":
        from aggregator.config import AggregatorConfig

        return AggregatorConfig
    from source_node.config import IngestConfig, ServeConfig

    return IngestConfig if name == "source_ingest" else ServeConfig


def test_every_example_is_checked() -> None:
    assert sorted(path.stem for path in (ROOT / "configs").glob("*.yaml")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_strictly_and_says_how_to_use_it(name: str) -> None:
    path = ROOT / "configs" / f"{name}.yaml"
    load(_model(name), path)
    first = path.read_text().splitlines()[0]
    assert first.startswith("# scr ")
    assert f"--config configs/{name}.yaml" in first


def test_the_names_in_them_exist() -> None:
    from aggregator.config import AggregatorConfig
    from aggregator.readers import READERS
    from aggregator.reputation import Reputation
    from aggregator.stages import STAGES, build_stages
    from core.embedding import EMBEDDERS
    from core.embedding.hashing import HashingEmbedder
    from sim.attacks import ATTACKS
    from sim.behaviors import open_behavior
    from sim.config import RunConfig
    from source_node.config import ServeConfig
    from source_node.retrievers import RETRIEVERS

    def known(registry: Registry, *names: str) -> bool:
        return set(names) <= set(registry)

    run = load(RunConfig, ROOT / "configs/sim.yaml")
    assert known(ATTACKS, run.attack)
    assert known(STAGES, *run.defense)
    assert known(READERS, run.reader)
    assert known(EMBEDDERS, run.embedder)
    assert known(RETRIEVERS, run.retriever, load(ServeConfig, ROOT / "configs/source_node.yaml").retriever)
    open_behavior(run.behavior)
    federation = load(AggregatorConfig, ROOT / "configs/aggregator.yaml")
    built = build_stages(federation.defenses, Resources(embedder=HashingEmbedder()), Reputation())
    assert {place.stage.name for place in built.pipeline.stages} == {"injection_guard", "scr"}
