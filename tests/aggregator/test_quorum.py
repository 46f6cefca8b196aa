from __future__ import annotations

import pytest

from aggregator.quorum import TOO_FEW, Quorum
from core.errors import ConfigError, RefusedError


def test_enough_is_enough() -> None:
    for otherwise in ("answer", "warn", "refuse"):
        assert Quorum(2, otherwise).warning(2) is None
        assert Quorum(0, otherwise).warning(0) is None


def test_too_few() -> None:
    assert Quorum(3, "answer").warning(2) is None
    assert Quorum(3).warning(2) == "only 2 sources replied, fewer than the quorum of 3"
    with pytest.raises(RefusedError, match=TOO_FEW):
        Quorum(3, "refuse").warning(2)


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="at least 0"):
        Quorum(-1)
    with pytest.raises(ConfigError, match="answer, warn or refuse"):
        Quorum(1, "shrug")  # type: ignore[arg-type]
