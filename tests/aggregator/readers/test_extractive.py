from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.readers.extractive import ExtractiveReader
from core.embedding.hashing import HashingEmbedder
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey

EMBEDDER = HashingEmbedder(256)
QUESTION = "who painted the ceiling of the blue hall"


def documents(*texts: str, weights: tuple[float, ...] = ()) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(DocumentKey(f"s{i}", f"d{i}"), text, weight=weights[i] if weights else 1.0)
        for i, text in enumerate(texts)
    )


def read(*texts: str, **settings: object) -> str:
    weights = settings.pop("weights", ())
    reader = ExtractiveReader(EMBEDDER, **settings)  # type: ignore[arg-type]
    return reader.read(ReadRequest(QUESTION, documents(*texts, weights=weights))).text  # type: ignore[arg-type]


def test_it_is_a_simulated_reader() -> None:
    reader = ExtractiveReader(EMBEDDER)
    assert isinstance(reader, Reader)
    assert (reader.name, reader.simulated, reader.forced_choice) == ("extractive", True, False)


def test_the_two_sentences_nearest_to_the_question() -> None:
    text = "Bread costs two coins. The ceiling of the blue hall was painted by Orla Venn. The hall is blue. Rain fell."
    answer = read(text)
    assert answer.startswith("The ceiling of the blue hall was painted by Orla Venn.")
    assert "Bread" not in answer
    assert len(answer.split(". ")) == 2


def test_what_more_documents_say_wins() -> None:
    truth = "Orla Venn painted the ceiling of the blue hall in spring"
    lie = "Bram Tolk painted the ceiling of the blue hall at night"
    assert read(f"{truth}. A.", f"{truth} light. B.", f"{lie}. C.", top=1).startswith("Orla")
    assert read(f"{truth}. A.", f"{lie} shift. B.", f"{lie}. C.", top=1).startswith("Bram")


def test_a_weight_counts() -> None:
    truth = "Orla Venn painted the ceiling of the blue hall in spring."
    lie = "Bram Tolk painted the ceiling of the blue hall at night."
    assert read(truth, lie, top=1, weights=(1.0, 0.1)).startswith("Orla")
    assert read(truth, lie, top=1, weights=(0.1, 1.0)).startswith("Bram")


@pytest.mark.parametrize("echo", [QUESTION, f"{QUESTION}?", f"{QUESTION}. {QUESTION}?", QUESTION.upper()])
def test_echoes_of_the_question_are_no_answer(echo: str) -> None:
    assert read(f"{echo} Bram Tolk did it. Stones are grey.", top=1) == "Bram Tolk did it."


def test_an_echo_inside_the_text_goes_too() -> None:
    answer = read("Stones are grey. Who painted the ceiling of the blue hall? Orla Venn painted it.")
    assert "Who painted" not in answer


def test_nothing_to_say_is_an_abstention() -> None:
    reader = ExtractiveReader(EMBEDDER)
    assert reader.read(ReadRequest(QUESTION, ())).abstained
    reading = reader.read(ReadRequest(QUESTION, documents(QUESTION, " ")))
    assert reading.abstained
    assert reading.text == ""


def test_the_same_sentence_is_said_once_and_its_source_cited() -> None:
    same = "Orla Venn painted the ceiling."
    reading = ExtractiveReader(EMBEDDER).read(ReadRequest(QUESTION, documents(same, same)))
    assert reading.text == same
    assert reading.cited == ("s0/d0",)
    assert len(reading.scores) == 1
    assert reading.llm_calls == 0


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=40))
def test_any_text_can_be_read(texts: list[str], question: str) -> None:
    reading = ExtractiveReader(EMBEDDER).read(ReadRequest(question, documents(*texts)))
    assert reading.abstained == (reading.text == "")
    assert np.isfinite(reading.scores).all()
    assert len(reading.scores) <= 2
