"""Ask a running aggregator a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.errors import ScrError
from core.text import clean, squash
from core.tls import tls_from_flags

if TYPE_CHECKING:
    from core.tls import TlsFiles
    from protos import aggregator_pb2

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})

_EXAMPLES = """Examples:

  scr ask "Where is the archive kept?" --aggregator 127.0.0.1:6000 --insecure

  scr ask "Where is the archive kept?" --aggregator agg.example:6000 --tls-cert me.pem --tls-key me.key --tls-ca ca.pem --json
"""  # noqa: E501 - a command line that can be copied
_PREVIEW = 60


@app.command(epilog=_EXAMPLES)
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    aggregator: Annotated[str, typer.Option(metavar="HOST:PORT", help="A running aggregator.")],
    as_json: Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")] = False,
    top_k: Annotated[int, typer.Option(min=0, max=100, help="Documents per source; 0: its default.")] = 0,
    user: Annotated[str, typer.Option(help="Who asks, for the aggregator's trust.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the answer.")] = 60.0,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate of the asker.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM private key of the asker.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="PEM authority of the aggregator.")] = None,
    server_name: Annotated[
        str | None, typer.Option(help="Name in the aggregator's certificate, where it is not the host.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS.")] = False,
) -> int:
    """Print the answer, then every document that was kept or dropped, and why.

    Exit status: 0 answered, 1 the aggregator refused to answer, 2 anything else.
    """
    tls = tls_from_flags(tls_cert, tls_key, tls_ca, insecure=insecure)
    reply = _call(question, top_k, user, aggregator, tls, server_name, timeout)
    typer.echo(json.dumps(as_dict(reply), indent=2) if as_json else as_text(reply))
    return 1 if reply.refused else 0


def _call(
    question: str,
    top_k: int,
    user: str,
    address: str,
    tls: TlsFiles | None,
    server_name: str | None,
    timeout: float,
) -> aggregator_pb2.AskReply:
    import grpc

    from core import bounds
    from core.rpc import open_channel
    from protos import aggregator_pb2, aggregator_pb2_grpc

    request = aggregator_pb2.AskRequest(
        question=bounds.text(question, "question", bounds.MAX_QUERY_BYTES),
        top_k=top_k,
        user_id=bounds.identifier(user, "user", empty=True),
    )
    channel = open_channel(address, tls, expected_name=server_name)
    try:
        stub: Any = aggregator_pb2_grpc.AggregatorStub(channel)  # type: ignore[no-untyped-call]  # generated
        reply: aggregator_pb2.AskReply = stub.Ask(request, timeout=timeout)
    except grpc.RpcError as error:
        code, details = error.code(), squash(error.details() or "")[:300]
        raise ScrError(f"aggregator {address}: {code.name.lower().replace('_', ' ')}: {details}") from None
    finally:
        channel.close()
    return reply


def as_dict(reply: aggregator_pb2.AskReply) -> dict[str, Any]:
    """The reply as JSON-ready values; a score that nobody gave is null."""
    verdicts = _verdicts(reply)
    return {
        "answer": reply.answer,
        "refused": reply.refused,
        "reader": reply.reader,
        "round_id": reply.round_id,
        "documents": [
            {
                "source": document.key.source_id,
                "doc_id": document.key.doc_id,
                "title": document.title,
                "text": document.text,
                "kept": document.kept,
                "credibility": document.credibility if document.HasField("credibility") else None,
                "similarity": document.similarity if document.HasField("similarity") else None,
                "holders": [[holder.source_id, holder.doc_id] for holder in document.holders],
                "reason": _reason(verdicts.get(_key(document), [])),
                "verdicts": verdicts.get(_key(document), []),
            }
            for document in reply.documents
        ],
        "stages": [
            {
                "stage": stage.stage,
                "hook": stage.hook,
                "milliseconds": round(stage.milliseconds, 3),
                "error": stage.error or None,
            }
            for stage in reply.trail
        ],
        "failures": [
            {"source": failure.source_id, "kind": failure.kind, "detail": failure.detail}
            for failure in reply.failures
        ],
        "reliability": dict(sorted(reply.reliability.items())),
        "warnings": list(reply.warnings),
    }


def as_text(reply: aggregator_pb2.AskReply) -> str:
    """The reply for a terminal; control characters of hostile documents are taken out."""
    found = as_dict(reply)
    lines = [_plain(found["answer"]) or "(no answer)"]
    for kept, title in ((True, "kept"), (False, "dropped")):
        documents = [document for document in found["documents"] if document["kept"] is kept]
        if documents:
            lines += ["", f"{title}:"]
            lines += [_line(document) for document in documents]
    if found["failures"]:
        lines += ["", "silent sources:"]
        lines += [f"  {_plain(f['source'])}  {f['kind']}: {_plain(f['detail'])}" for f in found["failures"]]
    if found["reliability"]:
        shown = ", ".join(f"{_plain(name)} {value:.2f}" for name, value in found["reliability"].items())
        lines += ["", f"reliability: {shown}"]
    lines += [f"warning: {_plain(warning)}" for warning in found["warnings"]]
    return "\n".join(lines)


def _line(document: dict[str, Any]) -> str:
    score = "  -  " if document["credibility"] is None else f"{document['credibility']:.3f}"
    others = [name for name, _ in document["holders"] if name != document["source"]]
    also = f" (also {', '.join(map(_plain, others))})" if others else ""
    preview = _plain(document["title"] or document["text"])
    preview = preview if len(preview) <= _PREVIEW else preview[: _PREVIEW - 1] + "…"
    name = _plain(f"{document['source']}/{document['doc_id']}")
    return f"  {score}  {name}{also}  [{_plain(document['reason'])}]  {preview}"


def _verdicts(reply: aggregator_pb2.AskReply) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for stage in reply.trail:
        for verdict in stage.verdicts:
            found.setdefault(_key(verdict), []).append(
                {
                    "stage": stage.stage,
                    "action": verdict.action,
                    "credibility": verdict.credibility if verdict.HasField("credibility") else None,
                    "reason": verdict.reason,
                    "evidence": dict(sorted(verdict.evidence.items())),
                }
            )
    return found


def _reason(verdicts: list[dict[str, Any]]) -> str:
    """Why a document was dropped, else what the last stage said of it."""
    if not verdicts:
        return "not judged"
    last = next((v for v in verdicts if v["action"] == "drop"), verdicts[-1])
    return f"{last['stage']}: {last['reason']}"


def _key(message: Any) -> tuple[str, str]:
    return message.key.source_id, message.key.doc_id


def _plain(text: str) -> str:
    return squash(clean(text))
