"""Tokens: how a caller without a certificate proves who it is, behind TLS, for one call at a time.

A token is 32 random bytes that a source gives to one caller. With every call the caller sends its name,
the time, a nonce and a proof over them, the method and the source's id (in the manner of SCRAM, RFC 5802):

    client key = SHA-256(label, token)     stored key = SHA-256(client key)
    proof = client key XOR HMAC-SHA-256(stored key, source, method, name, time, nonce)

The source keeps stored keys only: whoever reads its file cannot call with them. A proof is good for one
call of one method of one source. A source sees the client key, so each source gives out tokens of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc

from core.errors import AuthenticationError, ConfigError

HEADER = "scr-token"
_LABEL = b"securecollarag token 1"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SECRET = re.compile(r"[!-~]{1,256}")
_PROOF = re.compile(r"1 ([A-Za-z0-9_.-]{1,64}) (\d{13}) ([0-9a-f]{32}) ([0-9a-f]{64})")


class Token(NamedTuple):
    """What a source gave to a caller: the caller's name there, and the secret, which is never shown."""

    name: str
    secret: str

    def __repr__(self) -> str:
        return f"Token(name={self.name!r})"

    def __str__(self) -> str:
        return repr(self)


class Proof(NamedTuple):
    """What a caller sent: its name, Unix milliseconds, the nonce, and the proof itself."""

    name: str
    milliseconds: int
    nonce: str
    value: bytes


def new_token(name: str) -> Token:
    """A fresh token for the caller `name`.

    Raises:
        ConfigError: `name` cannot be a name.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be a caller's name: 1 to 64 letters, digits, '.', '-' or '_'")
    return Token(name, secrets.token_urlsafe(32))


def given_token(name: str, secret: str) -> Token:
    """A token that a source gave.

    Raises:
        ConfigError: it cannot be one; the message does not show the secret.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be a caller's name: 1 to 64 letters, digits, '.', '-' or '_'")
    if not _SECRET.fullmatch(secret):
        raise ConfigError("a token's secret is one line of 1 to 256 printable characters without spaces")
    return Token(name, secret)


def stored_key(secret: str) -> str:
    """What a source keeps of a token, as hexadecimal digits."""
    return hashlib.sha256(_client_key(secret)).hexdigest()


def make_proof(token: Token, source: str, method: str, now: float) -> str:
    """The header's value for one call of `method` (its bare name) of `source` at Unix time `now`."""
    milliseconds, nonce = int(now * 1000), secrets.token_hex(16)
    key = _client_key(token.secret)
    mask = _mask(hashlib.sha256(key).digest(), source, method, token.name, milliseconds, nonce)
    return f"1 {token.name} {milliseconds:013d} {nonce} {_xor(key, mask).hex()}"


def read_proof(value: str) -> Proof:
    """The parts of a header's value.

    Raises:
        AuthenticationError: it is not of that form.
    """
    match = _PROOF.fullmatch(value)
    if match is None:
        raise AuthenticationError("the token's proof is not of the right form")
    return Proof(match[1], int(match[2]), match[3], bytes.fromhex(match[4]))


def proves(proof: Proof, stored: str, source: str, method: str) -> bool:
    """Whether whoever made `proof` holds the token behind the key `stored`."""
    key = bytes.fromhex(stored)
    mask = _mask(key, source, method, proof.name, proof.milliseconds, proof.nonce)
    return hmac.compare_digest(hashlib.sha256(_xor(proof.value, mask)).digest(), key)


def token_credentials(
    token: Token, source: str, clock: Callable[[], float] = time.time
) -> grpc.CallCredentials:
    """Credentials that prove `token` to `source` with every call; gRPC sends them over TLS only."""
    return grpc.metadata_call_credentials(_Prover(token, source, clock), "scr-token")


class _Prover(grpc.AuthMetadataPlugin):  # type: ignore[misc]  # grpc is untyped
    def __init__(self, token: Token, source: str, clock: Callable[[], float]) -> None:
        self._token, self._source, self._clock = token, source, clock

    def __call__(self, context: Any, callback: Any) -> None:
        value = make_proof(self._token, self._source, context.method_name, self._clock())
        callback(((HEADER, value),), None)


def _client_key(secret: str) -> bytes:
    return hashlib.sha256(_LABEL + b"\0" + secret.encode("utf-8")).digest()


def _mask(stored: bytes, source: str, method: str, name: str, milliseconds: int, nonce: str) -> bytes:
    message = "\n".join((source.lower(), method, name, str(milliseconds), nonce))
    return hmac.digest(stored, message.encode("utf-8"), "sha256")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
