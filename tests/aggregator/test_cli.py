from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli import main

SERVE = ["aggregator", "serve"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--listen HOST:PORT is missing"),
        (["--listen", "127.0.0.1:0"], "--tls-cert"),
        (["--listen", "127.0.0.1:0", "--insecure"], "at least one source"),
        (["--listen", "127.0.0.1:0", "--insecure", "--source", "a"], "must be ID=HOST:PORT, not 'a'"),
        (["--listen", "127.0.0.1:0", "--insecure", "--source", "a=b"], "must be HOST:PORT"),
        (["--source", "a=h:1", "--source", "a=h:2"], "given twice"),
        (["--listen", "0.0.0.0:0", "--insecure", "--source", "a=127.0.0.1:1"], "only a loopback address"),
        (
            ["--listen", "127.0.0.1:0", "--insecure", "--source", "a=127.0.0.1:1", "--defense", "x"],
            "unknown defense",
        ),
        (["--all-filtered", "shrug"], "all_filtered"),
        (["--config", "/no/such/file.yaml"], "no such config file"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = [] if "--defense" in arguments else ["--defense", "none"]
    assert main([*SERVE, "--embedder", "hashing", *rest, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVE, "--help"]) == 0
    assert "scr aggregator serve --source a=127.0.0.1:5001" in re.sub(r"\s+", " ", capsys.readouterr().out)


def test_it_says_where_it_listens_and_stops_on_a_signal(tmp_path: Path) -> None:
    config = tmp_path / "aggregator.yaml"
    config.write_text("sources: {a: '127.0.0.1:1'}\ndefenses: none\nembedder: hashing\ninsecure: true\n")
    code = "from core.cli import run; run()"
    command = [sys.executable, "-c", code, *SERVE, "--config", str(config), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert re.fullmatch(r"listening 127\.0\.0\.1:\d+\n", line)
        address = line.split()[1]
        assert main(["ask", "where", "--aggregator", address, "--insecure"]) == 1  # its source is not there
        server.send_signal(signal.SIGTERM)
        out, error = server.communicate(timeout=30)
    assert server.returncode == 0
    assert out == ""
    assert "source a gave nothing: unavailable" in error
