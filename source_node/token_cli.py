"""Give callers of a source node a token."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile

EXAMPLES = """Examples:

  scr source token --tokens tokens.yaml --name aggregator
"""


def token_command(
    tokens: Annotated[Path, typer.Option(metavar="FILE", help="The node's --tokens file; made if missing.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="The caller, as the policy names it.")],
    seed: Annotated[int, typer.Option(help="Accepted everywhere; tokens are never made from it.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Make a token for a caller and print it, once: FILE keeps only what checks it.

    A running node sees the change within a second. An earlier token of that caller is void from then on.
    """
    from source_node.access.tokens import add_token

    typer.echo(add_token(tokens, name).secret)
