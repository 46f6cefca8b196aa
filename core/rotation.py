"""A channel under TLS that follows its files: a rotated certificate is shown without a restart.

gRPC's client credentials are fixed when they are made. So where the files change, calls from then on go
over a new channel, which shows the new certificate, and the one before is closed when its last call ends.
Files that do not fit (yet) leave the channel before in force, and the log says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc

from core.rpc import open_channel
from core.tls import TlsFiles
from core.tokens import Token
from core.watched import Watched

_LOOK_S = 1.0


class FollowingChannel:
    """Has the face of a `grpc.Channel` as far as unary calls by `future` go; safe for threads.

    Args:
        files: what is looked at.
        opened: opens a channel with what the files hold now.
        every_s: seconds between two looks; 0 looks at every call.

    Raises:
        ConfigError: what `opened` raises the first time.
    """

    def __init__(self, files: TlsFiles, opened: Callable[[], grpc.Channel], every_s: float = _LOOK_S) -> None:
        self._lock = threading.Lock()
        paths = (files.cert, files.key, files.ca)
        self._watched = Watched(paths, lambda: _Link(opened()), every_s)
        self._link = self._watched.get()

    def unary_unary(self, path: str, *arguments: Any, **options: Any) -> FollowingMethod:
        """What calls the method at `path` (/SERVICE/METHOD); arguments as those of gRPC's."""
        return FollowingMethod(self, path, arguments, options)

    def borrow(self) -> _Link:
        """The link of the moment, kept open until it is given back."""
        with self._lock:
            before, self._link = self._link, self._watched.get()
            link = self._link
            link.borrow()
        if before is not link:
            before.retire()
        return link

    def close(self) -> None:
        """Close the channel; running calls end as failures."""
        with self._lock:
            link = self._link
        link.channel.close()


class FollowingMethod:
    """One method of a `FollowingChannel`."""

    def __init__(
        self, channel: FollowingChannel, path: str, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self._channel, self._path = channel, path
        self._arguments, self._options = arguments, options

    def future(self, request: Any, timeout: float | None = None) -> Any:
        """Start a call over the channel of the moment."""
        link = self._channel.borrow()
        try:
            method = link.method(self._path, self._arguments, self._options)
            call = method.future(request, timeout=timeout)
        except BaseException:
            link.give_back()
            raise
        call.add_done_callback(lambda _call: link.give_back())
        return call


class _Link:
    """A channel with its running calls; closed once it is retired and idle."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self._lock = threading.Lock()
        self._methods: dict[str, Any] = {}
        self._running = 0
        self._retired = False

    def method(self, path: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        with self._lock:
            if path not in self._methods:
                self._methods[path] = self.channel.unary_unary(path, *arguments, **options)
            return self._methods[path]

    def borrow(self) -> None:
        with self._lock:
            self._running += 1

    def give_back(self) -> None:
        with self._lock:
            self._running -= 1
            done = self._retired and not self._running
        if done:
            self._close()

    def retire(self) -> None:
        with self._lock:
            done = not self._retired and not self._running
            self._retired = True
        if done:
            self._close()

    def _close(self) -> None:
        # the last call's end is told on the channel's own thread, which its close would wait for
        threading.Thread(target=self.channel.close, name="close-rotated", daemon=True).start()


def follow_channel(
    address: str,
    tls: TlsFiles | None = None,
    expected_name: str | None = None,
    *,
    token: Token | None = None,
    every_s: float = _LOOK_S,
) -> grpc.Channel | FollowingChannel:
    """`core.rpc.open_channel` for as long as a process lives: rotated files are followed.

    Raises:
        ConfigError: as `open_channel`.
    """
    if tls is None:
        return open_channel(address, None, expected_name, token=token)
    files = tls
    return FollowingChannel(
        files, lambda: open_channel(address, files, expected_name, token=token), every_s=every_s
    )
