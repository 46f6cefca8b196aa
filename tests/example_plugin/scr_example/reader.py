"""A reader: the first sentence of the first document, put into words by a language model."""

from __future__ import annotations

from core.llm import LLM, Message
from core.reader import Reading, ReadRequest
from core.text import sentences


class FirstSentenceReader:
    """Given a back end by the name of its parameter `llm`; `first-sentence:SPEC` chooses which."""

    name = "first-sentence"
    simulated = False
    forced_choice = False

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def read(self, request: ReadRequest) -> Reading:
        if not request.documents:
            return Reading("", abstained=True)
        top = request.documents[0]
        prompt = [Message("user", request.question), Message("user", sentences(top.text)[0])]
        return Reading(self._llm.complete(prompt).text, llm_calls=1, cited=(str(top.key),))
