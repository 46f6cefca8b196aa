"""What a node's own operator sees of it: counts, never a text, a name or a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile
from core.errors import StoreError

EXAMPLES = """Examples:

  scr source stats --store store

  scr source stats --store store --json
"""


def stats_command(
    store: Annotated[Path, typer.Option(metavar="DIR", help="The node's store.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Print what a store holds, and how many identifiers were taken out of what left, by kind.

    The counts run over all restarts of the node, which may be serving meanwhile; what was removed is kept
    nowhere. They stay with the institution: no caller is told.
    """
    from source_node.sanitize.ledger import read_removed
    from source_node.store import read_manifest

    manifest = read_manifest(store)
    if manifest is None:
        raise StoreError(f"{store}: no store here; run: scr source ingest --input PATH --store {store}")
    removed = read_removed(store)
    if as_json:
        told = {
            "documents": manifest.n_documents,
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "identifiers_removed": removed,
        }
        typer.echo(json.dumps(told))
        return
    typer.echo(f"documents {manifest.n_documents}")
    typer.echo(f"generation {manifest.generation}")
    typer.echo(f"embedder {manifest.embedder or 'none'}")
    if removed is None:
        typer.echo("identifiers removed: never served with --sanitize")
        return
    kinds = ", ".join(f"{kind} {count}" for kind, count in removed.items())
    typer.echo(f"identifiers removed {sum(removed.values())}" + (f": {kinds}" if kinds else ""))
