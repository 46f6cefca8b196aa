"""Free generation: a language model answers from the kept documents."""

from __future__ import annotations

from core.llm import LLM, Message
from core.reader import Reading, ReadRequest, as_context

SYSTEM = (
    "Answer the question from the documents. Reply with the answer alone, in a few words. "
    "If the documents do not answer it, reply: I don't know."
)
UNKNOWN = "i don't know"


class GenerativeReader:
    """A reader that lets `llm` write the answer; no documents, no answer.

    Args:
        llm: the back end.
        max_tokens: longest answer.
    """

    simulated = False
    forced_choice = False

    def __init__(self, llm: LLM, max_tokens: int = 64) -> None:
        self.llm = llm
        self.name = llm.name
        self._max_tokens = max_tokens

    def read(self, request: ReadRequest) -> Reading:
        """The model's answer; `abstained` where it says that it does not know.

        Raises:
            LLMError: the model failed.
        """
        if not request.documents:
            return Reading("", abstained=True)
        answer = self.llm.complete(
            question_messages(request), max_tokens=self._max_tokens, seed=request.seed
        ).text
        return Reading(answer, abstained=not answer or is_unknown(answer), llm_calls=1)


def question_messages(request: ReadRequest) -> list[Message]:
    """The prompt for `request`: the instruction first and alone, so that it is computed once."""
    context = as_context(request.documents)
    return [
        Message("system", SYSTEM),
        Message("user", f"Documents:\n{context}\n\nQuestion: {request.question}"),
    ]


def is_unknown(answer: str) -> bool:
    """Whether `answer` says that the model does not know."""
    return answer.replace("’", "'").strip().lower().startswith(UNKNOWN)
