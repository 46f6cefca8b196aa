from __future__ import annotations

import inspect

import pytest

from core import errors
from core.errors import ContractError, DataError, ScrError, StageError

ALL = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.__name__)
def test_every_error_descends_from_one_and_is_drawn(error: type[Exception]) -> None:
    assert issubclass(error, ScrError)
    assert error.__name__ in (errors.__doc__ or "")


def test_data_error_names_file_and_line() -> None:
    assert str(DataError.at("corpus.jsonl", 3, "no text")) == "corpus.jsonl:3: no text"
    assert str(DataError.at("corpus.jsonl", None, "no such file")) == "corpus.jsonl: no such file"


def test_stage_errors_carry_the_stage() -> None:
    assert StageError("ragpart", "boom").stage == "ragpart"
    assert str(ContractError("ragpart", "two verdicts")) == "stage 'ragpart' broke its contract: two verdicts"
