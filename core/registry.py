"""Named plug-ins of one kind: a table of lazy imports, extended by entry points of other packages."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from core.errors import ConfigError, MissingPackageError


class Registry:
    """Maps a name to a class or factory of one kind, imported when it is first asked for.

    Args:
        kind: what the entries are, for messages (`attack`, `defense`, ...).
        group: entry-point group in which other packages register theirs.
        table: name -> `module:attribute`; built-in names win over entry points of the same name.
        extra: pip extra that brings the libraries which entries may miss.
    """

    def __init__(self, kind: str, group: str, table: Mapping[str, str], extra: str = "all") -> None:
        self.kind = kind
        self.group = group
        self._table = dict(table)
        self._extra = extra

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._targets())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._targets()

    def get(self, name: str) -> Any:
        """The entry called `name`.

        Raises:
            ConfigError: unknown name (the message lists the known ones), or a wrong entry point.
            MissingPackageError: a library that the entry needs is not installed.
        """
        targets = self._targets()
        if name not in targets:
            close = difflib.get_close_matches(name, targets, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            known = ", ".join(sorted(targets))
            raise ConfigError(f"unknown {self.kind} {name!r}{hint}; known: {known}")
        module, _, attribute = targets[name].partition(":")
        try:
            loaded = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{module}.".startswith(f"{error.name}.") and "." in error.name:
                raise ConfigError(
                    f"{self.kind} {name!r} is registered as {targets[name]!r}, but there is no {error.name!r}"
                ) from None
            raise MissingPackageError(
                f"{self.kind} {name!r} needs the package {error.name!r}: "
                f"pip install 'securecollarag[{self._extra}]'"
            ) from error
        if not hasattr(loaded, attribute):
            raise ConfigError(
                f"{self.kind} {name!r} is registered as {targets[name]!r}, but {module} has no {attribute!r}"
            )
        return getattr(loaded, attribute)

    def _targets(self) -> dict[str, str]:
        found = {entry.name: entry.value for entry in entry_points(group=self.group)}
        return {**found, **self._table}
