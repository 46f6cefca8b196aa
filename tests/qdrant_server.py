"""What Qdrant's REST interface answers a reader, on loopback, over a collection of the client's local mode.

Qdrant itself is a program that no Python package carries. Search, payloads and counts are the client's own
local ones, and what goes over the wire are the client's own models, so a client by `url` meets what it would
meet there.
"""

from __future__ import annotations

import importlib.metadata
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from core.embedding.base import Embedder


def local_collection(name: str, payloads: Mapping[int, Mapping[str, str]], embedder: Embedder) -> Any:
    """A client in memory with a collection that somebody else filled: a point for each payload's `text`."""
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, PointStruct, VectorParams

    client = QdrantClient(":memory:", force_disable_check_same_thread=True)
    client.create_collection(name, VectorParams(size=embedder.dimension, distance=Distance.COSINE))
    vectors = embedder.embed([payload["text"] for payload in payloads.values()])
    client.upsert(
        name,
        [
            PointStruct(id=i, vector=vector.tolist(), payload=dict(payload))
            for (i, payload), vector in zip(payloads.items(), vectors, strict=True)
        ],
    )
    return client


@contextmanager
def serving(client: Any) -> Iterator[str]:
    """The address at which the collections of the local `client` can be read."""
    from qdrant_client import models

    one_at_a_time = threading.Lock()

    def answered(path: str, body: bytes) -> Any:
        """The result of a call.

        Raises:
            LookupError: no such call, or no such collection.
        """
        _, _, name, *call = path.partition("?")[0].split("/")
        if not client.collection_exists(name):
            raise LookupError(f"Collection `{name}` doesn't exist!")
        if not call:
            return client.get_collection(name)
        if call == ["points", "count"]:
            return client.count(name, exact=bool(json.loads(body)["exact"]))
        if call == ["points", "query"]:
            asked = models.QueryRequest.model_validate_json(body)
            query = asked.query.nearest if isinstance(asked.query, models.NearestQuery) else asked.query
            return client.query_points(
                name, query, using=asked.using, limit=asked.limit, with_payload=asked.with_payload
            )
        raise LookupError(path)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/":
                self._send(200, {"title": "qdrant", "version": importlib.metadata.version("qdrant-client")})
            else:
                self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            try:
                with one_at_a_time:
                    result = answered(self.path, body).model_dump(mode="json")
            except LookupError as error:
                self._send(404, {"status": {"error": f"Not found: {error.args[0]}"}, "time": 0.0})
            else:
                self._send(200, {"result": result, "status": "ok", "time": 0.0})

        def _send(self, status: int, answer: Any) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
