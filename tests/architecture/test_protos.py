from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from tests.architecture.regenerate_protos import comparable, stale


def test_generated_code_is_fresh(repository: Path) -> None:
    assert stale(repository) == []


def test_a_changed_message_is_noticed(repository: Path, tmp_path: Path) -> None:
    shutil.copytree(repository / "protos", tmp_path / "protos")
    proto = tmp_path / "protos" / "source_node.proto"
    proto.write_text(proto.read_text().replace("uint32 top_k = 2;", "uint64 top_k = 2;"))
    (tmp_path / "protos" / "aggregator_pb2.pyi").unlink()
    assert stale(tmp_path) == ["aggregator_pb2.pyi", "source_node_pb2.py"]


def test_the_version_banner_does_not_count(repository: Path) -> None:
    code = (repository / "protos" / "aggregator_pb2.py").read_text()
    other = re.sub(r"Protobuf Python Version: \S+", "Protobuf Python Version: 9.9.9", code)
    assert other != code
    assert comparable(other) == comparable(code)


def test_declared_versions_run_the_generated_code(repository: Path) -> None:
    dependencies = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["dependencies"]
    lowest = dict(d.split(">=") for d in dependencies)
    protobuf = re.search(
        r"Protobuf Python Version: (\S+)", (repository / "protos" / "types_pb2.py").read_text()
    )
    grpc = re.search(
        r"GRPC_GENERATED_VERSION = '(\S+)'", (repository / "protos" / "aggregator_pb2_grpc.py").read_text()
    )
    assert protobuf is not None
    assert grpc is not None
    assert _version(lowest["protobuf"]) >= _version(protobuf.group(1))
    assert _version(lowest["grpcio"]) >= _version(grpc.group(1))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
