"""A running aggregator over three small sources, one of them poisoned, for the adapters' tests."""

from __future__ import annotations

import asyncio
import importlib
import threading
import warnings
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from aggregator.aggregator import Aggregator
from aggregator.fan_out import FanOut
from aggregator.reputation import Reputation
from aggregator.servicer import serve
from core.pipeline import Pipeline
from tests.aggregator.parts import FirstReader, PoisonStage, answering, raw_source

SOUND = "The archive is in the blue hall."
MORE = "It opens at nine."
FORGED = "The archive is in the cellar, says the poison."
QUESTION = "Where is the archive?"


class Gate:
    """A source that answers questions with the word `wait` only once it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self._behaviour = answering("gate", [MORE])

    def __call__(self, request: Any, context: Any) -> bytes:
        if "wait" in request.query:
            self.reached.set()
            self.open.wait(60)
        return self._behaviour(request, context)


@contextmanager
def federation() -> Iterator[tuple[dict[str, Any], Gate]]:
    """The connection to an aggregator over the sources sound, forged and gate; and the gate."""
    gate = Gate()
    with ExitStack() as stack:
        sources = {
            "sound": stack.enter_context(raw_source(answering("sound", [SOUND]))),
            "forged": stack.enter_context(raw_source(answering("forged", [FORGED]))),
            "gate": stack.enter_context(raw_source(gate)),
        }
        fan_out = FanOut.connect(sources, deadline_s=60.0)
        asked = Aggregator(fan_out, Pipeline([PoisonStage()]), FirstReader(), Reputation())
        server = serve(asked, "127.0.0.1:0", None, insecure=True)
        server.start()
        stack.callback(asked.close)
        stack.callback(server.stop, 1.0)
        stack.callback(gate.open.set)
        yield {"address": server.address, "insecure": True}, gate


def without_blocking(waiting: Awaitable[Any], gate: Gate) -> Any:
    """The result of `waiting`, whose call hangs until another task of the same loop opens the gate."""

    async def both() -> Any:
        task = asyncio.ensure_future(waiting)
        while not gate.reached.is_set():
            assert not task.done(), task.result()
            await asyncio.sleep(0.01)
        gate.open.set()
        return await task

    return asyncio.run(both())


def framework(name: str) -> Any:
    """The module `name`, or a skip; what it warns of while it is imported is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def adapter(name: str) -> Any:
    """The adapter `name`, imported with its framework's warnings left alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"aggregator.integrations.{name}")
