"""RobustRAG, keyword aggregation (arXiv 2405.15556): answer from each document alone, keep what many say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from aggregator.readers.generative import UNKNOWN, is_unknown, question_messages
from core.errors import ConfigError
from core.llm import LLM, Message
from core.reader import Reading, ReadRequest
from core.text import normalise_answer, stop_words, words

HINTS = (
    "Answer the question in a few words. The hints are words on which several independent sources agree; "
    "use them where they help."
)
_MOST_OPTIONAL = 14


class RobustRagReader:
    """Isolate, then aggregate by keywords.

    Each document is answered from alone; a keyword counts one vote per response. Those with at least
    min(beta, alpha·n) votes among n responses become hints for a last call that sees no document, so
    that a minority of documents cannot speak to it. Keywords are runs of words without stop words and
    their single words, beside the whole response (spaCy's parts of speech in the paper: no model of it
    is on the package index, so this is our stand-in).

    Args:
        llm: the back end.
        alpha, beta: vote threshold (the paper's values for short answers).
        max_tokens: longest response.
    """

    name = "robustrag"
    simulated = False
    forced_choice = False

    def __init__(self, llm: LLM, *, alpha: float = 0.3, beta: float = 3.0, max_tokens: int = 32) -> None:
        if not (0 < alpha < 1 and beta > 0):
            raise ConfigError("robustrag: alpha must lie between 0 and 1, beta above 0")
        self.llm = llm
        self.alpha = alpha
        self.beta = beta
        self._max_tokens = max_tokens

    def read(self, request: ReadRequest) -> Reading:
        """The answer from the hints; abstains where no response knows an answer.

        Raises:
            LLMError: the model failed.
        """
        responses = self.responses(request)
        known = [response for response in responses if response is not None]
        if not known:
            return Reading("", abstained=True, llm_calls=len(responses))
        votes = count_votes(known)
        mu = threshold(len(known), self.alpha, self.beta)
        answer = self.answer(request, [word for word, n in votes.items() if n >= mu])
        return Reading(answer, abstained=not answer or is_unknown(answer), llm_calls=len(responses) + 1)

    def certify(
        self, request: ReadRequest, injected: int, accept: Callable[[str], bool]
    ) -> KeywordCertificate:
        """Whether `accept` holds for the answer whatever `injected` documents replace the last ones."""
        responses = self.responses(request)
        return certify_keywords(
            responses[: max(0, len(responses) - injected)],
            injected,
            lambda hints: accept(self.answer(request, hints)),
            alpha=self.alpha,
            beta=self.beta,
        )

    def responses(self, request: ReadRequest) -> list[str | None]:
        """The model's response to each document alone; None where it does not know."""
        found = []
        for document in request.documents:
            alone = question_messages(replace(request, documents=(document,)))
            text = self.llm.complete(alone, max_tokens=self._max_tokens, seed=request.seed).text
            found.append(None if not text or UNKNOWN[:7] in text.lower().replace("’", "'") else text)
        return found

    def answer(self, request: ReadRequest, hints: Iterable[str]) -> str:
        """The model's answer to the question from hints alone."""
        shown = ", ".join(hint_order(hints))
        content = f"Hints: {shown}\n\nQuestion: {request.question}"
        return self.llm.complete(
            [Message("system", HINTS), Message("user", content)],
            max_tokens=self._max_tokens,
            seed=request.seed,
        ).text


@dataclass(frozen=True)
class KeywordCertificate:
    """Whether an answer is certified, why not, and how many sets of hints were tried."""

    certified: bool
    reason: str
    tried: int


def keywords(response: str) -> frozenset[str]:
    """What a response votes for: runs of words without stop words, their words, and the whole response."""
    found: set[str] = set()
    run: list[str] = []
    for word in [*words(response), ""]:
        if word and word not in stop_words():
            run.append(word)
            continue
        found.update(run)
        if len(run) > 1:
            found.add(" ".join(run))
        run = []
    whole = normalise_answer(response)
    return frozenset(found | ({whole} - stop_words())) - {""}


def count_votes(responses: Iterable[str]) -> Counter[str]:
    """Votes of each keyword; a response votes once for each of its own."""
    return Counter(word for response in responses for word in keywords(response))


def threshold(responses: int, alpha: float, beta: float) -> float:
    """Votes that a keyword needs among so many responses."""
    return min(beta, alpha * responses)


def hint_order(hints: Iterable[str]) -> list[str]:
    """Longest first, then by text, both descending: the same set always makes the same prompt."""
    return sorted(hints, key=lambda hint: (len(hint), hint), reverse=True)


def certify_keywords(
    responses: Sequence[str | None],
    injected: int,
    accept: Callable[[frozenset[str]], bool],
    *,
    alpha: float,
    beta: float,
    most_optional: int = _MOST_OPTIONAL,
) -> KeywordCertificate:
    """Whether `accept` holds for every set of hints that `injected` further responses can bring about.

    With n benign responses that know an answer, mu = min(beta, alpha·(n + injected)). Keywords with
    mu votes are hints whatever is injected; those with mu - injected or more may become hints; others
    never can unless mu ≤ injected, when nothing is certified. All sets in between are tried.

    Args:
        responses: of the documents that stay; None where one does not know.
        injected: how many responses an attacker adds.
        accept: whether the answer from a set of hints is right.
        most_optional: with more undecided keywords the search is given up.
    """
    known = [response for response in responses if response is not None]
    mu = threshold(len(known) + injected, alpha, beta)
    if mu <= injected:
        return KeywordCertificate(False, "attacker_reaches_threshold", 0)
    votes = count_votes(known)
    base = frozenset(word for word, n in votes.items() if n >= mu)
    optional = sorted(word for word, n in votes.items() if mu - injected <= n < mu)
    if len(optional) > most_optional:
        return KeywordCertificate(False, "too_many_to_try", 0)
    tried = 0
    for size in range(len(optional) + 1):
        for chosen in combinations(optional, size):
            tried += 1
            if not accept(base | frozenset(chosen)):
                return KeywordCertificate(False, "answer_can_change", tried)
    return KeywordCertificate(True, "certified", tried)
