"""Ray for one experiment: a cluster started or joined, and the actors on it, ended at the end."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.embedding.cache import CachedEmbedder
from core.errors import ConfigError, MissingPackageError, ScrError
from core.records import Document
from sim.actors import EmbedderActor, SourceActor
from sim.progress import Progress, counting
from sim.remote_embedder import RemoteEmbedder
from source_node.index import embed_documents

BATCH = 512  # texts of the corpus embedded at once, in file order
_IN_FLIGHT = 4  # shards on their way at once: bounds the object store
_START_SECONDS = 600.0
_ATTEMPTS = 3  # at starting Ray
_MEMORY = 50_000  # vectors that the driver keeps at hand
# what a local cluster does without: phoning home, killing by memory use, idle workers, metrics, niceness
_LEAN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
    "RAY_raylet_start_wait_time_s": "120",  # a busy machine takes its time to start one
    "RAY_worker_niceness": "0",  # Ray says 15: on a busy machine sources would miss their deadlines
    "MALLOC_ARENA_MAX": "2",
}


@contextmanager
def ray_session(address: str | None, object_store_mb: int) -> Iterator[bool]:
    """Ray, started on this machine (None) or joined at `address`; ended or left at the end.

    A local cluster asks for a random token of this run, keeps its files in a folder of its own and
    shares nothing with other clusters on the machine. Where the program already holds a connection to
    Ray, that is used and left alone. Yields whether the cluster is local.

    Raises:
        MissingPackageError: Ray is not installed.
        ConfigError: no cluster answers at `address`.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingPackageError("experiments need the package 'ray': pip install 'securecollarag[sim]'")
    _set_authentication(local=address is None)
    if address is None:
        for key, value in _LEAN.items():
            os.environ.setdefault(key, value)
    import ray

    if ray.is_initialized():
        yield address is None
        return
    with ExitStack() as stack:
        stack.enter_context(_silent_about_workers())
        stack.callback(ray.shutdown)
        if address is None:
            folder = tempfile.mkdtemp(prefix="scr-ray-", dir=_short_temporary_folder())
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            _start_here(folder, object_store_mb)
        else:
            _join(address)
        yield address is None


def _start_here(folder: str, object_store_mb: int) -> None:
    """Start Ray on this machine; a busy machine may need a second attempt within Ray's time limit."""
    import ray

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ray.init(
                address="local",
                num_cpus=os.cpu_count(),
                object_store_memory=object_store_mb * 2**20,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                _temp_dir=folder,
            )
        except Exception as error:  # Ray raises bare Exceptions where a process of its own is late
            ray.shutdown()
            if attempt == _ATTEMPTS:
                reason = " ".join(str(error).split())[:200]
                raise ScrError(f"Ray did not start on this machine: {reason}") from error
        else:
            _without_monitors()
            return


def _without_monitors() -> None:
    """End the two helpers of a local Ray that a simulation has no use for, some 80 MB each.

    Nothing autoscales on one machine, and no log is followed. They are ours: this Ray was started here.
    Ray has no public switch for them; where its node knows no such method they stay.
    """
    from ray._private import worker

    for name in ("kill_monitor", "kill_log_monitor"):
        end = getattr(worker._global_node, name, None)
        if end is not None:
            end(check_alive=False)


@contextmanager
def _silent_about_workers() -> Iterator[None]:
    """Keep Ray's remarks on worker processes (many started, one died) off stdout, which holds results.

    They come whatever `log_to_driver` says; what matters of them shows as failures in the rounds.
    """
    from ray._private import worker

    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = True


def _join(address: str) -> None:
    import ray

    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():  # Ray itself tries for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"--ray-address {address}: no Ray cluster to join there ({reason})") from None


class Federation:
    """The embedder actor and one actor per source, from their start to their end.

    `addresses` maps source id to HOST:PORT, `embedder` embeds centrally with a local memory, and
    `lost` names sources whose process died.

    Args:
        source_ids: names of the sources, in order.
        embedder: embedder by name (`core.embedding`).
        retriever: retriever of every source, by name.
        cache_dir: where vectors persist.
        local: whether all actors live on this machine; then sources bind loopback.
        progress: where the start of the processes is reported.

    Raises:
        ScrError: a process did not start.
    """

    def __init__(
        self,
        source_ids: Sequence[str],
        *,
        embedder: str,
        retriever: str,
        cache_dir: Path,
        local: bool,
        progress: Progress,
    ) -> None:
        import ray

        self._ray = ray
        self.source_ids = tuple(source_ids)
        self.lost: set[str] = set()
        threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
        self._model = (
            ray.remote(EmbedderActor)
            .options(num_cpus=0, **({} if local else _here()))
            .remote(embedder, str(cache_dir), threads)
        )
        identity, dimension = self._first_call(self._model.describe.remote(), "the embedder")
        self._remote = RemoteEmbedder(self._model, identity, dimension)
        self.embedder = CachedEmbedder(self._remote, memory=_MEMORY)
        face = (self._model, identity, dimension)
        host = "127.0.0.1" if local else None
        spread = {} if local else {"scheduling_strategy": "SPREAD"}
        source = ray.remote(SourceActor)
        run = secrets.token_hex(4)  # a name of Ray's is free again only some time after its actor's end
        self._actors = {
            name: source.options(num_cpus=0, name=f"scr-{run}-{name}", **spread).remote(
                name, face, retriever, host
            )
            for name in self.source_ids
        }
        self.addresses = self._await_addresses(progress)

    def embed_corpus(self, documents: Sequence[Document], progress: Progress) -> Vectors:
        """(n, d) float32 unit rows of the documents, in file order and fixed batches."""
        vectors = np.empty((len(documents), self._remote.dimension), dtype=np.float32)
        with counting(progress, "embedding the corpus", len(documents)):
            for start in range(0, len(documents), BATCH):
                batch = documents[start : start + BATCH]
                vectors[start : start + BATCH] = embed_documents(batch, self._remote, BATCH)
                progress.advance(len(batch))
        return vectors

    def load(
        self,
        documents: Sequence[Document],
        vectors: NDArray[np.float32],
        members: Sequence[NDArray[np.int64]],
        orders: dict[str, Any],
        progress: Progress,
    ) -> None:
        """Give source i the documents `members[i]`, their rows of `vectors`, and its orders.

        A source whose process has died stays lost: its failures show in the rounds.
        """
        waiting: dict[Any, str] = {}
        with counting(progress, "loading the sources", len(self.source_ids)):
            for name, held in zip(self.source_ids, members, strict=True):
                if len(waiting) >= _IN_FLIGHT:
                    self._settle(waiting, progress)
                shard = [documents[i] for i in held]
                waiting[self._actors[name].load.remote(shard, vectors[held], orders[name])] = name
            while waiting:
                self._settle(waiting, progress)

    def close(self) -> None:
        """End every actor."""
        for actor in (*self._actors.values(), self._model):
            self._ray.kill(actor)

    def _settle(self, waiting: dict[Any, str], progress: Progress) -> None:
        """Wait for one of the loads in `waiting`."""
        from ray.exceptions import RayActorError

        (done, *_), _ = self._ray.wait(list(waiting), num_returns=1)
        name = waiting.pop(done)
        try:
            self._ray.get(done)
        except RayActorError:
            if name not in self.lost:
                progress.warn(f"the process of {name} has died; its failures are counted")
            self.lost.add(name)
        progress.advance()

    def _await_addresses(self, progress: Progress) -> dict[str, str]:
        calls = {actor.address.remote(): name for name, actor in self._actors.items()}
        found: dict[str, str] = {}
        with counting(progress, "starting the sources", len(calls)):
            pending = list(calls)
            while pending:
                ready, pending = self._ray.wait(pending, num_returns=1, timeout=_START_SECONDS)
                if not ready:
                    raise ScrError(f"{len(pending)} source processes did not start in {_START_SECONDS:.0f} s")
                name = calls[ready[0]]
                found[name] = self._first_call(ready[0], name)
                progress.advance()
        return {name: found[name] for name in self.source_ids}

    def _first_call(self, reference: Any, who: str) -> Any:
        """The result of an actor's first call; errors of its construction surface here, as one line."""
        from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

        try:
            return self._ray.get(reference, timeout=_START_SECONDS)
        except RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise (cause if isinstance(cause, ScrError) else error) from None
        except (RayActorError, GetTimeoutError) as error:
            last = [line for line in str(error).splitlines() if line.strip()][-1:]
            raise ScrError(f"the process of {who} did not start: {''.join(last).strip()}") from None


def _set_authentication(*, local: bool) -> None:
    """Decide Ray's authentication before Ray reads its settings, which it does when imported.

    A local cluster gets a token that only this run knows. A cluster that exists decides itself: the
    person's setting stands, else a token is used where there is one.
    """
    if "RAY_AUTH_MODE" in os.environ or "ray" in sys.modules:
        return
    if local:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        return
    known = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    token = known or (Path.home() / ".ray" / "auth_token").is_file()
    os.environ["RAY_AUTH_MODE"] = "token" if token else "disabled"


def _short_temporary_folder() -> str:
    """A folder whose path leaves room for Ray's sockets (107 bytes in all)."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= 30 else "/tmp"  # noqa: S108  # mkdtemp makes a private folder in it


def _here() -> dict[str, Any]:
    """Options that place an actor beside the driver, where the cache of vectors is."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True)}
