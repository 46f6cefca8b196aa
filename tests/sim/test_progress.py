from __future__ import annotations

import io
import re

import pytest

from sim.progress import Bar, Lines, Quiet, counting, open_progress


def test_lines_tell_every_step_and_few_counts():
    stream = io.StringIO()
    lines = Lines(stream, every=3600)
    lines.say("starting")
    with counting(lines, "rounds", 100):
        for _ in range(100):
            lines.advance()
    assert stream.getvalue().splitlines()[:2] == ["starting", "rounds: 0/100"]
    assert stream.getvalue().splitlines()[2].startswith("rounds: 100/100, ")
    assert len(stream.getvalue().splitlines()) == 3


def test_lines_come_on_while_it_takes_long():
    stream = io.StringIO()
    lines = Lines(stream, every=0.0)
    lines.begin("rounds", 3, done=1)
    lines.advance(note="2 sources down")
    assert re.fullmatch(
        r"rounds: 2/3 \([\d.]+/s, \d+ s left, 2 sources down\)", stream.getvalue().splitlines()[-1]
    )


def test_a_count_ends_also_after_an_error():
    stream = io.StringIO()
    with pytest.raises(ValueError, match="x"), counting(Lines(stream), "rounds", 2):
        raise ValueError("x")
    assert "rounds: 0/2, " in stream.getvalue()


def test_quiet_says_nothing_but_warnings():
    stream = io.StringIO()
    quiet = Quiet(stream)
    quiet.say("a")
    with counting(quiet, "b", 2):
        quiet.advance()
    quiet.warn("careful")
    assert stream.getvalue() == "warning: careful\n"


def test_a_bar_shows_count_and_note(capsys):
    bar = Bar()
    bar.warn("careful")
    with counting(bar, "rounds", 2):
        bar.advance(note="1 source down")
    shown = capsys.readouterr().err
    assert "careful" in shown
    assert "rounds" in shown


def test_what_is_opened_fits_the_stream(monkeypatch, capsys):
    assert type(open_progress(quiet=True)) is Quiet
    assert type(open_progress()) is Lines
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert type(open_progress()) is Bar


def test_sources_that_go_and_come_are_told_once(capsys):
    stream = io.StringIO()
    for progress in (Lines(stream), Bar()):
        with counting(progress, "rounds", 3):
            for kind in ("deadline", "deadline", None):
                progress.watch({"a": None, "b": kind})
                progress.advance()
    told = [line for line in stream.getvalue().splitlines() if line.startswith("b ")]
    assert told == ["b is down (deadline)", "b is up again"]
    shown = capsys.readouterr().err
    assert "b is up again" in shown
    assert "sources: 2 of 2 up" in shown
    assert "failures so far: deadline 2" in shown


def test_quiet_does_not_tell_of_sources(capsys):
    Quiet().watch({"a": "deadline"})
    assert capsys.readouterr().err == ""
