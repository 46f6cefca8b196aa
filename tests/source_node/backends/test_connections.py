"""Connections to PostgreSQL where there is none; with a server, see test_pgvector.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import StoreError
from source_node.backends.connections import Connections

pytest.importorskip("psycopg")


def test_an_unreachable_database_is_one_line(tmp_path: Path) -> None:
    pool = Connections(f"host={tmp_path} dbname=x", 2, 1)
    for _ in range(3):  # a failure gives its place back
        with pytest.raises(StoreError, match="PostgreSQL: ") as caught:
            pool.rows("SELECT 1", (), ("SELECT 1", ()))
        assert "\n" not in str(caught.value)
    pool.close()
