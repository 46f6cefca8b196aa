"""An existing PostgreSQL table with a pgvector column as a node's documents and index."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from core.config import StrictModel, parse
from core.errors import ConfigError, MissingPackageError, StoreError, WireError
from core.records import Document
from source_node.backends.base import Collection, stored
from source_node.backends.connections import Connections

_TYPES = ("vector", "halfvec")
_MOST_EXPLORED = 1_000  # what pgvector's HNSW takes; beyond, the table is scanned
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_COLUMNS = """
SELECT a.attname, t.typname, n.nspname, a.atttypmod
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
# settings of one transaction: a caller's deadline does not reach the database, its own limit does
_LIMITS = """
SELECT set_config('statement_timeout', %s, true), set_config('hnsw.ef_search', %s, true),
       set_config('ivfflat.probes', %s, true), set_config('enable_indexscan', %s, true)
"""


class PgvectorOptions(StrictModel):
    """Where the table is and which columns hold what.

    `dsn` is a connection string or URI of libpq, without a password: that comes from PGPASSWORD or a
    password file, since options are kept in the store's manifest. Away from this machine it must name an
    `sslmode`. `table` is NAME or SCHEMA.NAME; names are taken as they are, case too. `id_field` holds
    distinct ids. `ef_search` and `probes` widen the search of an HNSW or IVFFlat index; `exact` uses none.
    `connections`: open at a time, at most. `timeout_s`: for connecting, and for each statement.
    """

    dsn: str
    table: str
    id_field: str = "id"
    text_field: str = "text"
    title_field: str | None = None
    category_field: str | None = None
    vector: str = "embedding"
    exact: bool = False
    ef_search: int = Field(default=100, ge=1, le=_MOST_EXPLORED)
    probes: int = Field(default=10, ge=1, le=32_768)
    connections: int = Field(default=4, ge=1, le=64)
    timeout_s: int = Field(default=10, ge=1, le=600)

    @field_validator("table", "id_field", "text_field", "title_field", "category_field", "vector")
    @classmethod
    def _names(cls, value: str | None) -> str | None:
        for name in () if value is None else value.split("."):
            if not 1 <= len(name.encode()) <= 63 or "\0" in name:
                raise ValueError("a name in PostgreSQL has 1 to 63 bytes")
        return value


class PgvectorCollection(Collection):
    """Searched by cosine; only read, never written.

    Raises:
        ConfigError: wrong options, or a table or column that is not there or of another type.
        MissingPackageError: psycopg is not installed. StoreError: the database cannot be reached.
    """

    def __init__(self, **options: Any) -> None:
        self.options = parse(PgvectorOptions, options, "backend 'pgvector'")
        checked_dsn(self.options.dsn)
        self._sql = _psycopg().sql
        self._pool = Connections(self.options.dsn, self.options.connections, self.options.timeout_s)
        self._table = _names(self.options.table.split(".", 1))
        self._vector = _names([self.options.vector])
        schema, kind, dimension = self._column()
        self._search = search_statement(self.options, schema, kind)
        self._count = self._sql.SQL("SELECT count(*) FROM {} WHERE {} IS NOT NULL").format(
            self._table, self._vector
        )
        self.dimension = dimension if dimension > 0 else self._measured(schema)

    def __len__(self) -> int:
        return int(self._pool.rows(self._count, (), self._limits(1))[0][0])

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[tuple[Document, float]]:
        literal = "[" + ",".join(map(repr, vector.tolist())) + "]"
        rows = self._pool.rows(self._search, {"query": literal, "k": k}, self._limits(k))
        try:  # the cosine of a zero vector is no number
            return [(stored(*row[:4]), float(row[4])) for row in rows if math.isfinite(row[4])]
        except WireError as error:
            raise StoreError(f"PostgreSQL table {self.options.table}: {error}") from None

    def _limits(self, k: int) -> tuple[str, tuple[str, ...]]:
        """How far this search goes: an index that explores fewer rows than `k` would return fewer."""
        given = self.options
        indexed = not given.exact and k <= _MOST_EXPLORED
        explored = max(given.ef_search, min(k, _MOST_EXPLORED))
        timeout = str(1000 * given.timeout_s)
        return _LIMITS, (timeout, str(explored), str(given.probes), "on" if indexed else "off")

    def _column(self) -> tuple[str, str, int]:
        """Schema and name of the vector column's type, and its dimension (-1: not declared).

        Raises:
            ConfigError: the table or a column is not there, or the vector is of another type.
        """
        given = self.options
        name = self._sql.Identifier(*given.table.split(".", 1)).as_string(None)
        (found,) = self._pool.rows("SELECT to_regclass(%s)::oid", (name,), self._limits(1))
        if found[0] is None:
            raise ConfigError(f"backend 'pgvector': no table {name} in the database")
        columns = {row[0]: row[1:] for row in self._pool.rows(_COLUMNS, (found[0],), self._limits(1))}
        asked = (given.id_field, given.text_field, given.title_field, given.category_field, given.vector)
        missing = [each for each in asked if each is not None and each not in columns]
        if missing:
            known = ", ".join(sorted(columns))
            raise ConfigError(f"backend 'pgvector': no column {missing[0]!r} in {name}; there are {known}")
        kind, schema, modifier = columns[given.vector]
        if kind not in _TYPES:
            raise ConfigError(f"backend 'pgvector': {given.vector} must be vector or halfvec, not {kind}")
        return str(schema), str(kind), int(modifier)

    def _measured(self, schema: str) -> int:
        """The dimension of the first vector, where the column declares none."""
        measured = self._sql.SQL("SELECT {}({}) FROM {} WHERE {} IS NOT NULL LIMIT 1").format(
            _names([schema, "vector_dims"]), self._vector, self._table, self._vector
        )
        rows = self._pool.rows(measured, (), self._limits(1))
        if not rows:
            raise ConfigError(
                f"backend 'pgvector': {self.options.vector} declares no dimension and the table is empty"
            )
        return int(rows[0][0])


def search_statement(given: PgvectorOptions, schema: str, kind: str) -> Any:
    """The search over a column of type `schema`.`kind`: names quoted, question and number as parameters."""
    sql = _psycopg().sql

    def column(name: str | None) -> Any:
        return sql.SQL("NULL") if name is None else sql.SQL("{}::text").format(_names([name]))

    vector = _names([given.vector])
    return sql.SQL(
        "SELECT {id}, {text}, {title}, {category}, 1 - ({away}) AS score"
        " FROM {table} WHERE {vector} IS NOT NULL ORDER BY {away} LIMIT %(k)s"
    ).format(
        id=column(given.id_field),
        text=_names([given.text_field]),
        title=column(given.title_field),
        category=column(given.category_field),
        table=_names(given.table.split(".", 1)),
        vector=vector,
        away=sql.SQL("{} OPERATOR({}.<=>) %(query)s::{}").format(
            vector, _names([schema]), _names([schema, kind])
        ),
    )


def _names(parts: Sequence[str]) -> Any:
    """A quoted name in a statement with parameters, where psycopg takes a single % for one of them."""
    return _psycopg().sql.Identifier(*(part.replace("%", "%%") for part in parts))


def checked_dsn(dsn: str, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The parts of a connection string that may stand in a manifest.

    Raises:
        ConfigError: it is none, holds a password, or leaves open whether a far link is protected.
    """
    psycopg = _psycopg()
    try:
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:  # its message would show the string, and a password in it
        raise ConfigError("backend 'pgvector': dsn is not a connection string of PostgreSQL") from None
    if "password" in parts or "sslpassword" in parts:
        raise ConfigError(
            "backend 'pgvector': no password in dsn, it would stand in the store: use PGPASSFILE"
        )
    hosts = str(parts.get("hostaddr") or parts.get("host") or environment.get("PGHOST", "")).split(",")
    far = [host for host in hosts if host not in _LOCAL and not host.startswith(("/", "@"))]
    if far and not (parts.get("sslmode") or environment.get("PGSSLMODE")):
        raise ConfigError(
            f"backend 'pgvector': {far[0]} is another machine: dsn must name an sslmode (verify-full, say)"
        )
    return parts


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
        import psycopg.sql
    except ModuleNotFoundError:
        raise MissingPackageError(
            "backend 'pgvector' needs the package 'psycopg': pip install 'securecollarag[backends]'"
        ) from None
    return psycopg
