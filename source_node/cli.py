"""Ingest an institution's documents and serve them as a source node."""

from __future__ import annotations

import typer

from source_node.audit_cli import app as audit_app
from source_node.ingest_cli import add_commands
from source_node.serve_cli import EXAMPLES as SERVE_EXAMPLES
from source_node.serve_cli import serve_command
from source_node.stats_cli import EXAMPLES as STATS_EXAMPLES
from source_node.stats_cli import stats_command
from source_node.token_cli import EXAMPLES as TOKEN_EXAMPLES
from source_node.token_cli import token_command

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Ingest an institution's documents and serve them as a source node.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _group() -> None:
    """Ingest an institution's documents and serve them as a source node."""


add_commands(app)
app.command("serve", epilog=SERVE_EXAMPLES)(serve_command)
app.command("token", epilog=TOKEN_EXAMPLES)(token_command)
app.command("stats", epilog=STATS_EXAMPLES)(stats_command)
app.add_typer(audit_app, name="audit")
