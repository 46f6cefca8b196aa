"""Tests on hosts of their own are skipped, with the reason, where there can be none."""

from __future__ import annotations

import pytest

from tests.netns.fabric import problem


@pytest.fixture(scope="session")
def namespaces() -> None:
    if (why := problem()) is not None:
        pytest.skip(why)
