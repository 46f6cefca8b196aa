from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from core.errors import ConfigError, MissingPackageError
from core.registry import Registry


@pytest.fixture
def registry() -> Registry:
    return Registry(
        "gadget",
        "securecollarag.test-gadgets",
        {
            "path": "pathlib:Path",
            "gone": "no_such_library_here:Thing",
            "typo": "pathlib:Pth",
            "moved": "core.no_such_module:Thing",
        },
        extra="embed",
    )


def test_names_are_sorted_and_lazy(registry: Registry) -> None:
    assert registry.names() == ["gone", "moved", "path", "typo"]
    assert list(registry) == registry.names()
    assert "gone" in registry
    assert 3 not in registry


def test_get_imports(registry: Registry) -> None:
    assert registry.get("path") is Path


def test_unknown_name_lists_the_known_and_guesses(registry: Registry) -> None:
    with pytest.raises(ConfigError) as caught:
        registry.get("pth")
    assert str(caught.value) == "unknown gadget 'pth' (did you mean 'path'?); known: gone, moved, path, typo"


def test_missing_library_names_the_extra(registry: Registry) -> None:
    with pytest.raises(MissingPackageError, match=r"gadget 'gone' needs .*'no_such_library_here'.*\[embed\]"):
        registry.get("gone")


def test_a_missing_module_of_an_installed_package_is_no_missing_package(registry: Registry) -> None:
    with pytest.raises(
        ConfigError, match=r"'moved' is registered as .*, but there is no 'core.no_such_module'"
    ):
        registry.get("moved")


def test_missing_attribute_names_the_entry(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"'typo' is registered as 'pathlib:Pth', but pathlib has no 'Pth'"):
        registry.get("typo")


def test_entry_points_extend_but_do_not_replace(monkeypatch: pytest.MonkeyPatch, registry: Registry) -> None:
    found = [EntryPoint("path", "os:getcwd", "g"), EntryPoint("extra", "os.path:join", "g")]
    monkeypatch.setattr("core.registry.entry_points", lambda group: found)
    assert registry.get("path") is Path
    import os.path

    assert registry.get("extra") is os.path.join
