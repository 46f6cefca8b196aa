"""Hosts on one machine: a network namespace each, joined by a bridge; links that can be cut and slowed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_NET = f"10.{100 + os.getpid() // 250 % 100}.{os.getpid() % 250}"  # two runs at once do not meet


def problem() -> str | None:
    """Why there can be no namespaces here; None where there can."""
    for tool in ("ip", "tc", "iptables"):
        if shutil.which(tool) is None:
            return f"the command {tool!r} is not installed (iproute2, iptables)"
    name = f"scrtry{os.getpid()}"
    made = _try("ip", "netns", "add", name)
    if made.returncode:
        return f"ip netns is not permitted here: {made.stderr.strip()}"
    try:
        for command in (
            ("ip", "-n", name, "link", "add", "br0", "type", "bridge"),
            ("ip", "netns", "exec", name, "iptables", "-A", "INPUT", "-p", "tcp", "-j", "ACCEPT"),
            (
                *("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root"),
                *("tbf", "rate", "8kbit", "burst", "1600", "latency", "400ms"),
            ),
        ):
            done = _try(*command)
            if done.returncode:
                return f"{' '.join(command[4:7])} does not work here: {done.stderr.strip()}"
    finally:
        _try("ip", "netns", "del", name)
    return None


class Fabric:
    """Hosts by name, each with the address `address(name)`; the test process itself has one too."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._prefix = f"scr{os.getpid()}"
        self.hosts = list(hosts)
        self.here = f"{_NET}.254"
        self._switch = f"{self._prefix}sw"
        self._leg = f"s{os.getpid()}x"
        _run("ip", "netns", "add", self._switch)
        _run("ip", "-n", self._switch, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", self._switch, "link", "set", "br0", "up")
        for name in self.hosts:
            _run("ip", "netns", "add", self.netns(name))
            self._join(name)
        _run(*("ip", "link", "add", self._leg, "type", "veth", "peer", "name", "here", "netns", self._switch))
        self._bridge("here")
        _run("ip", "addr", "add", f"{self.here}/24", "dev", self._leg)
        _run("ip", "link", "set", self._leg, "up")

    def netns(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def address(self, name: str) -> str:
        return f"{_NET}.{self.hosts.index(name) + 1}"

    def _join(self, name: str) -> None:
        netns = self.netns(name)
        _run("ip", "-n", netns, "link", "set", "lo", "up")
        _run(
            *("ip", "-n", netns, "link", "add", "eth0", "type", "veth"),
            "peer",
            "name",
            name,
            "netns",
            self._switch,
        )
        self._bridge(name)
        _run("ip", "-n", netns, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        _run("ip", "-n", netns, "link", "set", "eth0", "up")

    def _bridge(self, port: str) -> None:
        _run("ip", "-n", self._switch, "link", "set", port, "master", "br0")
        _run("ip", "-n", self._switch, "link", "set", port, "up")

    @contextmanager
    def cut(self, name: str) -> Iterator[None]:
        """The host's cable is pulled."""
        _run("ip", "-n", self._switch, "link", "set", name, "down")
        try:
            yield
        finally:
            _run("ip", "-n", self._switch, "link", "set", name, "up")

    @contextmanager
    def dropped(self, name: str) -> Iterator[None]:
        """The host's firewall swallows whatever comes in by TCP, without a word."""
        rule = ("INPUT", "-p", "tcp", "-j", "DROP")
        _run("ip", "netns", "exec", self.netns(name), "iptables", "-A", *rule)
        try:
            yield
        finally:
            _run("ip", "netns", "exec", self.netns(name), "iptables", "-D", *rule)

    @contextmanager
    def slowed(self, name: str, rate: str) -> Iterator[None]:
        """What the host sends leaves it at `rate` (tc's: 8kbit, 1mbit)."""
        at = ("ip", "netns", "exec", self.netns(name), "tc", "qdisc")
        limits = ("rate", rate, "burst", "1600", "latency", "60s")
        _run(*at, "add", "dev", "eth0", "root", "tbf", *limits)
        try:
            yield
        finally:
            _run(*at, "del", "dev", "eth0", "root")

    def close(self) -> None:
        _try("ip", "link", "del", self._leg)
        for name in self.hosts:
            _try("ip", "netns", "del", self.netns(name))
        _try("ip", "netns", "del", self._switch)


def _try(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _run(*command: str) -> None:
    done = _try(*command)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
