"""What deploy/ ships is what the programs take: settings parse, flags exist, limits and locks are there."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml

from aggregator.config import AggregatorConfig
from core.config import parse
from source_node.access.policy import AccessPolicy, read_policy
from source_node.config import ServeConfig

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MODELS = {"node.yaml": ServeConfig, "callers.yaml": AccessPolicy, "aggregator.yaml": AggregatorConfig}
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def workloads() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every workload of the manifests with the config maps beside it."""
    for path in MANIFESTS:
        found = documents(path)
        maps = {each["metadata"]["name"]: each["data"] for each in found if each["kind"] == "ConfigMap"}
        for each in found:
            if each["kind"] in ("Deployment", "StatefulSet"):
                yield each, maps


def known_flags(words: list[str]) -> set[str]:
    """The flags of the command that `words` (without `scr`) begin with."""
    from typer.main import get_command

    (entry,) = entry_points(group="securecollarag.commands", name=words[0])
    command, rest = get_command(entry.load()), words[1:]
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    return {flag for parameter in command.params for flag in parameter.opts}


def flags_exist(words: list[str]) -> None:
    words = [word for word in words if word != "-v"]
    assert {word for word in words if word.startswith("--")} <= known_flags(words), words


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_settings_of_the_units_are_settings(name: str) -> None:
    given = yaml.safe_load((DEPLOY / "systemd" / name).read_text())
    read = parse(MODELS[name], given, name)
    assert set(given) <= read.model_fields_set


def test_the_commented_choices_are_settings_too(tmp_path: Path) -> None:
    for name in ("node.yaml", "callers.yaml"):
        text = (DEPLOY / "systemd" / name).read_text()
        opened = re.sub(r"^( *)# ([a-z0-9_-]+: [\w{].*)$", r"\1\2", text, flags=re.MULTILINE)
        assert opened != text
        (tmp_path / name).write_text(opened)
        parse(MODELS[name], yaml.safe_load(opened), name)
    assert set(read_policy(tmp_path / "callers.yaml").callers) == {"aggregator", "study-17"}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_what_exists_and_keeps_it_in(path: Path) -> None:
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    unit.read_string(path.read_text())
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program.endswith("/scr")
    flags_exist(words)
    settings = yaml.safe_load((DEPLOY / "systemd" / Path(words[-1]).name).read_text())
    kept = {settings.get("store"), settings.get("state")} - {None}
    assert all(Path(each).is_relative_to(f"/var/lib/{service['StateDirectory']}") for each in kept)
    assert int(service["TimeoutStopSec"]) > settings.get("grace_s", 5)
    for key in ("NoNewPrivileges", "PrivateTmp", "ProtectHome"):
        assert service[key] == "true"
    assert service["ProtectSystem"] == "strict"
    assert service["MemoryMax"].endswith("G")
    limit = settings.get("memory_limit_mib")
    assert limit is None or limit < 1024 * int(service["MemoryMax"][:-1])


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    for path in UNITS:  # a program that exists, so that only the unit itself is judged
        text = path.read_text().replace("/opt/securecollarag/bin/scr", "/bin/true")
        (tmp_path / path.name).write_text(re.sub(r"^(User|Group)=.*\n", "", text, flags=re.MULTILINE))
    command = ["systemd-analyze", "verify", *(str(tmp_path / path.name) for path in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert complaints == []


def test_the_manifests_settings_are_settings() -> None:
    seen = set()
    for path in MANIFESTS:
        for each in documents(path):
            if each["kind"] == "ConfigMap":
                for name, text in each["data"].items():
                    parse(MODELS[name], yaml.safe_load(text), name)
                    seen.add(name)
    assert seen == set(MODELS)


def test_every_workload_is_locked_down_and_wired_up() -> None:
    names = set()
    for workload, maps in workloads():
        names.add(workload["metadata"]["name"])
        spec = workload["spec"]["template"]["spec"]
        assert workload["spec"]["replicas"] == 1
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        volumes = {volume["name"] for volume in spec["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            flags_exist(container["args"])
            lock = container["securityContext"]
            assert lock["readOnlyRootFilesystem"] is True
            assert lock["allowPrivilegeEscalation"] is False
            assert lock["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        (container,) = spec["containers"]
        (settings,) = [
            yaml.safe_load(maps[name][f"{container['args'][1].replace('source', 'node')}.yaml"])
            for name in maps
        ]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert settings["listen"].endswith(f":{ports['grpc']}")
        assert settings["metrics"].endswith(f":{ports['metrics']}")
        assert settings.get("grace_s", 5) < spec["terminationGracePeriodSeconds"]
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        for key in ("store", "state", "tls_cert", "tls_key", "tls_ca", "policy"):
            if key in settings:
                assert any(Path(settings[key]).is_relative_to(mount) for mount in mounts), key
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            (how,) = [container[probe][kind] for kind in ("tcpSocket", "httpGet") if kind in container[probe]]
            assert how["port"] in ports
    assert names == {"clinic", "aggregator"}


def test_services_lead_to_the_pods() -> None:
    for path in MANIFESTS:
        found = documents(path)
        (workload,) = [each for each in found if each["kind"] in ("Deployment", "StatefulSet")]
        (service,) = [each for each in found if each["kind"] == "Service"]
        template = workload["spec"]["template"]
        assert service["spec"]["selector"] == template["metadata"]["labels"]
        assert workload["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def ray_specs() -> list[dict[str, Any]]:
    (cluster,) = documents(DEPLOY / "kuberay" / "raycluster.yaml")
    (job,) = documents(DEPLOY / "kuberay" / "rayjob.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    return [cluster["spec"], job["spec"]["rayClusterSpec"]]


def test_the_ray_clusters_are_authenticated_and_of_the_pinned_version() -> None:
    (pinned,) = re.findall(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    first, second = ray_specs()
    assert first == second
    assert first["rayVersion"] == pinned
    assert first["authOptions"] == {"mode": "token"}
    (group,) = first["workerGroupSpecs"]
    assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for part in (first["headGroupSpec"], group):
        assert all(isinstance(value, str) for value in part["rayStartParams"].values())
        (container,) = part["template"]["spec"]["containers"]
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert part["rayStartParams"]["num-cpus"] == container["resources"]["limits"]["cpu"]


def test_the_ray_job_runs_a_command_that_exists_and_cleans_up() -> None:
    (job,) = documents(DEPLOY / "kuberay" / "rayjob.yaml")
    program, *words = shlex.split(job["spec"]["entrypoint"])
    assert program == "scr"
    flags_exist(words)
    assert job["spec"]["shutdownAfterJobFinishes"] is True
    assert words[words.index("--ray-address") + 1] == "auto"
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    out = Path(words[words.index("--out") + 1])
    assert any(out.is_relative_to(mount["mountPath"]) for mount in head["volumeMounts"])


def test_the_image_has_every_room_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    rooms = ("protos", "core", "defenses", "source_node", "gnn", "aggregator", "sim")
    assert all(f"COPY {room} {room}" in text for room in rooms)
    for name in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((ROOT / part).exists() for part in name.split()), name
    assert re.search(r"^USER 10001$", text, re.MULTILINE)
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", text, re.MULTILINE)
    known = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.S
    )
    assert known is not None
    assert all(re.search(rf"^{extra} = ", known[1], re.MULTILINE) for extra in extras.split(","))
