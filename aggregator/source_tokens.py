"""The tokens that sources gave to this aggregator, each for calls to that source alone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from core.config import StrictModel, dump, load
from core.errors import StoreError
from core.paths import write_private
from core.tokens import Token, given_token

_LOG = logging.getLogger(__name__)


class SourceToken(StrictModel):
    """What one source gave: the name under which it knows this aggregator, and the secret."""

    name: str = Field(min_length=1)
    secret: str = Field(min_length=1, repr=False)


class SourceTokens(StrictModel):
    """All of them, by the source's id."""

    holds_secrets: ClassVar[bool] = True

    tokens: dict[str, SourceToken]


def read_source_tokens(path: Path) -> dict[str, Token]:
    """Tokens by source id, from the YAML file `path`.

    Raises:
        ConfigError: missing, broken, or with a wrong key or value.
    """
    found = load(SourceTokens, path).tokens
    return {source: given_token(token.name, token.secret) for source, token in found.items()}


class TokenShelf:
    """The configured tokens and, on top of them, those that an operator brought while we ran; thread-safe.

    What an operator brought outlives a restart in `path`, a file that only its owner reads (0600).

    Args:
        path: the file, made with the first token; None keeps tokens as long as the process.
        configured: tokens by source id.

    Raises:
        ConfigError: the file is broken.
    """

    def __init__(self, path: Path | None = None, configured: Mapping[str, Token] | None = None) -> None:
        self._path, self._configured = path, dict(configured or {})
        self._lock = threading.Lock()
        self._brought: dict[str, Token] = {}
        if path is not None and path.exists():
            if path.stat().st_mode & 0o077:
                _LOG.warning("%s: holds secrets and is open to others than its owner: chmod 600", path)
            self._brought = read_source_tokens(path)

    def get(self, source_id: str) -> Token | None:
        """The token for calls to a source; None: it needs none."""
        with self._lock:
            return self._brought.get(source_id) or self._configured.get(source_id)

    def put(self, source_id: str, token: Token) -> None:
        """Remember the token that a source gave.

        Raises:
            StoreError: it could not be stored; nothing has changed.
        """
        with self._lock:
            self._write({**self._brought, source_id: token})

    def drop(self, source_id: str) -> None:
        """Forget what an operator brought for a source.

        Raises:
            StoreError: the file could not be written; nothing has changed.
        """
        with self._lock:
            if source_id in self._brought:
                self._write({s: token for s, token in self._brought.items() if s != source_id})

    def _write(self, tokens: dict[str, Token]) -> None:
        if self._path is not None:
            held = {s: SourceToken(name=token.name, secret=token.secret) for s, token in tokens.items()}
            try:
                write_private(self._path, dump(SourceTokens(tokens=held)))
            except OSError as error:
                why = error.strerror or error
                raise StoreError(f"{self._path}: tokens cannot be written ({why})") from None
        self._brought = tokens
