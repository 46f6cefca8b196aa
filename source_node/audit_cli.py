"""Verify the audit log of a source node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile
from core.errors import ConfigError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Verify the audit log of a source node.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EXAMPLES = """Examples:

  scr source audit verify --store store

  scr source audit verify --store store --anchor 1200:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"""  # noqa: E501 - a command line that can be copied


@app.callback()
def _group() -> None:
    """Verify the audit log of a source node."""


@app.command("verify", epilog=_EXAMPLES)
def verify_command(
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The node's store; its log is DIR/audit.")
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The log's own folder, where it is elsewhere.")
    ] = None,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="NUMBER:HASH", help="A record that an earlier verification printed."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Check every record; prints how many there are and the last one as NUMBER:HASH, to be kept elsewhere.

    A changed, removed or missing record is an error that names the first one. A line that a kill tore
    while it was written was never acknowledged: it is told, and is no error.
    """
    from source_node.audit_check import verify

    if (store is None) == (audit is None):
        raise ConfigError("one of --store and --audit is needed")
    folder = audit if audit is not None else Path(store or "") / "audit"
    report = verify(folder, None if anchor is None else _anchor(anchor))
    torn = f", then a torn line of {report.torn_bytes} bytes" if report.torn_bytes else ""
    typer.echo(f"{report.records} records are sound{torn}; last {report.records}:{report.head}")


def _anchor(value: str) -> tuple[int, str]:
    match = re.fullmatch(r"(\d+):([0-9a-f]{64})", value)
    if match is None:
        raise ConfigError(f"--anchor {value!r}: not NUMBER:HASH as a verification prints it")
    return int(match[1]), match[2]
