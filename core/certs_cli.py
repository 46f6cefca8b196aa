"""Make a test authority and certificates for mutual TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.certs import AUTHORITY_DAYS, LOOPBACK, PARTY_DAYS, issue, make_authority
from core.cli_config import ConfigFile

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Make a test authority and certificates for mutual TLS.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_INIT_EXAMPLES = """Examples:

  scr certs init --out tls
"""
_ISSUE_EXAMPLES = """Examples:

  scr certs issue --ca tls --name clinic --out tls

  scr certs issue --ca tls --name aggregator --host agg.example --host 10.0.0.5 --out tls --days 90
"""
_Seed = Annotated[int, typer.Option(help="Accepted everywhere; keys are never made from it.")]


@app.callback()
def _group() -> None:
    """Make a test authority and certificates for mutual TLS."""


@app.command("init", epilog=_INIT_EXAMPLES)
def init_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Gets ca.crt and ca.key; made if missing.")],
    name: Annotated[str, typer.Option(help="What the authority is called.")] = "securecollarag",
    days: Annotated[int, typer.Option(min=1, help="How long it is valid.")] = AUTHORITY_DAYS,
    seed: _Seed = 0,
    config: ConfigFile = None,
) -> None:
    """Make a certificate authority: DIR/ca.crt for every party, DIR/ca.key for whoever signs."""
    cert, key = make_authority(out, name, days)
    typer.echo(f"{cert} {key}")


@app.command("issue", epilog=_ISSUE_EXAMPLES)
def issue_command(
    ca: Annotated[Path, typer.Option(metavar="DIR", help="Where `init` made the authority.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="The party; for a source its --source-id.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Gets NAME.crt and NAME.key.")],
    days: Annotated[int, typer.Option(min=1, help="How long it is valid.")] = PARTY_DAYS,
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help=f"A DNS name or address it serves under; without: {', '.join(LOOPBACK)}."
        ),
    ] = None,
    seed: _Seed = 0,
    config: ConfigFile = None,
) -> None:
    """Issue a certificate, or a new one in place of an old: DIR/NAME.crt and DIR/NAME.key."""
    files = issue(ca, name, out, days, host or LOOPBACK)
    typer.echo(f"{files.cert} {files.key}")
