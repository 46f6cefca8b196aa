"""The tokens that sources gave to this aggregator, each for calls to that source alone."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from core.config import StrictModel, load
from core.tokens import Token


class SourceToken(StrictModel):
    """What one source gave: the name under which it knows this aggregator, and the secret."""

    name: str = Field(min_length=1)
    secret: str = Field(min_length=1, repr=False)


class SourceTokens(StrictModel):
    """All of them, by the source's id."""

    tokens: dict[str, SourceToken]


def read_source_tokens(path: Path) -> dict[str, Token]:
    """Tokens by source id, from the YAML file `path`.

    Raises:
        ConfigError: missing, broken, or with a wrong key or value.
    """
    found = load(SourceTokens, path).tokens
    return {source: Token(token.name, token.secret) for source, token in found.items()}
