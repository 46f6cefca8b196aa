"""Adaptive defense orchestration: learn what is normal in this deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.config import load
from core.errors import ConfigError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Adaptive defense orchestration.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EXAMPLES = """Examples:

  scr ado calibrate --traffic benign.jsonl --source a=127.0.0.1:5001 --insecure --out calibration.json

  scr ado calibrate --traffic state/trail.jsonl --out calibration.json
"""


@app.callback()
def _group() -> None:
    """Adaptive defense orchestration."""


@app.command(epilog=_EXAMPLES)
def calibrate(
    traffic: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Benign queries (text, user_id, time) or an aggregator's trail."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The calibration, as JSON.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=HOST:PORT", help="Ask these sources for the retrieval ranges."),
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Documents asked of each source.")] = None,
    embedder: Annotated[str | None, typer.Option(help="The aggregator's own; 'none' for none.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate of the aggregator.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM private key of the aggregator.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="PEM authority of the sources.")] = None,
    insecure: Annotated[bool | None, typer.Option("--insecure", help="No TLS; loopback only.")] = None,
    seed: Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The aggregator's own YAML; flags override it.")
    ] = None,
) -> None:
    """Write the normal range of every signal, from benign traffic, for the policy `ado`."""
    from aggregator.ado_traffic import ask_sources, read_recorded, signals_of
    from aggregator.config import AggregatorConfig
    from aggregator.sources_cli import source_addresses
    from defenses.ado.calibrate import calibrate as learn
    from defenses.ado.calibrate import save

    if traffic is None or out is None:
        raise ConfigError(f"--{'traffic' if traffic is None else 'out'} FILE is missing")
    settings = load(
        AggregatorConfig,
        config,
        {
            "sources": None if source is None else source_addresses(source),
            "top_k": top_k,
            "embedder": embedder,
            "tls_cert": tls_cert,
            "tls_key": tls_key,
            "tls_ca": tls_ca,
            "insecure": insecure,
            "seed": seed,
        },
    )
    recorded = read_recorded(traffic)
    queries, rounds = signals_of(recorded)
    if settings.sources:
        from aggregator.fan_out import FanOut
        from core.embedding import open_embedder
        from core.tls import tls_from_flags

        tls = tls_from_flags(settings.tls_cert, settings.tls_key, settings.tls_ca, insecure=settings.insecure)
        fan_out = FanOut.connect(settings.sources, tls, settings.deadline_s)
        own = None if settings.embedder == "none" else open_embedder(settings.embedder)
        try:
            rounds = ask_sources(recorded, fan_out, own, settings.top_k)
        finally:
            fan_out.close()
        if not rounds:
            raise ConfigError("no source returned a document: are they running?")
    learned = learn(queries, rounds)
    save(learned, out)
    note = "" if rounds else "; retrieval signals keep their defaults (give --source, or a trail)"
    typer.echo(f"{out}: {learned.n_queries} queries, {learned.n_rounds} rounds{note}")
