"""A few connections to one PostgreSQL database, shared by threads and only read with."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import OverloadError, StoreError

Parameters = Sequence[Any] | Mapping[str, Any]


class Connections:
    """At most `most` connections to `dsn`, made when they are needed and kept.

    A connection that was kept may be dead (the server was restarted): the statement is then run once
    more over a new one, which is safe since statements only read.
    """

    def __init__(self, dsn: str, most: int, timeout_s: int) -> None:
        self._dsn, self._timeout_s = dsn, timeout_s
        self._slots = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[Any] = []

    def rows(
        self, statement: Any, parameters: Parameters, before: tuple[str, Sequence[str]]
    ) -> list[tuple[Any, ...]]:
        """All rows of `statement`, run in a read-only transaction that `before` opens.

        Raises:
            StoreError: the database is unreachable, or refused. OverloadError: no connection came free.
        """
        import psycopg

        if not self._slots.acquire(timeout=self._timeout_s):
            raise OverloadError("every connection to PostgreSQL is busy")
        try:
            kept = self._kept()
            if kept is not None:
                try:
                    return self._run(kept, statement, parameters, before)
                except psycopg.OperationalError:
                    if not kept.closed:  # a statement that took too long would do so again
                        raise
                    self._forget()
            return self._run(self._connect(), statement, parameters, before)
        except psycopg.Error as error:
            raise StoreError(f"PostgreSQL: {_line(error)}") from None
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close what is kept."""
        self._forget()

    def _run(
        self, connection: Any, statement: Any, parameters: Parameters, before: tuple[str, Sequence[str]]
    ) -> list[tuple[Any, ...]]:
        done = False
        try:
            with connection.transaction():
                connection.execute(*before)
                found: list[tuple[Any, ...]] = connection.execute(statement, parameters).fetchall()
            done = True
            return found
        finally:
            if done or not connection.closed:
                with self._lock:
                    self._idle.append(connection)

    def _connect(self) -> Any:
        import psycopg

        connection = psycopg.connect(
            self._dsn,
            autocommit=True,
            connect_timeout=self._timeout_s,
            prepare_threshold=None,  # a pooler between us and the server may not keep prepared statements
            application_name="securecollarag",
            client_encoding="utf8",
        )
        connection.read_only = True
        return connection

    def _kept(self) -> Any:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _forget(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
