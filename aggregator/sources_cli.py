"""The sources of a running aggregator: list, add, drain and remove them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli_config import ConfigFile
from core.errors import ConfigError, ScrError
from core.text import clean, squash
from core.tls import tls_from_flags

if TYPE_CHECKING:
    from core.tokens import Token
    from protos import operator_pb2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="The sources of a running aggregator.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_Server = Annotated[str, typer.Option("--server", metavar="HOST:PORT", help="The running aggregator.")]
_Cert = Annotated[Path | None, typer.Option(metavar="FILE", help="PEM certificate of the operator.")]
_Key = Annotated[Path | None, typer.Option(metavar="FILE", help="PEM private key of the operator.")]
_Authority = Annotated[Path | None, typer.Option(metavar="FILE", help="PEM authority of the aggregator.")]
_Insecure = Annotated[bool, typer.Option("--insecure", help="No TLS.")]
_Name = Annotated[
    str | None, typer.Option(help="Name in the aggregator's certificate, where it is not the host.")
]
_Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds to wait.")]
_Seed = Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")]
_TLS = "--tls-cert ops.crt --tls-key ops.key --tls-ca ca.crt"
_ADD_EXAMPLES = f"""Examples:

  scr aggregator sources add clinic=10.0.0.7:5001 --server agg:6000 {_TLS}

  scr aggregator sources add clinic=10.0.0.7:5001 --token-name aggregator --token-file clinic.token --server agg:6000 {_TLS}

  scr aggregator sources add bank --dialled --server agg:6000 {_TLS}
"""  # noqa: E501 - a command line that can be copied


@app.callback()
def _group() -> None:
    """The sources of a running aggregator."""


@app.command("list", epilog="Examples:\n\n  scr aggregator sources list --server 127.0.0.1:6000 --insecure")
def list_command(
    server: _Server,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    tls_cert: _Cert = None,
    tls_key: _Key = None,
    tls_ca: _Authority = None,
    server_name: _Name = None,
    insecure: _Insecure = False,
    timeout: _Timeout = 30.0,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Print every source: state, circuit, reliability, documents, and how it failed last."""
    from protos import operator_pb2

    tls = tls_from_flags(tls_cert, tls_key, tls_ca, insecure=insecure)
    reply: operator_pb2.ListReply = _call(
        "List", operator_pb2.ListRequest(), server, tls, server_name, timeout
    )
    for source in reply.sources:
        typer.echo(json.dumps(_as_dict(source)) if as_json else _line(source))


@app.command("add", epilog=_ADD_EXAMPLES)
def add_command(
    source: Annotated[
        str,
        typer.Argument(metavar="ID=HOST:PORT", help="Who, and where it listens; ID alone with --dialled."),
    ],
    server: _Server,
    dialled: Annotated[
        bool, typer.Option("--dialled", help="It dials in where the aggregator accepts sources that dial.")
    ] = False,
    token_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="With a token: the aggregator's name at the source.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What `scr source token` printed there.")
    ] = None,
    token_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="Environment variable with the same.")
    ] = None,
    tls_cert: _Cert = None,
    tls_key: _Key = None,
    tls_ca: _Authority = None,
    server_name: _Name = None,
    insecure: _Insecure = False,
    timeout: _Timeout = 30.0,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Ask one more source from now on; a drained one at the same address is asked again.

    A source may want a token in place of the aggregator's certificate: it goes to the aggregator over TLS,
    which keeps it in a file of its --state that only its owner reads. It never stands on a command line.
    """
    from protos import operator_pb2

    if dialled:
        name, address = source, ""
    else:
        ((name, address),) = source_addresses([source]).items()
    tls = tls_from_flags(tls_cert, tls_key, tls_ca, insecure=insecure)
    request = operator_pb2.AddRequest(source_id=name, address=address, dialled=dialled)
    token = _token(token_name, token_file, token_env)
    if token is not None:
        if tls is None:
            raise ConfigError("a token goes to the aggregator over TLS only")
        request.token_name, request.token_secret = token
    _tell(_call("Add", request, server, tls, server_name, timeout))


def _token(name: str | None, file: Path | None, variable: str | None) -> Token | None:
    """The token that the flags name; None: none.

    Raises:
        ConfigError: half of one, two, or what cannot be one.
    """
    from core.tokens import given_token

    if name is None and file is None and variable is None:
        return None
    if name is None or (file is None) == (variable is None):
        raise ConfigError("a token needs --token-name, and either --token-file or --token-env")
    if file is not None:
        try:
            secret = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not text"
            raise ConfigError(f"--token-file {file}: cannot be read ({why})") from None
    else:
        secret = os.environ.get(variable or "", "")
        if not secret:
            raise ConfigError(f"--token-env {variable}: no such environment variable, or empty")
    return given_token(name, secret.strip())


@app.command("drain", epilog=f"Examples:\n\n  scr aggregator sources drain clinic --server agg:6000 {_TLS}")
def drain_command(
    source: Annotated[str, typer.Argument(metavar="ID", help="The source.")],
    server: _Server,
    tls_cert: _Cert = None,
    tls_key: _Key = None,
    tls_ca: _Authority = None,
    server_name: _Name = None,
    insecure: _Insecure = False,
    timeout: _Timeout = 30.0,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Ask a source no more; rounds that asked it already keep its answer."""
    from protos import operator_pb2

    tls = tls_from_flags(tls_cert, tls_key, tls_ca, insecure=insecure)
    _tell(_call("Drain", operator_pb2.DrainRequest(source_id=source), server, tls, server_name, timeout))


@app.command("remove", epilog=f"Examples:\n\n  scr aggregator sources remove clinic --server agg:6000 {_TLS}")
def remove_command(
    source: Annotated[str, typer.Argument(metavar="ID", help="The source.")],
    server: _Server,
    tls_cert: _Cert = None,
    tls_key: _Key = None,
    tls_ca: _Authority = None,
    server_name: _Name = None,
    insecure: _Insecure = False,
    timeout: _Timeout = 30.0,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Take a source off the list; what is known of its reliability stays."""
    from protos import operator_pb2

    tls = tls_from_flags(tls_cert, tls_key, tls_ca, insecure=insecure)
    _tell(_call("Remove", operator_pb2.RemoveRequest(source_id=source), server, tls, server_name, timeout))


def source_addresses(given: Iterable[str]) -> dict[str, str]:
    """`ID=HOST:PORT` flags as a mapping.

    Raises:
        ConfigError: a flag of another form, or one id twice.
    """
    sources: dict[str, str] = {}
    for item in given:
        name, equals, address = item.rpartition("=")
        if not equals or not name:
            raise ConfigError(f"--source must be ID=HOST:PORT, not {item!r}")
        if name in sources:
            raise ConfigError(f"--source {name!r} is given twice")
        sources[name] = address
    return sources


def _call(method: str, request: Any, address: str, tls: Any, server_name: str | None, timeout: float) -> Any:
    import grpc

    from core.rpc import open_channel
    from protos import operator_pb2_grpc

    channel = open_channel(address, tls, expected_name=server_name)
    try:
        stub = operator_pb2_grpc.AggregatorOperatorStub(channel)  # type: ignore[no-untyped-call]  # generated
        return getattr(stub, method)(request, timeout=timeout)
    except grpc.RpcError as error:
        code, details = error.code(), squash(error.details() or "")[:300]
        raise ScrError(f"aggregator {address}: {code.name.lower().replace('_', ' ')}: {details}") from None
    finally:
        channel.close()


def _tell(reply: operator_pb2.ChangeReply) -> None:
    kept = "" if reply.persisted else " (until the aggregator restarts: it runs without --state)"
    typer.echo(squash(clean(reply.outcome)) + kept)


def _as_dict(source: operator_pb2.ManagedSource) -> dict[str, Any]:
    return {
        "source": source.source_id,
        "address": source.address,
        "state": source.state,
        "circuit": source.circuit,
        "in_flight": source.in_flight,
        "failures": source.failures,
        "last_failure": source.last_failure or None,
        "reliability": source.reliability,
        "reachable": source.reachable,
        "documents": source.n_documents if source.reachable else None,
    }


def _line(source: operator_pb2.ManagedSource) -> str:
    seen = f"{source.n_documents} documents" if source.reachable else "not reachable"
    last = f", {source.failures} failures in a row ({source.last_failure})" if source.failures else ""
    return squash(
        clean(
            f"{source.source_id}  {source.address}  {source.state}  circuit {source.circuit}  "
            f"reliability {source.reliability:.3f}  {seen}{last}"
        )
    )
