"""Certificates of the small authority: who they are for, how long, and who may read the keys."""

from __future__ import annotations

import datetime
import os
import stat
import sys
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from core.certs import issue, make_authority
from core.cli import main
from core.errors import ConfigError, MissingPackageError
from core.tls import check_server_name


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    make_authority(tmp_path / "ca")
    return tmp_path / "ca"


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_commands_make_the_files_that_servers_take(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    assert main(["certs", "init", "--out", str(folder)]) == 0
    assert main(["certs", "issue", "--ca", str(folder), "--name", "clinic_3", "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "ca.crt",
        "ca.key",
        "clinic_3.crt",
        "clinic_3.key",
    ]
    assert mode(folder / "ca.key") == mode(folder / "clinic_3.key") == 0o600
    assert mode(folder / "clinic_3.crt") & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def test_a_party_is_its_name_first_and_its_hosts(ca: Path, tmp_path: Path) -> None:
    files = issue(ca, "clinic", tmp_path, days=30, hosts=("agg.example", "10.1.2.3", "::1"))
    for name in ("clinic", "CLINIC", "agg.example", "10.1.2.3", "::1"):
        check_server_name(files, name)
    with pytest.raises(ConfigError, match="refuse it as 'bank'"):
        check_server_name(files, "bank")
    found = certificate(files.cert)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names[0] == x509.DNSName("clinic")
    left = found.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    assert datetime.timedelta(days=29) < left <= datetime.timedelta(days=30)


def test_loopback_is_the_default_host(ca: Path, tmp_path: Path) -> None:
    files = issue(ca, "aggregator", tmp_path)
    check_server_name(files, "localhost")
    check_server_name(files, "127.0.0.1")


def test_no_certificate_outlives_its_authority(tmp_path: Path) -> None:
    make_authority(tmp_path, days=2)
    files = issue(tmp_path, "s", tmp_path, days=300)
    assert certificate(files.cert).not_valid_after_utc == certificate(files.ca).not_valid_after_utc


def test_a_second_issue_replaces_the_first(ca: Path, tmp_path: Path) -> None:
    first = issue(ca, "s", tmp_path)
    serial = certificate(first.cert).serial_number
    second = issue(ca, "s", tmp_path)
    assert second == first
    assert certificate(second.cert).serial_number != serial
    check_server_name(second, "s")
    assert mode(second.key) == 0o600


def test_an_authority_is_not_overwritten(ca: Path) -> None:
    before = (ca / "ca.key").read_bytes()
    with pytest.raises(ConfigError, match="is there already"):
        make_authority(ca)
    assert (ca / "ca.key").read_bytes() == before


@pytest.mark.parametrize("name", ["", "CA", "a b", "../x", "*.example", ".a", "a.", "é", "a" * 65, "a/b"])
def test_a_name_that_is_no_name_is_refused(ca: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        issue(ca, name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@given(name=st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_.\-]{0,20}[A-Za-z0-9_])?", fullmatch=True))
def test_every_name_that_is_accepted_makes_one_file_of_that_name(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from core.certs import _checked

    assert _checked(name) == name
    assert Path(f"{name}.crt").name == f"{name}.crt"


@pytest.mark.parametrize("host", ["", "a b", "*.example", "1.2.3.4/8"])
def test_a_host_that_is_no_host_is_refused(ca: Path, tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="neither a DNS name nor an IP address"):
        issue(ca, "s", tmp_path, hosts=[host])


def test_days_out_of_range_are_refused(ca: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="days must be"):
        issue(ca, "s", tmp_path, days=0)


def test_an_authority_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["certs", "issue", "--ca", str(tmp_path), "--name", "s", "--out", str(tmp_path)]
    assert main(command) == 2
    assert "make an authority with scr certs init" in capsys.readouterr().err
    make_authority(tmp_path)
    (tmp_path / "ca.key").write_text("rubbish")
    assert main(command) == 2
    assert "no usable authority" in capsys.readouterr().err
    make_authority(tmp_path / "other")
    (tmp_path / "ca.key").write_bytes((tmp_path / "other" / "ca.key").read_bytes())
    assert main(command) == 2
    assert "ca.key does not belong to ca.crt" in capsys.readouterr().err


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingPackageError, match=r"securecollarag\[node\]"):
        make_authority(tmp_path)
