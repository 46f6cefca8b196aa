from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import ConfigError, DataError
from sim.corpora import load_corpus, select_questions

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "data"


def test_the_synthetic_world_is_named_so() -> None:
    world = load_corpus("synthetic", n_documents=30, seed=3)
    assert world.name.startswith("synthetic")
    assert world.synthetic
    assert len(world.documents) == 30


def test_options_that_do_not_apply_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a folder is read whole"):
        load_corpus(str(tmp_path), n_documents=5)
    with pytest.raises(ConfigError, match="brings its own questions"):
        load_corpus("synthetic", queries_file="q.jsonl")
    with pytest.raises(DataError, match="no such folder"):
        load_corpus(str(tmp_path / "none"))


@pytest.mark.skipif(not REAL.is_dir(), reason="the evaluation data lies beside a development checkout only")
@pytest.mark.parametrize(
    ("name", "documents", "questions", "poisons"),
    [
        ("nq", 3595, 2619, 49),
        ("hotpotqa", 4937, 447, 47),
        ("pubmedqa", 1000, 1000, 0),
        ("medquad", 3395, 3395, 0),
    ],
)
def test_real_data_sets_load_whole(name: str, documents: int, questions: int, poisons: int) -> None:
    corpus = load_corpus(str(REAL / name))
    assert len(corpus.documents) == documents
    assert len(corpus.questions) == questions
    assert len(corpus.poisons) == poisons
    assert corpus.notes == ()
    first = select_questions(corpus, max(poisons, 1))
    assert all(question.query_id in corpus.poisons for question in first) or not poisons


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, sim.corpora, sim.attacks; print([m for m in ('torch', 'ray', 'sklearn') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
