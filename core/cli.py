"""The `scr` command: its subcommands come from the entry-point group `securecollarag.commands`.

A command's module is imported only when that command runs, so `scr --help` stays fast. An entry
point `NAME = module:attribute` leads to a `typer.Typer`; `core` knows none of them. The short help
of a command is the first line of its module's docstring, read without importing it.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import logging
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import Any

from core.errors import ConfigError, MissingPackageError, ScrError

GROUP = "securecollarag.commands"
_INTERRUPTED = 130
_HELP = """Usage: scr [OPTIONS] COMMAND [ARGS]...

  SecureCollaRAG: Byzantine-tolerant multi-source retrieval-augmented generation.

Options:
  --version      Show the version.
  --debug        Show the traceback of an error.
  -v, --verbose  Log to stderr.
  -h, --help     Show this message.

Commands:
{commands}

Examples:
  scr sim run --attack poisonedrag --defense scr --out out/run
  scr source ingest --input corpus.jsonl --store store
  scr COMMAND --help
"""


def run() -> None:
    """Console entry point: exit status 0 only on success, one-line errors without a traceback."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run `scr` with `arguments`; returns the exit status (2: the user's input, 130: interrupted)."""
    debug = "--debug" in arguments
    rest = [argument for argument in arguments if argument != "--debug"]
    verbose = False
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in ("-v", "--verbose"):
            verbose = True
        elif flag in ("-h", "--help"):
            _print(_HELP.format(commands=_listing()))
            return 0
        elif flag == "--version":
            _print(f"scr {version('securecollarag')}")
            return 0
        else:
            return _fail(f"no such option: {flag} (see scr --help)")
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    if not rest:
        _print(_HELP.format(commands=_listing()))
        return 2
    try:
        status = _dispatch(rest[0], rest[1:])
        if status == _INTERRUPTED:  # typer turns Ctrl-C into this status without a word
            raise KeyboardInterrupt
        return status
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except ScrError as error:
        if debug:
            raise
        return _fail(str(error))


def _dispatch(name: str, arguments: list[str]) -> int:
    commands = _commands()
    if name not in commands:
        close = difflib.get_close_matches(name, commands, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return _fail(f"no such command {name!r}{hint}; known: {', '.join(sorted(commands))}")
    try:
        app: Any = commands[name].load()
    except ModuleNotFoundError as error:
        module = commands[name].module
        if error.name is not None and f"{module}.".startswith(f"{error.name}.") and "." in error.name:
            raise ConfigError(
                f"scr {name} is registered as {module!r}, but there is no {error.name!r}"
            ) from None
        raise MissingPackageError(
            f"scr {name} needs the package {error.name!r}: pip install 'securecollarag[all]'"
        ) from error
    try:
        status = app(args=arguments, prog_name=f"scr {name}", standalone_mode=False)
    except (ScrError, KeyboardInterrupt):
        raise
    except Exception as error:  # typer may carry its own copy of click: told by shape, not by class
        if type(error).__name__ == "Abort":
            raise KeyboardInterrupt from None
        if not hasattr(error, "exit_code"):
            raise
        if hasattr(error, "show"):
            error.show()
        return int(error.exit_code)
    return status if isinstance(status, int) else 0


def _commands() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _listing() -> str:
    commands = sorted(_commands().items())
    width = max((len(name) for name, _ in commands), default=0)
    return "\n".join(f"  {name:{width}}  {_summary(entry)}".rstrip() for name, entry in commands)


def _summary(entry: EntryPoint) -> str:
    """First line of the docstring of the entry's module, without running the module."""
    package, *inner = entry.module.split(".")
    root = importlib.util.find_spec(package)
    if root is None or root.origin is None:
        return ""
    source = Path(root.origin)
    if inner:
        module = source.parent.joinpath(*inner)
        source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    try:
        return (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split("\n")[0]
    except (OSError, SyntaxError):
        return ""


def _print(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")


def _fail(message: str, status: int = 2) -> int:
    sys.stderr.write(f"scr: {' '.join(message.split())}\n")
    return status
