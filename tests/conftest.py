"""What every test gets: a cache folder of its own, no model hub, one thread per library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"

settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("house")


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for the whole session, for what is slow to convert (language models)."""
    return tmp_path_factory.mktemp("session-cache")


@pytest.fixture(autouse=True)
def scr_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SCR_CACHE points at an empty folder of this test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SCR_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent
