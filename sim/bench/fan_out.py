"""One question to 100 sources at once, beside a bare gRPC echo of messages of the same size."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

import grpc

from aggregator.fan_out import FanOut
from core.errors import ScrError
from core.records import NodeDescription, PrivacyRequest, Query, RetrievedDocument, SourceReply
from core.wire import to_retrieve_reply, to_retrieve_request
from sim.bench.result import BenchOptions, Result, median_ms
from source_node.servicer import serve

SOURCES = 100
TOP_K = 5
_WORDS = 80  # per document
_ECHO = "/echo/Echo"
_QUESTION = Query("Which of the two rivers that meet at the old town is the longer one?", "bench")


def run(options: BenchOptions) -> list[Result]:
    """`fan_out_100`: milliseconds from the question to all replies checked and read."""
    return [measure(options.size(SOURCES, 4), options.times(30))]


def measure(count: int, repeats: int) -> Result:
    """The fan-out to `count` sources; they and the echoes live in one process of their own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_serve, args=(there, count), daemon=True)
    child.start()
    there.close()
    try:
        try:
            sources, echoes = here.recv()
        except EOFError:
            raise ScrError("the process with the sources did not start") from None
        with ExitStack() as stack:
            fan_out = FanOut.connect(sources, deadline_s=30.0)
            stack.callback(fan_out.close)
            ours = median_ms(lambda: _ask(fan_out), repeats)
            request = to_retrieve_request(_QUESTION, TOP_K).SerializeToString()
            channels = [stack.enter_context(grpc.insecure_channel(address)) for address in echoes]
            calls = [channel.unary_unary(_ECHO) for channel in channels]
            bare = median_ms(lambda: _echo(calls, request), repeats)
    finally:
        here.close()
        child.join(timeout=10)
        if child.is_alive():
            child.terminate()
    return Result(f"fan_out_{count}", round(ours, 3), "ms", round(bare, 3), round(bare / ours, 3))


def _ask(fan_out: FanOut) -> None:
    gathered = fan_out.gather(_QUESTION, TOP_K)
    if gathered.failures:
        raise ScrError(f"{len(gathered.failures)} sources failed, first: {gathered.failures[0].detail}")


def _echo(calls: list[grpc.UnaryUnaryMultiCallable], request: bytes) -> None:
    for pending in [call.future(request, timeout=30.0) for call in calls]:
        pending.result()


class Prepared:
    """A source that answers from memory, so that the wire is what is measured."""

    def __init__(self, source_id: str) -> None:
        text = " ".join(["water"] * _WORDS)
        self._reply = SourceReply(
            source_id,
            tuple(
                RetrievedDocument(
                    source_id, f"doc-{i}", f"{source_id} {i} {text}", "a title", None, 0.5, i + 1
                )
                for i in range(TOP_K)
            ),
        )

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply:
        """The same documents always."""
        return self._reply

    def describe(self) -> NodeDescription:
        """A node of as many documents as it returns."""
        return NodeDescription(self._reply.source_id, TOP_K, "prepared")


def _serve(parent: Connection, count: int) -> None:
    """Serve `count` sources and as many echoes until the parent closes its end."""
    nodes = {f"source-{i:03d}": Prepared(f"source-{i:03d}") for i in range(count)}
    servers = {name: serve(node, "127.0.0.1:0", insecure=True, workers=1) for name, node in nodes.items()}
    for server in servers.values():
        server.start()
    answer = to_retrieve_reply(nodes["source-000"].retrieve(_QUESTION, TOP_K), "bench").SerializeToString()
    echoes = []
    for _ in range(count):
        echo = grpc.server(ThreadPoolExecutor(1), options=(("grpc.so_reuseport", 0),))
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: answer)
        echo.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo", {"Echo": handler}),))
        echoes.append((echo, f"127.0.0.1:{echo.add_insecure_port('127.0.0.1:0')}"))
        echo.start()
    parent.send(({name: server.address for name, server in servers.items()}, [at for _, at in echoes]))
    with suppress(EOFError):
        parent.recv()
    for server in servers.values():
        server.stop(0)
    for echo, _ in echoes:
        echo.stop(0)
