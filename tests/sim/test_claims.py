from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cli import main
from core.errors import ConfigError, DataError
from sim.claims import Checked, Claim, Expected, check, load_claims, look_up

FOUND = '{"rows": [{"arm": "a", "asr": {"value": 0.5}}], "list": [3]}'


def claim(root, name, script=f"echo '{FOUND}' > $OUT/found.json", short=True, **changes):
    folder = root / name
    folder.mkdir()
    (folder / "run.sh").write_text(script + "\n")
    value = {
        "name": "rate",
        "file": "found.json",
        "path": "rows.arm=a.asr.value",
        "value": 0.45,
        "tolerance": 0.1,
    }
    content = {"claim": "it holds", "short": short, "values": [{**value, **changes}]}
    (folder / "expected.json").write_text(json.dumps(content))
    return folder


def test_a_claim_holds_within_its_tolerance(tmp_path, capsys):
    claim(tmp_path, "one")
    assert main(["claims", "check", "--folder", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "holds  rate: 0.5 (claimed 0.45 ± 0.1)" in shown
    claim(tmp_path, "two", tolerance=0.01)
    assert main(["claims", "check", "--folder", str(tmp_path)]) == 1
    assert "FAILS  rate: 0.5" in capsys.readouterr().out
    assert main(["claims", "check", "one", "--folder", str(tmp_path)]) == 0


def test_what_is_not_there_does_not_hold(tmp_path):
    for i, changes in enumerate(({"file": "other.json"}, {"path": "rows.arm=b.asr.value"}, {"path": "rows"})):
        folder = claim(tmp_path, f"c{i}", **changes)
        (one,) = check(folder, load_claims(tmp_path, [f"c{i}"])[f"c{i}"])
        assert one.found is None
        assert not one.holds


def test_only_short_ones_where_asked(tmp_path):
    claim(tmp_path, "long", short=False)
    claim(tmp_path, "brief")
    assert list(load_claims(tmp_path, short=True)) == ["brief"]
    assert list(load_claims(tmp_path)) == ["brief", "long"]


def test_wrong_claims_are_one_line(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        load_claims(tmp_path / "nowhere")
    folder = claim(tmp_path, "bad", script="echo lost >&2; exit 3")
    with pytest.raises(ConfigError, match=r"no claim 'x'.*bad"):
        load_claims(tmp_path, ["x"])
    with pytest.raises(DataError, match="exit status 3: lost"):
        check(folder, load_claims(tmp_path)["bad"])
    (folder / "run.sh").unlink()
    with pytest.raises(DataError, match="missing"):
        check(folder, load_claims(tmp_path)["bad"])
    (folder / "expected.json").write_text('{"claim": "x", "values": []}')
    with pytest.raises(ConfigError, match="values"):
        load_claims(tmp_path)
    (folder / "expected.json").write_text("{")
    with pytest.raises(ConfigError, match="not JSON"):
        load_claims(tmp_path)


def test_paths_lead_into_lists_and_objects():
    content = json.loads(FOUND)
    assert look_up(content, "list.0") == 3
    assert look_up(content, "list.1") is None
    assert look_up(content, "rows.0.arm") == "a"
    assert look_up(content, "list.0.deeper") is None


@given(st.floats(-1e6, 1e6), st.floats(0, 10), st.floats(-20, 20))
def test_tolerance_is_both_ways(value, tolerance, off):
    one = Expected(name="x", file="f", path="p", value=value, tolerance=tolerance)
    assert (
        Checked(one, value + off).holds == Checked(one, value - off).holds or abs(abs(off) - tolerance) < 1e-6
    )
    assert Checked(one, value).holds


def test_the_repositorys_own_claims_are_readable(repository):
    claims = load_claims(repository / "claims")
    assert all(isinstance(one, Claim) for one in claims.values())
    assert all((repository / "claims" / name / "run.sh").is_file() for name in claims)
    assert any(one.short for one in claims.values())
