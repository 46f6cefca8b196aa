"""The trust that an aggregator has in its users: list it, reset it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load
from core.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from defenses.ado.trust import TrustStore

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="The trust that an aggregator has in its users.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_State = Annotated[Path | None, typer.Option(metavar="DIR", help="The aggregator's state folder.")]
_Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The aggregator's own YAML; flags override it.")
]
_Seed = Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")]


@app.callback()
def _group() -> None:
    """The trust that an aggregator has in its users."""


@app.command(
    "list", epilog="Examples:\n\n  scr trust list --state state\n\n  scr trust list --state state --json"
)
def list_users(
    state: _State = None,
    limit: Annotated[int, typer.Option(min=1, help="Users shown, least trusted first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    seed: _Seed = None,
    config: _Config = None,
) -> None:
    """List users, least trusted first: score, questions, questions that cost trust, last seen."""
    store = _open(state, config)
    try:
        records = store.listing(limit)
    finally:
        store.close()
    for record in records:
        if as_json:
            typer.echo(json.dumps(asdict(record)))
            continue
        seen = datetime.fromtimestamp(record.updated, UTC).isoformat(timespec="seconds")
        typer.echo(
            f"{record.score:.3f}  {record.user_id}  {record.questions} questions, "
            f"{record.suspicious} suspicious, last {seen}"
        )
    if not records and not as_json:
        typer.echo("no user has a record")


@app.command(
    "reset",
    epilog="Examples:\n\n  scr trust reset ann --state state\n\n  scr trust reset --all --state state",
)
def reset_users(
    user: Annotated[str | None, typer.Argument(help="Whom to forget.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Forget every user.")] = False,
    state: _State = None,
    seed: _Seed = None,
    config: _Config = None,
) -> None:
    """Forget a user's record: the next question starts from the initial trust."""
    if (user is None) == (not everybody):
        raise ConfigError("name one user, or give --all")
    store = _open(state, config)
    try:
        gone = store.reset(user)
    finally:
        store.close()
    if user is not None and not gone:
        raise ConfigError(f"no record of user {user!r}")
    typer.echo(f"{gone} forgotten")


def _open(state: Path | None, config: Path | None) -> TrustStore:
    from aggregator.config import AggregatorConfig
    from aggregator.state import has_state, open_trust

    folder = load(AggregatorConfig, config, {"state": state}).state
    if folder is None:
        raise ConfigError("--state DIR is missing (the folder that the aggregator runs with)")
    if not has_state(folder):
        raise StoreError(f"{folder}: no trust is recorded there")
    return open_trust(folder)
