"""Proofs of tokens: only the right token, source, method, name and time prove anything."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import AuthenticationError, ConfigError
from core.rpc import open_channel
from core.tokens import Token, make_proof, new_token, proves, read_proof, stored_key
from tests.certificates import Authority

TOKEN = new_token("aggregator")
STORED = stored_key(TOKEN.secret)


def test_a_proof_proves_once_read() -> None:
    proof = read_proof(make_proof(TOKEN, "clinic", "Retrieve", 1_800_000_000.5))
    assert (proof.name, proof.milliseconds) == ("aggregator", 1_800_000_000_500)
    assert proves(proof, STORED, "clinic", "Retrieve")
    assert proves(proof, STORED, "CLINIC", "Retrieve")


def test_what_was_signed_cannot_be_changed() -> None:
    proof = read_proof(make_proof(TOKEN, "clinic", "Retrieve", 1_800_000_000))
    assert not proves(proof, STORED, "bank", "Retrieve")
    assert not proves(proof, STORED, "clinic", "Describe")
    assert not proves(proof, stored_key("another"), "clinic", "Retrieve")
    for change in ({"name": "mallory"}, {"milliseconds": proof.milliseconds + 1}, {"nonce": "0" * 32}):
        assert not proves(proof._replace(**change), STORED, "clinic", "Retrieve")


def test_the_stored_key_alone_proves_nothing() -> None:
    thief = make_proof(Token("aggregator", STORED), "clinic", "Retrieve", 1_800_000_000)
    assert not proves(read_proof(thief), STORED, "clinic", "Retrieve")
    assert hashlib.sha256(TOKEN.secret.encode()).hexdigest() != STORED


@given(st.text(max_size=200))
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(AuthenticationError):
        read_proof(value)


@given(st.integers(0, 31), st.integers(1, 255))
def test_every_bit_of_the_proof_counts(at: int, flip: int) -> None:
    proof = read_proof(make_proof(TOKEN, "clinic", "Retrieve", 1_800_000_000))
    changed = bytearray(proof.value)
    changed[at] ^= flip
    assert not proves(proof._replace(value=bytes(changed)), STORED, "clinic", "Retrieve")


@pytest.mark.parametrize("name", ["", "a b", "é", "a" * 65, "a\n"])
def test_a_name_that_is_no_name_gets_no_token(name: str) -> None:
    with pytest.raises(ConfigError):
        new_token(name)


def test_a_token_is_shown_over_tls_to_a_known_server_only(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="over TLS only"):
        open_channel("127.0.0.1:1", None, "clinic", token=TOKEN)
    with pytest.raises(ConfigError, match="over TLS only"):
        open_channel("127.0.0.1:1", Authority(tmp_path).issue("a"), token=TOKEN)
