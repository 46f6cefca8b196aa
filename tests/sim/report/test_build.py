from __future__ import annotations

import base64
import gzip
import json
import re

import pytest

from core.cli import main
from core.errors import ConfigError, DataError
from sim.report.build import build_page, write_figures
from sim.report.sweep_page import read_table
from tests.sim.report.runs_made import write_run, write_sweep


def data_of(page):
    packed = re.search(r'<script id="data"[^>]*>([^<]*)</script>', page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def without_library(page):
    return re.sub(r"<script>.*?</script>", "", page, flags=re.S)


def test_a_run_becomes_one_file_that_asks_nobody(tmp_path):
    page = build_page(write_run(tmp_path, n=4, trials=2, per_source=2))
    outside = without_library(page)
    assert re.findall(r'(?:src|href)="(?!#|data:)', outside) == []
    assert "default-src 'none'" in outside
    assert "<b>&" not in outside
    assert "alert(1)" not in outside
    sections = re.findall(r'<section id="(\w+)"', outside)
    assert sections == [
        "comparison",
        "tradeoff",
        "reliability",
        "judgement",
        "projection",
        "time",
        "skew",
        "rounds",
    ]
    data = data_of(page)
    assert data["explorer"]["trials"] == 2
    assert len(data["explorer"]["rounds"]) == 4
    assert page.count("</html>") == 1


def test_what_a_run_lacks_is_left_out(tmp_path):
    root = write_run(tmp_path, n=3)
    for name in ("texts.jsonl", "shards.json", "metrics.json", "comparison.json"):
        (root / name).unlink()
    page = build_page(root)
    assert re.findall(r'<section id="(\w+)"', page) == ["reliability", "judgement", "time", "rounds"]
    assert "has not ended" in page


def test_a_sweep_becomes_a_page_of_its_cells(tmp_path):
    root = write_sweep(tmp_path)
    rows = read_table(root / "table.csv")
    assert rows[0]["malicious"] == 0.2
    assert rows[0]["tpr"] is None
    data = data_of(build_page(root))["sweep"]
    assert data["settings"] == ["attack", "malicious", "defense", "dataset"]
    assert data["measures"] == ["asr", "accuracy", "tpr"]
    assert len(data["rows"]) == 4


@pytest.mark.slow
def test_figures_for_a_paper(tmp_path):
    run = write_run(tmp_path / "run", n=4, trials=2)
    names = write_figures(run, tmp_path / "figures", ("svg",), projection=False)
    assert "reliability-trial2.svg" in names
    assert {"headline.svg", "latency.svg", "skew-trial1.svg"} <= set(names)
    assert b"<svg" in (tmp_path / "figures" / "headline.svg").read_bytes()
    sweep = write_sweep(tmp_path / "sweep")
    assert write_figures(sweep, tmp_path / "s", ("png", "pdf")) == ["tradeoff.png", "tradeoff.pdf"]
    assert (tmp_path / "s" / "tradeoff.pdf").read_bytes().startswith(b"%PDF")


def test_wrong_input_is_told_in_one_line(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        build_page(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="png, svg, pdf"):
        write_figures(write_run(tmp_path, n=2), tmp_path, ("gif",))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "table.csv").write_text("asr\n")
    with pytest.raises(DataError, match="no cell"):
        build_page(tmp_path / "empty")
    (tmp_path / "empty" / "table.csv").write_text("colour\nred\n")
    with pytest.raises(DataError, match="none of the columns"):
        build_page(tmp_path / "empty")


def test_the_command_names_its_file(tmp_path, capsys):
    root = write_run(tmp_path, n=2)
    assert main(["report", str(root), "--no-projection"]) == 0
    assert capsys.readouterr().out == f"report: {root / 'report.html'}\n"
    assert (root / "report.html").stat().st_size > 1_000_000
