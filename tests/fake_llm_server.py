"""An OpenAI-compatible server on loopback that misbehaves on order, for tests of clients."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One scripted answer.

    `kind`: `ok` (answers `text`), `status` (HTTP `status` with an error body), `slow` (`ok` after
    `seconds`), `malformed` (200 with JSON of another shape), `not_json`, `truncated` (JSON that ends in
    the middle, its length header too long), `cut_json` (short JSON, honest length), `closed` (the
    connection ends without an answer), `empty` (an answer without text), `no_choices`.
    """

    kind: str = "ok"
    text: str = "fine"
    status: int = 500
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeServer:
    """Address, the requests that came, and how many were in flight at most."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def fake_llm_server(
    script: Sequence[Reply] = (), answer: Callable[[dict[str, Any]], str] | None = None
) -> Iterator[FakeServer]:
    """Serves `script` reply by reply, then `answer(request)` (default: `fine`) for ever."""
    replies = list(script)
    lock = threading.Lock()
    now = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            nonlocal now
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                now += 1
                state.most_at_once = max(state.most_at_once, now)
                state.requests.append(request)
                state.keys.append(self.headers.get("Authorization", ""))
                text = answer(request) if answer is not None else "fine"
                reply = replies.pop(0) if replies else Reply(text=text)
            try:
                self._answer(reply)
            except (BrokenPipeError, ConnectionResetError):  # the client gave up first
                self.close_connection = True
            finally:
                with lock:
                    now -= 1

        def _answer(self, reply: Reply) -> None:
            if reply.seconds:
                time.sleep(reply.seconds)
            if reply.kind == "closed":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif reply.kind == "status":
                self._send(
                    json.dumps({"error": {"message": "scripted", "type": "test"}}).encode(),
                    reply.status,
                    reply.headers,
                )
            elif reply.kind == "malformed":
                self._send(b'{"unexpected": [1, 2]}')
            elif reply.kind == "no_choices":
                self._send(b'{"id": "1", "object": "chat.completion", "choices": []}')
            elif reply.kind == "not_json":
                self._send(b"<html>gateway</html>")
            elif reply.kind == "cut_json":
                self._send(_completion("fine")[:40])
            elif reply.kind == "truncated":
                self._send(_completion("fine")[:40], length=400)
                self.close_connection = True
            else:
                self._send(_completion("" if reply.kind == "empty" else reply.text))

        def _send(
            self,
            body: bytes,
            status: int = 200,
            headers: dict[str, str] | None = None,
            length: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) if length is None else length))
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = FakeServer(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _completion(text: str) -> bytes:
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "fake",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
        }
    ).encode()
