"""RobustRAG, decoding aggregation (arXiv 2405.15556): one token at a time, by the sum of isolated odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aggregator.llm.stepping import token_model
from aggregator.readers.generative import question_messages
from core.errors import ConfigError
from core.llm import LLM, Message
from core.reader import Reading, ReadRequest

_DO_NOT_KNOW = "I don't know"
_NOT_FIRST = ("I", "\n", "Please")
CLOSED_BOOK = "Answer the question in a few words."
Prompt = tuple[Message, ...]


@dataclass(frozen=True)
class DecodingCertificate:
    """Whether an answer is certified, why not, and how many answers an attacker can reach."""

    certified: bool
    reason: str
    answers: tuple[str, ...] = ()


class RobustDecodingReader:
    """Isolate, then aggregate while decoding.

    Documents whose own prompt says that it does not know are left out. At each step the next-token
    odds of the isolated prompts are added; if the best token leads by more than eta it is taken, else
    the prompt without documents decides.

    Args:
        llm: a local model (`smollm2`, `transformers:PATH`).
        eta: lead that the best token needs, on the scale of the sum (the paper's times the number of
            documents); 0 for short answers.
        unknown: probability of "I don't know" from which a document is left out.
        max_tokens: longest answer.

    Raises:
        ConfigError: the model shows no next-token odds, or a value is out of range.
    """

    name = "robustrag_decoding"
    simulated = False
    forced_choice = False

    def __init__(self, llm: LLM, *, eta: float = 0.0, unknown: float = 0.99, max_tokens: int = 16) -> None:
        if eta < 0 or not 0 < unknown <= 1 or max_tokens < 1:
            raise ConfigError("robustrag_decoding: eta and max_tokens must be positive, unknown in (0, 1]")
        self._model = token_model(llm, "reader 'robustrag_decoding'")
        self._eta = eta
        self._unknown = unknown
        self._max_tokens = max_tokens

    def read(self, request: ReadRequest) -> Reading:
        """The decoded answer; abstains where no document knows one.

        Raises:
            LLMError: the model failed.
        """
        prompts = self._informed(request)
        calls = len(request.documents) + 1
        if not prompts:
            return Reading("", abstained=True, llm_calls=calls)
        answer: list[int] = []
        while len(answer) < self._max_tokens:
            token = choose(*self._odds(request, prompts, answer), self._eta)
            if token == self._model.end:
                break
            answer.append(token)
        text = self._model.text(answer)
        return Reading(text, abstained=not text, llm_calls=calls)

    def certify(
        self,
        request: ReadRequest,
        injected: int,
        accept: Callable[[str], bool],
        *,
        most_answers: int = 64,
    ) -> DecodingCertificate:
        """Whether `accept` holds for the answer whatever `injected` documents replace the last ones."""
        kept = request.documents[: max(0, len(request.documents) - injected)]
        benign = replace(request, documents=kept)
        prompts = self._informed(benign)
        found: list[str] = []
        branches: list[tuple[list[int], bool]] = [([], False)]  # tokens so far, whether they are complete
        while branches:
            answer, done = branches.pop()
            if done or len(answer) == self._max_tokens:
                found.append(self._model.text(answer))
                if not accept(found[-1]):
                    return DecodingCertificate(False, "answer_can_change", tuple(found))
                continue
            options = reachable(*self._odds(benign, prompts, answer), self._eta, injected)
            if options is None:
                return DecodingCertificate(False, "attacker_chooses_token", tuple(found))
            for token in options:
                over = token == self._model.end
                branches.append((answer if over else [*answer, token], over))
            if len(found) + len(branches) > most_answers:
                return DecodingCertificate(False, "too_many_to_try", tuple(found))
        return DecodingCertificate(True, "certified", tuple(found))

    def _informed(self, request: ReadRequest) -> list[Prompt]:
        """The isolated prompts of the documents that know an answer."""
        prompts: list[Prompt] = [
            tuple(question_messages(replace(request, documents=(document,))))
            for document in request.documents
        ]
        return [p for p in prompts if self._model.probability(p, _DO_NOT_KNOW) < self._unknown]

    def _odds(
        self, request: ReadRequest, prompts: Sequence[Prompt], answer: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Summed odds of the isolated prompts, and the odds without documents; (vocabulary,) each."""
        closed = (Message("system", CLOSED_BOOK), Message("user", f"Question: {request.question}"))
        odds = self._model.next_token([*prompts, closed], answer)
        if not answer:
            for text in _NOT_FIRST:
                if tokens := self._model.tokens(text):
                    odds[:, tokens[0]] = 0.0
        return odds[:-1].sum(0), odds[-1]


def choose(total: NDArray[np.float64], closed: NDArray[np.float64], eta: float) -> int:
    """The best token of the summed odds if it leads by more than `eta`, else the best without documents."""
    best, gap = _lead(total)
    return best if gap > eta else int(closed.argmax())


def reachable(
    total: NDArray[np.float64], closed: NDArray[np.float64], eta: float, injected: int
) -> list[int] | None:
    """Tokens that `choose` can give once `injected` further distributions are added; None for any token.

    Each of them adds at most 1 to one token, so the lead of the best moves by at most `injected`.
    """
    best, gap = _lead(total)
    without = int(closed.argmax())
    if gap > eta + injected:
        return [best]
    if gap <= eta - injected:
        return [without]
    if gap > abs(eta - injected):
        return sorted({best, without})
    return None


def _lead(total: NDArray[np.float64]) -> tuple[int, float]:
    order = np.lexsort((np.arange(len(total)), -total))
    second = float(total[order[1]]) if len(order) > 1 else 0.0
    return int(order[0]), float(total[order[0]]) - second
