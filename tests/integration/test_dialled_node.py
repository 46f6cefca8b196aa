"""`scr source serve --dial` as an institution runs it: no open port, metrics, structured logs, a clean stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from aggregator.source_client import SourceClient
from aggregator.tunnel import DIALLED, TunnelHub, serve_tunnels
from core.records import Document, Query, SourceReply
from source_node.audit_check import verify
from source_node.ingest import ingest
from tests.certificates import Authority


def test_a_node_that_dials_is_asked_measured_and_stopped(tmp_path: Path) -> None:
    store, secret = tmp_path / "store", "zinc-4711-secret"
    ingest([Document(f"d{i}", f"{secret} {i}") for i in range(3)], store, None, embedder_name=None)
    authority = Authority(tmp_path / "tls")
    hub, aggregator, clinic = TunnelHub(), authority.issue("agg"), authority.issue("clinic")
    client = SourceClient("clinic", DIALLED, deadline_s=60, channel=hub.channel("clinic"))
    (tmp_path / "callers.yaml").write_text("callers: {agg: {top_k: 2}}")
    server = serve_tunnels(hub, "127.0.0.1:0", aggregator)
    server.start()
    command = [
        *(sys.executable, "-c", "from core.cli import run; run()", "-v", "source", "serve"),
        *("--store", store, "--source-id", "clinic", "--retriever", "bm25", "--log-format", "json"),
        *("--dial", server.address, "--aggregator-name", "agg", "--metrics", "127.0.0.1:0"),
        *("--policy", tmp_path / "callers.yaml"),
        *("--tls-cert", clinic.cert, "--tls-key", clinic.key, "--tls-ca", clinic.ca),
    ]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=Path(__file__).resolve().parents[2],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"connected {server.address}\n", (tmp_path / "log").read_text()
        reply = client.start(Query(secret), 3).result()
        assert isinstance(reply, SourceReply), reply
        assert len(reply.documents) == 2
        lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        (at,) = [line["message"].split()[-1] for line in lines if line["message"].startswith("metrics at")]
        with urllib.request.urlopen(f"http://{at}/metrics", timeout=60) as page:
            metrics = page.read().decode()
        assert 'scr_requests_total{code="OK",method="Retrieve"} 1.0' in metrics
        assert "scr_documents_sent_total 2.0" in metrics
        assert "scr_documents 3.0" in metrics
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
        hub.close()
        server.stop(1.0)
    log_text = (tmp_path / "log").read_text()
    assert all(json.loads(line)["level"] in ("info", "warning") for line in log_text.splitlines())
    assert secret not in log_text
    assert verify(store / "audit").records == 1
