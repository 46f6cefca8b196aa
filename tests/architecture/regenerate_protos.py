"""Regenerates the code of protos/ with grpc_tools; `--check` compares with what is committed.

The comparison ignores the banner that names the generator's version, so that two machines with
different grpcio-tools agree on the same messages.
"""

from __future__ import annotations

import argparse
import importlib.resources
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTOS = ("types", "source_node", "aggregator", "operator", "source_tunnel")
_BANNER = re.compile(
    r"^(?:# Protobuf Python Version: .*"
    r"|    (?:\d+,|'',|'[^']*\.proto')"
    r"|GRPC_GENERATED_VERSION = .*"
    r")$",
    re.MULTILINE,
)


def generate(root: Path, out: Path) -> None:
    """Write the code for `root`/protos/*.proto below `out`/protos.

    Raises:
        SystemExit: protoc found an error (it has printed it).
    """
    from grpc_tools import protoc

    well_known = importlib.resources.files("grpc_tools") / "_proto"
    out.mkdir(parents=True, exist_ok=True)
    arguments = [f"-I{root}", f"-I{well_known}"]
    arguments += [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    arguments += [f"protos/{name}.proto" for name in PROTOS]
    if protoc.main(["protoc", *arguments]) != 0:
        raise SystemExit(1)
    (out / "protos" / "types_pb2_grpc.py").unlink()  # types.proto has no service


def comparable(code: str) -> str:
    """`code` without what depends on the generator's version only."""
    return _BANNER.sub("", code)


def stale(root: Path) -> list[str]:
    """Names of the files in `root`/protos that are not what their .proto files give now."""
    with tempfile.TemporaryDirectory() as folder:
        generate(root, Path(folder))
        fresh = {path.name: path.read_text() for path in (Path(folder) / "protos").iterdir()}
    committed = {path.name: path.read_text() for path in (root / "protos").glob("*_pb2*.py*")}
    names = fresh.keys() | committed.keys()
    return sorted(
        name for name in names if comparable(fresh.get(name, "")) != comparable(committed.get(name, ""))
    )


def main() -> int:
    """Command line; exit status 1 where --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    if not parser.parse_args().check:
        generate(ROOT, ROOT)
        return 0
    names = stale(ROOT)
    if names:
        sys.stderr.write(f"protos/ is stale: {', '.join(names)}; run `make protos`\n")
        return 1
    sys.stdout.write("protos/ is fresh\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
