"""ray_cluster.yaml is what `ray up` takes: checked by Ray's own schema and preparation."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def cluster(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / "ray_cluster.yaml").read_text())


def test_it_fits_rays_schema(cluster: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    spec = find_spec("ray")
    assert spec is not None
    assert spec.origin is not None
    schema = json.loads((Path(spec.origin).parent / "autoscaler" / "ray-schema.json").read_text())
    jsonschema.validate(cluster, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**cluster, "max_wrkers": 2}, schema)


def test_ray_up_prepares_it(cluster: dict[str, Any]) -> None:
    util = pytest.importorskip("ray.autoscaler._private.util")
    prepared = util.prepare_config(cluster)
    util.validate_config(prepared)
    (node_type,) = prepared["available_node_types"].values()
    assert node_type["max_workers"] == len(cluster["provider"]["worker_ips"]) == cluster["max_workers"]


def test_every_start_is_authenticated_and_uses_what_the_project_has(
    cluster: dict[str, Any], repository: Path
) -> None:
    starts = [
        command
        for kind in ("head", "worker")
        for command in cluster[f"{kind}_start_ray_commands"]
        if "ray start" in command
    ]
    assert len(starts) == 2
    assert all(command.startswith("RAY_AUTH_MODE=token ") for command in starts)
    targets = re.findall(r"^([a-z]+):.*##", (repository / "Makefile").read_text(), re.MULTILINE)
    assert cluster["setup_commands"] == ["make -C ~/securecollarag setup"]
    assert "setup" in targets
