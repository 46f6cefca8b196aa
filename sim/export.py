"""The rounds of a run in the input form of evaluators that run beside this project (ragas, deepeval).

ragas reads JSON lines with `user_input`, `retrieved_contexts`, `response`, `reference`
(`EvaluationDataset.from_jsonl`); deepeval a JSON list with `input`, `actual_output`, `expected_output`,
`retrieval_context` (`EvaluationDataset.add_test_cases_from_json_file`). Contexts are the documents that the
reader saw, in its order. Neither is a dependency: both exclude current versions of what is used here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import ConfigError, DataError
from core.paths import write_atomic
from sim.round_record import RoundRecord
from sim.texts import NAME as TEXTS
from sim.texts import read_texts

Keys = tuple[str, str, str, str]  # question, answer, right answer, contexts
_KEYS: Mapping[str, Keys] = {
    "ragas": ("user_input", "response", "reference", "retrieved_contexts"),
    "deepeval": ("input", "actual_output", "expected_output", "retrieval_context"),
}


def export_rounds(folder: Path, form: str, out: Path, arm: str | None = None) -> int:
    """Write the rounds of the run in `folder` to `out`; returns how many.

    Args:
        form: `ragas` or `deepeval`.
        arm: an arm of the run's comparison; None: the chosen defense.

    Raises:
        ConfigError: unknown form or arm, or no run.
        DataError: rounds or texts are missing or malformed.
    """
    if form not in _KEYS:
        raise ConfigError(f"--format {form!r} is unknown; known: {', '.join(_KEYS)}")
    path = folder / "rounds.jsonl" if arm is None else folder / "arms" / f"{arm}.jsonl"
    if not path.is_file():
        known = sorted(p.stem for p in (folder / "arms").glob("*.jsonl"))
        raise ConfigError(
            f"{path}: no rounds of a run there" + (f"; its other arms: {', '.join(known)}" if known else "")
        )
    texts = read_texts(folder / TEXTS)
    samples = [_sample(record, texts, _KEYS[form], path) for record in _rounds(path)]
    write_atomic(out, _WRITERS[form](samples))
    return len(samples)


def _rounds(path: Path) -> Iterator[RoundRecord]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.endswith("\n"):  # a line that was cut off is no round
                yield RoundRecord.from_line(line, f"{path}:{number}")


def _sample(record: RoundRecord, texts: Mapping[str, str], keys: Keys, path: Path) -> dict[str, Any]:
    """One round; the right answer is left out where the data name none."""
    read = {document.read: document.text_hash for document in record.documents if document.read is not None}
    missing = [name for name in read.values() if name not in texts]
    if missing:
        raise DataError(f"{path.parent / TEXTS}: lacks the text {missing[0]} of round {record.request_id}")
    question, answer, right, contexts = keys
    sample: dict[str, Any] = {question: record.query, answer: record.answer}
    if record.answers:
        sample[right] = record.answers[0]
    return {**sample, contexts: [texts[read[position]] for position in sorted(read)]}


def _lines(samples: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)


def _list(samples: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(samples), ensure_ascii=False, indent=1) + "\n"


_WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], str]] = {"ragas": _lines, "deepeval": _list}
