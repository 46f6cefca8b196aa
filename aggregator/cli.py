"""Run a verifying aggregator over a federation's source nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aggregator.sources_cli import app as sources_app
from aggregator.sources_cli import source_addresses
from core.config import load
from core.errors import ConfigError
from core.tls import tls_from_flags

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Run a verifying aggregator.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(sources_app, name="sources")
_EXAMPLES = """Examples:

  scr aggregator serve --source a=127.0.0.1:5001 --source b=127.0.0.1:5002 --listen 127.0.0.1:6000 --insecure

  scr aggregator serve --accept-dialled 0.0.0.0:6001 --dialled clinic --dialled bank --listen 0.0.0.0:6000 --tls-cert agg.crt --tls-key agg.key --tls-ca ca.crt

  scr aggregator serve --source clinic=10.0.0.7:5001 --listen 0.0.0.0:6000 --tls-cert agg.pem --tls-key agg.key --tls-ca ca.pem --state state
"""  # noqa: E501 - a command line that can be copied


@app.callback()
def _group() -> None:
    """Run a verifying aggregator."""


@app.command(epilog=_EXAMPLES)
def serve(
    source: Annotated[
        list[str] | None, typer.Option(metavar="ID=HOST:PORT", help="A source node; once for each.")
    ] = None,
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to serve.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate of this aggregator.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM private key of this aggregator.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="PEM authority of sources and callers.")] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="No TLS at all; loopback addresses only.")
    ] = None,
    defense: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A stage, in order; 'none' for no stage.")
    ] = None,
    reader: Annotated[str | None, typer.Option(metavar="NAME", help="What reads the answer.")] = None,
    reader_k: Annotated[int | None, typer.Option(help="Documents that the reader sees.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Documents asked of each source.")] = None,
    llm: Annotated[str | None, typer.Option(help="Language model for stages that need one.")] = None,
    embedder: Annotated[str | None, typer.Option(help="Own embedder; 'none' orders by rank.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint of the defense scr.")] = None,
    state: Annotated[Path | None, typer.Option(help="Folder of reputation and trail.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds for a fan-out.")] = None,
    retries: Annotated[int | None, typer.Option(help="Further attempts at a source that was gone.")] = None,
    hedge_after: Annotated[
        float | None, typer.Option(help="Seconds after which a slow source is asked a second time.")
    ] = None,
    breaker_failures: Annotated[
        int | None, typer.Option(help="Failed rounds in a row that leave a source alone; 0: never.")
    ] = None,
    breaker_reset: Annotated[float | None, typer.Option(help="Seconds until it is tried again.")] = None,
    quorum: Annotated[int | None, typer.Option(help="Sources that must reply.")] = None,
    on_quorum: Annotated[str | None, typer.Option(help="Where fewer reply: answer, warn or refuse.")] = None,
    operator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Certified name that may change the sources.")
    ] = None,
    accept_dialled: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where sources that open no port connect.")
    ] = None,
    dialled: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A source that connects there; once for each.")
    ] = None,
    source_tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of tokens that sources gave to us.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Offer Prometheus metrics there, over plain HTTP.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="text, or json: one object a line on stderr.")
    ] = None,
    all_filtered: Annotated[
        str | None, typer.Option(help="Where every document was dropped: refuse or unfiltered.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="What every draw descends from.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of the same keys; flags override it.")
    ] = None,
) -> None:
    """Answer questions from the documents of all sources that survive verification."""
    from aggregator.config import AggregatorConfig

    settings = load(
        AggregatorConfig,
        config,
        {
            "sources": None if source is None else source_addresses(source),
            "listen": listen,
            "tls_cert": tls_cert,
            "tls_key": tls_key,
            "tls_ca": tls_ca,
            "insecure": insecure,
            "defenses": defense,
            "reader": reader,
            "reader_k": reader_k,
            "top_k": top_k,
            "llm": llm,
            "embedder": embedder,
            "checkpoint": checkpoint,
            "state": state,
            "deadline_s": deadline,
            "retries": retries,
            "hedge_after_s": hedge_after,
            "breaker_failures": breaker_failures,
            "breaker_reset_s": breaker_reset,
            "quorum": quorum,
            "on_quorum": on_quorum,
            "operators": operator,
            "accept_dialled": accept_dialled,
            "dialled": dialled,
            "source_tokens": source_tokens,
            "metrics": metrics,
            "log_format": log_format,
            "all_filtered": all_filtered,
            "seed": seed,
        },
    )
    if settings.listen is None:
        raise ConfigError("--listen HOST:PORT is missing")
    tls = tls_from_flags(settings.tls_cert, settings.tls_key, settings.tls_ca, insecure=settings.insecure)

    from aggregator.serving import run

    run(settings, tls, typer.echo)
