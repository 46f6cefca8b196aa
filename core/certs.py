"""A small certificate authority for tests, trials and federations without one of their own.

`make_authority` writes `ca.crt` and `ca.key`; `issue` signs a party's `NAME.crt` and `NAME.key` with
them. A party's name stands in its certificate as the common name and as the first DNS name: a source's
name must be its source id (see `core.tls`). Keys are ECDSA P-256, their files readable by their owner only.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ConfigError, MissingPackageError
from core.paths import write_atomic, write_private
from core.tls import TlsFiles

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY_DAYS = 3_650
PARTY_DAYS = 365
LOOPBACK = ("localhost", "127.0.0.1")
_BACKDATED = datetime.timedelta(minutes=5)  # a peer whose clock is a little behind accepts it at once
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?")


def make_authority(out: Path, name: str = "securecollarag", days: int = AUTHORITY_DAYS) -> tuple[Path, Path]:
    """Write `out`/ca.crt and `out`/ca.key; returns their paths.

    Raises:
        ConfigError: an authority is there already (its certificates would all become worthless), or
            the folder cannot be written. MissingPackageError: no `cryptography`.
    """
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    cert_path, key_path = out / "ca.crt", out / "ca.key"
    for path in (cert_path, key_path):
        if path.exists():
            raise ConfigError(f"{path} is there already: a new authority would void all that it signed")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _distinguished(f"{_checked(name)} authority")
    certificate = _signed(
        subject,
        subject,
        key.public_key(),
        key,
        days,
        [
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (_key_usage(authority=True), True),
            (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        ],
    )
    _write_pair(cert_path, key_path, certificate, key)
    return cert_path, key_path


def issue(
    ca: Path, name: str, out: Path, days: int = PARTY_DAYS, hosts: Sequence[str] = LOOPBACK
) -> TlsFiles:
    """Write `out`/NAME.crt and `out`/NAME.key, signed by the authority in the folder `ca`.

    Files of an earlier issue are replaced: that is how a certificate is rotated.

    Args:
        ca: folder with `ca.crt` and `ca.key`.
        name: who the party is; a source's id. Letters, digits, `.`, `-`, `_`; at most 64.
        out: folder for the two files, made if missing.
        days: how long the certificate is valid, >= 1; never longer than the authority's.
        hosts: further DNS names and IP addresses under which it serves.

    Raises:
        ConfigError: no usable authority, or a bad name, host or number of days.
        MissingPackageError: no `cryptography`.
    """
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    if _checked(name).lower() == "ca":
        raise ConfigError("a party cannot be called 'ca': its files would take the authority's place")
    authority, authority_key = _authority(ca)
    key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(name)]
    names += [each for each in map(_host, hosts) if each not in names]
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    certificate = _signed(
        _distinguished(name),
        authority.subject,
        key.public_key(),
        authority_key,
        days,
        [
            (x509.SubjectAlternativeName(names), False),
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_key_usage(authority=False), True),
            (x509.ExtendedKeyUsage(usages), False),
            (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
            (signer, False),
        ],
        latest=authority.not_valid_after_utc,
    )
    files = TlsFiles(out / f"{name}.crt", out / f"{name}.key", ca / "ca.crt")
    _write_pair(files.cert, files.key, certificate, key)
    return files


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        raise MissingPackageError(
            "certificates need the package 'cryptography': pip install 'securecollarag[node]'"
        ) from None


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be a name: 1 to 64 letters, digits, '.', '-' or '_' are right")
    return name


def _host(value: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(value.strip("[]")))
    except ValueError:
        pass
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?", value):
        raise ConfigError(f"host {value!r}: neither a DNS name nor an IP address")
    return x509.DNSName(value)


def _distinguished(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    signer: Any,
    days: int,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
    latest: datetime.datetime | None = None,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    if not 1 <= days <= 36_500:
        raise ConfigError(f"days must be in [1, 36500], not {days}")
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    end = now + datetime.timedelta(days=days)
    if latest is not None:
        if latest <= now:
            raise ConfigError(f"the authority expired on {latest:%Y-%m-%d}: make a new one (scr certs init)")
        end = min(end, latest)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(end)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(signer, hashes.SHA256())


def _authority(ca: Path) -> tuple[x509.Certificate, Any]:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        certificate = x509.load_pem_x509_certificate((ca / "ca.crt").read_bytes())
        key = serialization.load_pem_private_key((ca / "ca.key").read_bytes(), password=None)
    except FileNotFoundError as error:
        raise ConfigError(f"{error.filename}: not there; make an authority with scr certs init") from None
    except OSError as error:
        raise ConfigError(f"{error.filename}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"{ca}: no usable authority: {error}") from None
    if key.public_key() != certificate.public_key():
        raise ConfigError(f"{ca}: ca.key does not belong to ca.crt")
    return certificate, key


def _write_pair(cert_path: Path, key_path: Path, certificate: x509.Certificate, key: Any) -> None:
    from cryptography.hazmat.primitives import serialization

    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        write_private(key_path, secret)
        write_atomic(cert_path, certificate.public_bytes(serialization.Encoding.PEM))
    except OSError as error:
        raise ConfigError(f"{cert_path.parent}: cannot be written: {error.strerror}") from None
