from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from core.config import StrictModel, dump, load, parse, read_yaml
from core.errors import ConfigError


class Inner(StrictModel):
    depth: int = Field(default=1, ge=1)


class Outer(StrictModel):
    name: str = "x"
    share: float = Field(default=0.4, ge=0, le=1)
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    maybe: Inner | None = None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nmae": "y"}, "here: unknown key 'nmae'; known keys: inner, many, maybe, name, share"),
        ({"inner": {"dpth": 2}}, "here: unknown key 'inner.dpth'; known keys: depth"),
        ({"many": [{"depth": 1}, {"d": 2}]}, "here: unknown key 'many.1.d'; known keys: depth"),
        ({"maybe": {"d": 2}}, "here: unknown key 'maybe.d'; known keys: depth"),
        ({"share": 2}, "here: share: Input should be less than or equal to 1 (got 2)"),
        ({"share": float("nan")}, "here: share: Input should be a finite number (got nan)"),
    ],
)
def test_a_wrong_key_is_one_exact_line(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(Outer, values, "here")
    assert str(caught.value) == message


def test_a_model_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Outer().name = "y"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [1,\nb: 2", ":2: "),
        ("- a\n- b\n", "must be a mapping of keys, not list"),
        ("3", "must be a mapping of keys, not int"),
    ],
)
def test_broken_yaml_names_the_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_undecodable_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such config file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(tmp_path / "bad.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(tmp_path)


def test_empty_file_is_defaults_and_flags_override(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("")
    assert load(Outer, path) == Outer()
    path.write_text("name: file\nshare: 0.1\n")
    assert load(Outer, path, {"name": "flag", "share": None}) == Outer(name="flag", share=0.1)
    with pytest.raises(ConfigError, match=r"^command line: share: "):
        load(Outer, None, {"share": 3})


@given(
    st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20),
    st.floats(0, 1),
    st.lists(st.integers(1, 9), max_size=3),
)
def test_dump_reads_back(name: str, share: float, depths: list[int]) -> None:
    import yaml

    model = Outer(name=name, share=share, many=tuple(Inner(depth=d) for d in depths))
    assert parse(Outer, yaml.safe_load(dump(model)), "dump") == model
