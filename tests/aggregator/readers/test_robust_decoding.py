from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from aggregator.llm.stepping import TokenModel
from aggregator.llm.transformers_llm import TransformersLLM
from aggregator.readers.robust_decoding import RobustDecodingReader, choose, reachable
from core.errors import ConfigError
from core.llm import Message
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.aggregator.llm.tiny import make_tiny_llama
from tests.scripted_llm import ScriptedLLM

TOKENS = ["<end>", "paris", "london", "is", "I"]


class Speller(ScriptedLLM):
    """Says what a document says, word by word, with odds .9; without documents it says `london`."""

    end = 0

    def next_token(self, prompts: Sequence[Sequence[Message]], answer: Sequence[int]) -> NDArray[np.float64]:
        rows = []
        for prompt in prompts:
            content = prompt[-1].content
            said = content.split("[1] ")[1].split("\n")[0].split() if "[1] " in content else ["london"]
            wanted = TOKENS.index(said[len(answer)]) if len(answer) < len(said) else 0
            row = np.full(len(TOKENS), 0.1 / (len(TOKENS) - 1))
            row[wanted] = 0.9
            rows.append(row)
        return np.array(rows)

    def probability(self, prompt: Sequence[Message], text: str) -> float:
        return 1.0 if "nothing" in prompt[-1].content else 0.0

    def tokens(self, text: str) -> list[int]:
        return [TOKENS.index(text)] if text in TOKENS else []

    def text(self, tokens: Sequence[int]) -> str:
        return " ".join(TOKENS[i] for i in tokens)


def request(*texts: str) -> ReadRequest:
    return ReadRequest("capital?", tuple(Candidate(DocumentKey("s", str(i)), t) for i, t in enumerate(texts)))


def test_the_majority_spells_the_answer() -> None:
    reader = RobustDecodingReader(Speller())
    assert isinstance(Speller(), TokenModel)
    assert isinstance(reader, Reader)
    assert reader.read(request("is paris", "is paris", "london")).text == "is paris"
    assert reader.read(request("paris", "london", "london", "nothing")).text == "london"


def test_a_small_lead_leaves_it_to_the_closed_book() -> None:
    texts = ["paris", "paris", "is"]
    assert RobustDecodingReader(Speller(), eta=0.0).read(request(*texts)).text == "paris"
    assert RobustDecodingReader(Speller(), eta=2.0).read(request(*texts)).text == "london"


def test_openings_of_a_refusal_are_masked() -> None:
    assert RobustDecodingReader(Speller()).read(request("I is", "I is")).text != "I is"


def test_nobody_knows() -> None:
    assert RobustDecodingReader(Speller()).read(request("nothing", "nothing")).abstained
    assert RobustDecodingReader(Speller()).read(request()).abstained


def test_certificates_by_hand() -> None:
    reader = RobustDecodingReader(Speller())
    wide = reader.certify(request("paris", "paris", "paris", "dropped"), 1, lambda text: text == "paris")
    assert (wide.certified, wide.answers) == (True, ("paris",))
    even = reader.certify(request("paris", "london", "dropped"), 1, lambda text: text == "paris")
    assert (even.certified, even.reason) == (False, "attacker_chooses_token")
    wrong = reader.certify(request("london", "london", "london", "dropped"), 1, lambda text: text == "paris")
    assert (wrong.certified, wrong.reason) == (False, "answer_can_change")
    both = RobustDecodingReader(Speller(), eta=2.0).certify(
        request("paris", "paris", "paris", "dropped"), 1, lambda text: text in ("paris", "london")
    )
    assert both.certified
    assert set(both.answers) == {"paris", "london"}
    few = RobustDecodingReader(Speller(), eta=2.0).certify(
        request("paris", "paris", "paris", "dropped"), 1, bool, most_answers=1
    )
    assert few.reason == "too_many_to_try"


SIMPLEX = [np.array(p) / 4 for p in itertools.product(range(5), repeat=3) if sum(p) == 4]


@given(
    st.lists(st.sampled_from(SIMPLEX), min_size=1, max_size=5),
    st.sampled_from(SIMPLEX),
    st.integers(1, 2),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]),
)
def test_reachable_tokens_against_every_injection(
    benign: list[NDArray[np.float64]], closed: NDArray[np.float64], injected: int, eta: float
) -> None:
    total = np.sum(benign, axis=0)
    predicted = reachable(total, closed, eta, injected)
    seen = {
        choose(total + np.sum(extra, axis=0), closed, eta)
        for extra in itertools.combinations_with_replacement(SIMPLEX, injected)
    }
    if predicted is not None:
        assert seen <= set(predicted)  # sound: nothing else can be reached
        gaps = np.sort(total)[::-1]
        assume(gaps[0] - gaps[1] not in (eta + injected,))
        assert seen == set(predicted)  # and tight, but for a tie at the very edge


def test_a_local_model_behind_it(tmp_path: Path) -> None:
    llm = TransformersLLM(str(make_tiny_llama(tmp_path)), precision="float32")
    reader = RobustDecodingReader(llm, max_tokens=4)
    documents = request("the capital is paris .", "paris is the capital .")
    first = reader.read(documents)
    assert reader.read(documents) == first
    assert llm.counters.calls == 3  # the second reading ran no prompt again
    alone = RobustDecodingReader(llm, max_tokens=4, eta=5.0).read(documents).text
    closed = [Message("system", "Answer the question in a few words."), Message("user", "Question: capital?")]
    assert llm.complete(closed, max_tokens=4).text.startswith(alone[:1])


def test_a_model_behind_http_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a local model"):
        RobustDecodingReader(ScriptedLLM())
    with pytest.raises(ConfigError, match="must be positive"):
        RobustDecodingReader(Speller(), eta=-1.0)
