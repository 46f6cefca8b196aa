"""Run the headline claims and compare what comes out with what is claimed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile

app = typer.Typer(
    help="Run the headline claims and compare what comes out with what is claimed.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES = """
\b
Examples:
  scr claims check --short
  scr claims check poisoning-fails
"""


@app.callback()
def _group() -> None:
    """Run the headline claims and compare what comes out with what is claimed."""


@app.command(epilog=_EXAMPLES)
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Claims [all].")] = None,
    short: Annotated[bool, typer.Option("--short", help="Only those that CI runs.")] = False,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where the claims stand.")] = Path("claims"),
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> int:
    """Exit status 0 only where every number is within its tolerance."""
    from sim.claims import check as run
    from sim.claims import load_claims

    failed = 0
    claims = load_claims(folder, names or (), short=short)
    for name, claim in claims.items():
        sys.stdout.write(f"{name}: {claim.claim}\n")
        sys.stdout.flush()
        for one in run(folder / name, claim):
            expected, found = one.expected, "nothing" if one.found is None else f"{one.found:.4g}"
            fate = "holds" if one.holds else "FAILS"
            failed += not one.holds
            wanted = f"{expected.value:.4g} ± {expected.tolerance:.4g}"
            sys.stdout.write(f"  {fate}  {expected.name}: {found} (claimed {wanted})\n")
    sys.stdout.write(f"{len(claims)} claims, {failed} numbers out of tolerance\n")
    return 1 if failed else 0
