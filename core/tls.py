"""TLS from PEM files, mutual unless said otherwise, and who a peer is.

Identity rests on names in certificates that one authority (`ca`) signed:

- A **source node's** certificate carries its source id as a DNS name in the subject alternative
  names. The caller dials with `core.rpc.open_channel(address, tls, expected_name=source_id)`: gRPC
  then refuses every server whose certificate is not valid for that id, whatever host it runs on. The
  `source_id` in the reply is checked besides (`core.wire.from_retrieve_reply`). A node checks its own
  certificate before it serves (`check_server_name`).
- A **caller's** certificate is required by every TLS server here; `peer_identity` reads its name
  (first DNS or URI name of the subject alternative names, else the common name), on which access
  rules and budgets rest.

Names compare without regard to case, as DNS names do: source ids must differ in more than case.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from core.errors import ConfigError
from core.watched import Watched

_READS = 5


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of one party: its certificate (chain), its private key, the authority of its peers."""

    cert: Path
    key: Path
    ca: Path

    def server_credentials(
        self, *, client_certificates: bool = True, name: str | None = None
    ) -> grpc.ServerCredentials:
        """Credentials of a server, read again for the next connection where the files have changed.

        Files that do not fit (yet) leave the certificate before in force, and the log says why.

        Args:
            client_certificates: only clients whose certificate `ca` signed are accepted; False asks for
                none, where callers prove who they are otherwise.
            name: what peers must accept the certificate as; None leaves that unchecked.

        Raises:
            ConfigError: a file is missing, unreadable or not PEM, certificate and key do not fit, peers
                would not accept `name`, or the files change while they are read, time after time.
        """

        def read() -> grpc.ServerCertificateConfiguration:
            pems = self._fitting(name)
            return grpc.ssl_server_certificate_configuration([(pems.key, pems.cert)], pems.ca)

        watched = Watched((self.cert, self.key, self.ca), read, every_s=0)
        given = [watched.get()]

        def fetch() -> grpc.ServerCertificateConfiguration | None:
            latest = watched.get()
            if latest is given[0]:
                return None
            given[0] = latest
            return latest

        return grpc.dynamic_ssl_server_credentials(given[0], fetch, client_certificates)

    def channel_credentials(self, *, show: bool = True) -> grpc.ChannelCredentials:
        """Credentials of a client that trusts servers that `ca` signed, and shows its own certificate.

        They stay as they are: `core.rotation` follows the files.

        Raises:
            ConfigError: as `server_credentials`, names apart.
        """
        if not show:
            return grpc.ssl_channel_credentials(root_certificates=_pem(self.ca, "authority"))
        pems = self._fitting(None)
        return grpc.ssl_channel_credentials(
            root_certificates=pems.ca, private_key=pems.key, certificate_chain=pems.cert
        )

    def _fitting(self, name: str | None) -> _Pems:
        """The files' bytes of one moment, which fit together, and peers accept them as `name` if given."""
        # gRPC is given bytes while ssl checks files: a rotation in between must not leave them different
        for _ in range(_READS):
            pems = self._read()
            if name is not None:
                check_server_name(self, name)
            else:
                _server_context(self)
            if self._read() == pems:
                return pems
        raise ConfigError(f"{self.cert}, {self.key}, {self.ca}: changed at every one of {_READS} reads")

    def _read(self) -> _Pems:
        return _Pems(
            cert=_pem(self.cert, "certificate"), key=_pem(self.key, "key"), ca=_pem(self.ca, "authority")
        )


@dataclass(frozen=True, slots=True)
class _Pems:
    """What the files of a `TlsFiles` hold at one moment."""

    cert: bytes
    key: bytes
    ca: bytes


def tls_from_flags(
    cert: Path | None, key: Path | None, ca: Path | None, *, insecure: bool
) -> TlsFiles | None:
    """What `--tls-cert --tls-key --tls-ca | --insecure` ask for: the files, or None for no TLS.

    Raises:
        ConfigError: neither, both, or only some of the three files.
    """
    given = {"--tls-cert": cert, "--tls-key": key, "--tls-ca": ca}
    missing = [flag for flag, path in given.items() if path is None]
    if insecure:
        if len(missing) < len(given):
            raise ConfigError("--insecure and --tls-… exclude each other")
        return None
    if cert is None or key is None or ca is None:
        wanted = "--tls-cert, --tls-key and --tls-ca (or --insecure on a loopback address)"
        raise ConfigError(f"{', '.join(missing)} missing: give {wanted}")
    return TlsFiles(cert, key, ca)


def check_server_name(tls: TlsFiles, name: str) -> None:
    """Whether a peer with the same authority would accept `tls` as the server called `name`.

    A handshake in memory, so an expired certificate, a key that does not fit, another authority and
    another name all show before the server starts.

    Raises:
        ConfigError: it would not; the message says why.
    """
    tls._read()  # a missing file, or one that is not PEM, is named before ssl sees it
    server_context = _server_context(tls)
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        client_context.load_verify_locations(tls.ca)
    except ssl.SSLError as error:
        raise ConfigError(f"{tls.ca}: not a certificate authority ({_why(error)})") from None
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    try:
        client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
        for _ in range(4):
            for side in (client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
    except ssl.SSLCertVerificationError as error:
        raise ConfigError(
            f"{tls.cert}: peers would refuse it as {name!r}: {error.verify_message}; "
            "the certificate must carry that id as a DNS subject alternative name"
        ) from None
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"{tls.cert}: cannot serve as {name!r}: {error}") from None


def _server_context(tls: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert, tls.key)
    except (ssl.SSLError, OSError) as error:
        why = _why(error) if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(f"{tls.cert}: certificate and key {tls.key} do not fit ({why})") from None
    return context


def peer_identities(context: grpc.ServicerContext) -> tuple[str, ...]:
    """Every name in the caller's certificate, alternative names first; empty without mutual TLS."""
    auth = context.auth_context()
    if b"ssl" not in auth.get("transport_security_type", ()):
        return ()
    names = [*auth.get("x509_subject_alternative_name", ()), *auth.get("x509_common_name", ())]
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in names))


def peer_names(context: grpc.ServicerContext) -> tuple[str, ...] | None:
    """The alternative names in the caller's certificate, by which servers are known too; None: no TLS."""
    auth = context.auth_context()
    if b"ssl" not in auth.get("transport_security_type", ()):
        return None
    return tuple(name.decode("utf-8", "replace") for name in auth.get("x509_subject_alternative_name", ()))


def peer_identity(context: grpc.ServicerContext) -> str | None:
    """The caller's name: the first of `peer_identities`, or None without mutual TLS."""
    return next(iter(peer_identities(context)), None)


def _pem(path: Path, what: str) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such TLS {what} file") from None
    except OSError as error:
        raise ConfigError(f"{path}: TLS {what} cannot be read: {error.strerror}") from None
    if b"-----BEGIN " not in data:
        raise ConfigError(f"{path}: not a PEM file (a TLS {what} starts with -----BEGIN)")
    return data


def _why(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
