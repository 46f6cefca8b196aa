"""Small real parts for the aggregator's tests: sources on loopback gRPC, a reader, stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc

from aggregator import Aggregator
from aggregator.fan_out import FanOut, Gathered
from aggregator.reputation import Reputation
from core.embedding.hashing import HashingEmbedder
from core.pipeline import Pipeline
from core.reader import Reading, ReadRequest
from core.records import DocumentKey, RetrievedDocument, SourceFailure, SourceReply
from core.stage import StageInput, StageResult, keep_where
from core.tls import TlsFiles
from protos import source_node_pb2, types_pb2

Behaviour = Callable[[source_node_pb2.RetrieveRequest, grpc.ServicerContext], bytes]
_SERVICE = "securecollarag.v1.SourceNode"


@contextmanager
def raw_source(
    behaviour: Behaviour,
    address: str = "127.0.0.1:0",
    tls: TlsFiles | None = None,
    credentials: grpc.ServerCredentials | None = None,
) -> Iterator[str]:
    """A gRPC server whose `Retrieve` answers with whatever bytes `behaviour` gives; yields its address."""

    def describe(request: bytes, context: grpc.ServicerContext) -> bytes:
        reply = behaviour(source_node_pb2.RetrieveRequest(query="describe", top_k=1), context)
        source_id = source_node_pb2.RetrieveReply.FromString(reply).source_id
        return source_node_pb2.DescribeReply(
            source_id=source_id, n_documents=7, retriever="dense", max_top_k=50, wire_version=1
        ).SerializeToString()

    handlers = {
        "Retrieve": grpc.unary_unary_rpc_method_handler(
            behaviour, request_deserializer=source_node_pb2.RetrieveRequest.FromString
        ),
        "Describe": grpc.unary_unary_rpc_method_handler(describe),
    }
    server = grpc.server(
        ThreadPoolExecutor(4),
        handlers=(grpc.method_handlers_generic_handler(_SERVICE, handlers),),
        options=(("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)),
    )
    if tls is not None:
        credentials = tls.server_credentials()
    if credentials is None:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, credentials)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


def answering(source_id: str, texts: Sequence[str] | Mapping[str, str], title: str = "") -> Behaviour:
    """An honest source that returns its first `top_k` texts, whatever the question."""
    named = dict(texts) if isinstance(texts, Mapping) else {f"d{i}": text for i, text in enumerate(texts)}

    def behave(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        return source_node_pb2.RetrieveReply(
            source_id=source_id,
            request_id=request.request_id,
            documents=[
                types_pb2.Document(doc_id=doc_id, text=text, title=title, score=1.0, rank=1)
                for doc_id, text in list(named.items())[: request.top_k]
            ],
        ).SerializeToString()

    return behave


def reply(source_id: str, *texts: str, title: str = "", category: str | None = None) -> SourceReply:
    """A reply as the client would give it; document i is called `d{i}`."""
    return SourceReply(
        source_id,
        tuple(
            RetrievedDocument(source_id, f"d{i}", text, title, category, rank=i + 1)
            for i, text in enumerate(texts)
        ),
    )


def key(source_id: str, doc_id: str = "d0") -> DocumentKey:
    return DocumentKey(source_id, doc_id)


class FirstReader:
    """Answers with the text of the first document and cites all that it saw."""

    name = "first"
    simulated = True
    forced_choice = False

    def __init__(self) -> None:
        self.requests: list[ReadRequest] = []

    def read(self, request: ReadRequest) -> Reading:
        self.requests.append(request)
        return Reading(request.documents[0].text, cited=tuple(str(d.key) for d in request.documents))


class PoisonStage:
    """Drops documents that hold the word poison; scores them 0.1 and all others 0.9."""

    name = "poison"

    def run(self, given: StageInput) -> StageResult:
        sound = ["poison" not in document.text for document in given.documents]
        scores = [0.9 if good else 0.1 for good in sound]
        return keep_where(
            given, sound, "says_poison", credibility=scores, evidence=[{"score": s} for s in scores]
        )


class BrokenStage:
    """Always raises."""

    name = "broken"

    def run(self, given: StageInput) -> StageResult:
        raise RuntimeError("/private/path is gone")


EMBEDDER = HashingEmbedder(64)
ROUND = Gathered(
    (
        reply("a", "the archive is in the blue hall", "nothing of it"),
        reply("b", "the archive is in the blue hall", "poison the archive"),
        reply("c", "poison the archive", "poison the archive", "the hall is blue"),
    ),
    (SourceFailure("d", "deadline", "no reply in time"),),
    12.5,
)


def aggregator(*stages: object, fan_out: FanOut | None = None, **settings: object) -> Aggregator:
    reputation = settings.pop("reputation", None) or Reputation(momentum=0.5)
    reader = settings.pop("reader", None) or FirstReader()
    return Aggregator(fan_out, Pipeline(stages), reader, reputation, EMBEDDER, **settings)
