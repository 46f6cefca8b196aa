"""`scr source ingest` and `scr source serve` as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from core.cli import main
from core.records import Query
from core.rpc import open_channel
from core.tls import TlsFiles
from core.wire import from_retrieve_reply, to_retrieve_request
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs
from source_node.store import DocumentStore
from tests.certificates import Authority

TEXTS = {"a": "Zinc is mined in Peru.", "b": "Copper wire conducts.", "c": "Gold was found in California."}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [json.dumps({"_id": i, "text": text, "title": ""}) for i, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def run(*arguments: object) -> int:
    return main(["source", *map(str, arguments)])


def ingest(corpus: Path, store: Path, *more: str) -> int:
    return run("ingest", "--input", corpus, "--store", store, "--embedder", "hashing:64", *more)


def test_ingest_says_what_it_did_and_does_it_once(corpus: Path, tmp_path: Path, capsys) -> None:
    store = tmp_path / "store"
    assert ingest(corpus, store) == 0
    first = capsys.readouterr()
    assert first.out == f"{store}: 3 documents (3 new, 0 changed, 0 unchanged, 0 removed)\n"
    assert "3/3" in first.err, "progress goes to stderr"
    with (corpus / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d", "text": "Iron."}\n')
    assert run("ingest", "--input", corpus / "corpus.jsonl", "--store", store) == 0, (
        "the store knows its embedder"
    )
    assert capsys.readouterr().out == f"{store}: 4 documents (1 new, 0 changed, 3 unchanged, 0 removed)\n"
    (corpus / "corpus.jsonl").write_text('{"_id": "d", "text": "Iron."}\n')
    assert ingest(corpus, store, "--prune") == 0
    assert capsys.readouterr().out == f"{store}: 1 documents (0 new, 0 changed, 1 unchanged, 3 removed)\n"


def test_a_config_file_sets_what_flags_do_not(corpus: Path, tmp_path: Path, capsys) -> None:
    config = tmp_path / "ingest.yaml"
    config.write_text(f"input: {corpus}\nstore: {tmp_path / 'one'}\nembedder: none\n")
    assert run("ingest", "--config", config, "--store", tmp_path / "two") == 0
    assert not (tmp_path / "one").exists()
    assert DocumentStore(tmp_path / "two").vectors is None
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["ingest", "--store", "s"], "'input' is missing"),
        (["ingest", "--input", "nowhere", "--store", "s"], "nowhere: no such corpus file"),
        (
            ["ingest", "--input", "CORPUS", "--store", "s", "--embedder", "hashin"],
            "unknown embedder 'hashin'",
        ),
        (["serve", "--store", "s", "--source-id", "x"], "'listen' is missing"),
        (
            ["serve", "--store", "s", "--source-id", "x", "--listen", "127.0.0.1:0", "--insecure"],
            "s: no store here",
        ),
        (["serve", "--store", "s", "--source-id", "x", "--listen", "127.0.0.1:0"], "--tls-ca missing"),
        (["serve", "--config", "no.yaml"], "no.yaml: no such config file"),
    ],
)
def test_a_mistake_is_one_line_and_not_a_traceback(
    corpus: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*[str(corpus) if a == "CORPUS" else a for a in arguments]) != 0
    error = capsys.readouterr().err
    assert problem in error
    assert error.strip().count("\n") == 0 or "ingest" in error
    assert "Traceback" not in error


def test_a_bad_line_is_named_and_a_second_run_goes_on(corpus: Path, tmp_path: Path, capsys) -> None:
    path = corpus / "corpus.jsonl"
    good = path.read_text()
    path.write_text(good + '{"_id": "d"}\n')
    assert ingest(corpus, tmp_path / "store", "--batch", "1") == 2
    assert f"scr: {path}:4: key 'text' is missing" in capsys.readouterr().err
    path.write_text(good)
    assert ingest(corpus, tmp_path / "store") == 0
    assert "(0 new, 0 changed, 3 unchanged, 0 removed)" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["ingest", "serve"])
def test_help_has_examples(command: str, capsys) -> None:
    assert run(command, "--help") == 0
    assert f"scr source {command} --" in capsys.readouterr().out


@contextmanager
def served(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`scr source serve` in a process of its own; gives it and the address that it announced."""
    command = [
        sys.executable,
        "-c",
        "from core.cli import run; run()",
        "source",
        "serve",
        *map(str, arguments),
    ]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        command, cwd=root, env=os.environ.copy(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("listening "), process.stderr.read()
        yield process, line.split()[1]
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
        process.stderr.close()


def ask(address: str, text: str, tls: TlsFiles | None = None) -> list[str]:
    with open_channel(address, tls, "clinic") as channel:
        message = stubs.SourceNodeStub(channel).Retrieve(to_retrieve_request(Query(text), 2), timeout=10)
    return [document.doc_id for document in from_retrieve_reply(message, "clinic").documents]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_node_serves_until_it_is_told_to_stop(
    corpus: Path, tmp_path: Path, capsys, stop: signal.Signals
) -> None:
    ingest(corpus, tmp_path / "store")
    capsys.readouterr()
    arguments = (
        "--store",
        tmp_path / "store",
        "--source-id",
        "clinic",
        "--listen",
        "127.0.0.1:0",
        "--insecure",
    )
    with served(*arguments) as (process, address):
        assert ask(address, "zinc in Peru")[0] == "a"
        process.send_signal(stop)
        assert process.wait(15) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""
        with pytest.raises(grpc.RpcError):
            ask(address, "zinc")


def test_a_node_with_mutual_tls_answers_certified_callers_only(corpus: Path, tmp_path: Path, capsys) -> None:
    ingest(corpus, tmp_path / "store")
    capsys.readouterr()
    authority = Authority(tmp_path / "authority")
    tls = authority.issue("clinic")
    flags = ("--tls-cert", tls.cert, "--tls-key", tls.key, "--tls-ca", tls.ca, "--retriever", "bm25")
    listen = ("--store", tmp_path / "store", "--source-id", "clinic", "--listen", "127.0.0.1:0")
    with served(*listen, *flags) as (_, address):
        assert ask(address, "gold in California", authority.issue("aggregator")) == ["c"]
        with open_channel(address) as channel, pytest.raises(grpc.RpcError):
            stubs.SourceNodeStub(channel).Describe(pb.DescribeRequest(), timeout=5)
        assert run("serve", *listen[:-1], address, *flags) == 2
        assert f"scr: cannot listen on {address}: the port is taken" in capsys.readouterr().err


def test_a_policy_for_privacy_comes_from_the_config(corpus: Path, tmp_path: Path, capsys) -> None:
    ingest(corpus, tmp_path / "store")
    capsys.readouterr()
    config = tmp_path / "node.yaml"
    config.write_text(
        f"store: {tmp_path / 'store'}\nsource_id: clinic\nlisten: 127.0.0.1:0\ninsecure: true\n"
        "privacy: {required: true, epsilon: 10, budget: 15}\n"
    )
    with served("--config", config) as (_, address):
        assert len(ask(address, "zinc")) == 2
        with pytest.raises(grpc.RpcError) as caught:
            ask(address, "zinc")
        assert caught.value.details() == "the privacy budget is spent"
    assert (tmp_path / "store" / "privacy.sqlite").exists()


def test_a_folder_is_cut_labelled_and_what_cannot_be_read_left_out(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("Copper wire conducts. " * 10)
    (folder / "b.md").write_text("# Birds\n\nAn owl.")
    (folder / "c.pdf").write_bytes(b"%PDF broken")
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{category: metal, pattern: copper}]\ndefault: other\n")
    flags = ("--chunk-words", "12", "--chunk-overlap", "3", "--category-rules", str(rules))
    store = tmp_path / "store"
    assert ingest(folder, store, *flags) == 2
    assert "c.pdf: damaged PDF" in capsys.readouterr().err
    assert ingest(folder, store, *flags, "--skip-bad") == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{store}: 2 documents (")
    assert told.endswith(", 4 chunks, 1 unreadable ones left out\n")
    found = {d.doc_id: d.category for d in DocumentStore(store).documents}
    assert found == {f"a.txt#{k}": "metal" for k in (1, 2, 3)} | {"b.md": "other"}
    for bad, problem in (
        (("--chunk-overlap", "3"), "--chunk-overlap needs --chunk-words"),
        (("--format", "word"), "unknown format 'word'"),
        (("--chunk-words", "10", "--chunk-overlap", "9"), "overlap must be at most half"),
    ):
        assert ingest(folder, store, *bad) == 2
        assert problem in capsys.readouterr().err


def test_identifiers_do_not_leave_a_node_that_sanitizes(tmp_path: Path, capsys) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "text": "Dr. Miller found zinc on 2020-01-02."}\n')
    ingest(path, tmp_path / "store")
    capsys.readouterr()
    flags = ("--store", tmp_path / "store", "--source-id", "clinic", "--listen", "127.0.0.1:0", "--insecure")
    with served(*flags, "--sanitize", "patterns") as (_, address), open_channel(address) as channel:
        message = stubs.SourceNodeStub(channel).Retrieve(to_retrieve_request(Query("zinc"), 2), timeout=60)
    (document,) = from_retrieve_reply(message, "clinic").documents
    assert document.text == "Dr. [NAME] found zinc on [DATE]."
    assert main(["source", "stats", "--store", str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "identifiers removed 2: date 1, name 1"
