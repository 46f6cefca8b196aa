"""The memory limit."""

from __future__ import annotations

import gc
import weakref

import pytest

from core.errors import ConfigError, OverloadError
from core.memory import MemoryLimit, resident_bytes, settle


def test_a_process_holds_some_memory() -> None:
    assert 10 << 20 < resident_bytes() < 1 << 40


def test_settled_objects_are_left_alone_by_the_collector_and_later_ones_are_not() -> None:
    gc.unfreeze()  # what a server of another test may have settled
    try:
        settle()
        assert gc.get_freeze_count() > 1000
        gone = weakref.WeakSet([Cyclic()])
        gc.collect()
        assert not gone
    finally:
        gc.unfreeze()


class Cyclic:
    """Only the collector can free one."""

    def __init__(self) -> None:
        self.itself = self


def test_work_is_refused_above_the_limit_only() -> None:
    limit = MemoryLimit(1 << 40)
    limit.check()
    limit.limit = 1 << 20
    with pytest.raises(OverloadError, match="the limit is 1 MiB"):
        limit.check()


def test_a_limit_that_is_reached_at_rest_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="below what is held at rest"):
        MemoryLimit(1 << 20)
