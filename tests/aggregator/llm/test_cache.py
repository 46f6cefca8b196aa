from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.llm.cache import ResponseCache, request_key
from core.errors import StoreError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, VALUES)
def test_equal_requests_have_equal_keys(left: object, right: object) -> None:
    assert (request_key(left) == request_key(right)) == (left == right) or type(left) is not type(right)


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_key_order_does_not_count(request: dict[str, int]) -> None:
    assert request_key(request) == request_key(dict(reversed(request.items())))


def test_values_survive_and_the_first_stays(tmp_path: Path) -> None:
    path = tmp_path / "a" / "cache.sqlite"
    cache = ResponseCache(path)
    assert cache.get("k") is None
    cache.put("k", {"text": "ü", "n": [1, 2.5]})
    cache.put("k", "other")
    cache.close()
    assert ResponseCache(path).get("k") == {"text": "ü", "n": [1, 2.5]}


def test_memory_only_and_many_threads() -> None:
    cache = ResponseCache(None)
    threads = [threading.Thread(target=lambda i=i: cache.put(str(i % 10), i % 10)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cache.get(str(i)) for i in range(10)] == list(range(10))


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_text("this is no database, but long enough to be looked at " * 30)
    with pytest.raises(StoreError, match="not a usable response cache"):
        ResponseCache(path)
