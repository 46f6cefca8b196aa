"""The source's side of tokens: the file of stored keys, and that no proof is good twice."""

from __future__ import annotations

import heapq
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import grpc
from pydantic import field_validator

from core.config import StrictModel, dump, load
from core.errors import AuthenticationError, OverloadError
from core.paths import write_atomic
from core.tokens import HEADER, Token, new_token, proves, read_proof, stored_key

WINDOW_S = 60.0
MOST_NONCES = 200_000


class TokenFile(StrictModel):
    """Callers by name, each with the stored key of its token (64 hexadecimal digits)."""

    holds_secrets: ClassVar[bool] = True  # a token that stands here by mistake must not reach the log

    tokens: dict[str, str]

    @field_validator("tokens")
    @classmethod
    def _keys(cls, value: dict[str, str]) -> dict[str, str]:
        for name, key in value.items():
            if not re.fullmatch(r"[0-9a-f]{64}", key):
                raise ValueError(f"{name}: not a stored key (scr source token makes one)")
        return value


def read_tokens(path: Path) -> dict[str, str]:
    """Stored keys by caller's name.

    Raises:
        ConfigError: missing, broken, or with a wrong key or value.
    """
    return load(TokenFile, path).tokens


def add_token(path: Path, name: str) -> Token:
    """Give the caller `name` a token, in place of an earlier one; the file keeps its stored key only.

    Raises:
        ConfigError: the file is none, or `name` cannot be a name.
    """
    token = new_token(name)
    known = read_tokens(path) if path.exists() else {}
    write_atomic(path, dump(TokenFile(tokens={**known, name: stored_key(token.secret)})))
    return token


class TokenGate:
    """Finds out who calls by the proof in the call's metadata; safe for threads.

    A proof counts once and within `window_s` of its time. What was made before this gate, or before the
    oldest nonce still remembered, is refused, whatever the clock does meanwhile: a restart or a clock
    that is set back opens no door to proofs that were seen before.

    Args:
        source: this source's id, which proofs are made for.
        keys: gives the stored keys of the moment.
        window_s: seconds by which clocks may differ.
        most: nonces kept in memory at a time; calls beyond are refused as overload.
        clock: Unix time.
    """

    def __init__(
        self,
        source: str,
        keys: Callable[[], dict[str, str]],
        *,
        window_s: float = WINDOW_S,
        most: int = MOST_NONCES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._keys = keys
        self._window = int(1000 * window_s)
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._order: list[tuple[int, str]] = []  # by the time in the proof
        self._oldest = int(1000 * clock())

    def __call__(self, context: grpc.ServicerContext, method: str) -> str:
        """The name of whoever calls `method`.

        Raises:
            AuthenticationError: no proof, or one that is wrong, too old, too new, or was seen before.
            OverloadError: too many calls to remember.
        """
        found = [value for key, value in context.invocation_metadata() if key == HEADER]
        if len(found) != 1 or not isinstance(found[0], str):
            raise AuthenticationError("a call without the proof of a token")
        return self.check(found[0], method)

    def check(self, value: str, method: str) -> str:
        """The name that the header's `value` proves for a call of `method`, once."""
        proof = read_proof(value)
        stored = self._keys().get(proof.name)
        if stored is None or not proves(proof, stored, self._source, method):
            raise AuthenticationError(f"caller {proof.name!r} does not prove its token")
        with self._lock:
            now = int(1000 * self._clock())
            self._forget(now - self._window)
            if not self._oldest <= proof.milliseconds <= now + self._window:
                raise AuthenticationError(f"caller {proof.name!r}: the proof is not of this minute")
            if proof.nonce in self._seen:
                raise AuthenticationError(f"caller {proof.name!r}: the proof was used before")
            if len(self._seen) >= self._most:
                raise OverloadError("more calls with tokens than can be remembered")
            self._seen.add(proof.nonce)
            heapq.heappush(self._order, (proof.milliseconds, proof.nonce))
        return proof.name

    def _forget(self, before: int) -> None:
        """Forget nonces from before that time, and from then on refuse every proof that is as old."""
        self._oldest = max(self._oldest, before)
        while self._order and self._order[0][0] < self._oldest:
            self._seen.discard(heapq.heappop(self._order)[1])
