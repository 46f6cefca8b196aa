"""A TCP proxy that delays, corrupts or swallows the bytes that pass, or cuts the line."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import suppress
from typing import Literal

Mode = Literal["pass", "delay", "corrupt", "swallow", "cut"]


class Proxy:
    """Forwards `listen` to `target`; `mode` may change at any time and counts for the next bytes.

    `delay`: bytes from the target wait `delay_s` first. `corrupt`: about one byte in 50 from the target
    is another one. `swallow`: nothing passes. `cut`: connections end and new ones do too.
    """

    def __init__(self, target: tuple[str, int], listen: str = "127.0.0.1", seed: int = 0) -> None:
        self.mode: Mode = "pass"
        self.delay_s = 0.0
        self.spoilt = 0
        self._target = target
        self._random = random.Random(seed)
        self._server = socket.create_server((listen, 0))
        self._closed = False
        self._open: list[socket.socket] = []
        self.address = f"{listen}:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            if self.mode == "cut":
                near.close()
                continue
            try:
                far = socket.create_connection(self._target, timeout=10)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            self._open = [s for s in self._open if s.fileno() >= 0] + [near, far]
            threading.Thread(target=self._pump, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if self.mode == "swallow":
                    continue
                if answers and self.mode == "delay":
                    time.sleep(self.delay_s)
                sink.sendall(self._spoil(data) if answers and self.mode == "corrupt" else data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _spoil(self, data: bytes) -> bytes:
        spoilt = bytearray(data)
        for _ in range(1 + len(spoilt) // 50):
            spoilt[self._random.randrange(len(spoilt))] ^= 1 << self._random.randrange(8)
            self.spoilt += 1
        return bytes(spoilt)

    def reset(self) -> None:
        """End all connections that pass here."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closed = True
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.reset()
        self._thread.join(timeout=10)
