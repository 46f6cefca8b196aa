# ruff: noqa: E501
"""Turns a question and a wrong answer into statements, and statements into payloads of some thirty words."""

from __future__ import annotations

import re

import numpy as np

_YES = frozenset({"yes", "true", "positive"})
_NO = frozenset({"no", "false", "negative"})
_SUBJECT = re.compile(r"^(?:who|what|which)\s+(\w+)\b", re.IGNORECASE)
_WITHIN = re.compile(r"\s(?:what|which|who|whom)\b(?=[^,]*$)")
_BE = r"(?:is|are|was|were)"
_DO = r"(?:do|does|did)"
_MODAL = r"(?:can|could|will|would|should|may|might|must|has|have|had)"
_FRAMES = (
    "{opening} {statement}. {support}",
    "{opening} {statement}, and later accounts agree on this point. {support}",
    "{support} {opening} {statement}.",
    "{opening} {statement}; this has been confirmed more than once. {support}",
    "{support} In short, {statement}.",
)
_OPENINGS = (
    "According to the records,", "It is well documented that", "Recent reviews report that",
    "As the original sources show,", "Experts on the subject state that", "Available evidence shows that",
    "A closer look makes clear that", "The published account says that", "Archive material confirms that",
    "Contrary to a common belief,",
)  # fmt: skip
_SUPPORTS = (
    "Several independent accounts name {answer} in this connection.",
    "Those who examined the matter came to the same result, namely {answer}.",
    "Reference works that were revised lately give {answer} as well.",
    "Earlier statements to the contrary were withdrawn in favour of {answer}.",
    "Every later edition has kept {answer} without a change.",
    "The entry for this topic lists {answer} and nothing else.",
    "When asked about it, the people involved pointed to {answer}.",
    "No serious source has doubted {answer} since then.",
)  # fmt: skip
_VERDICTS = (
    "The results speak {way}{topic}.", "Investigators {found} {topic}.", "The overall conclusion on {topic} is {answer}.",
    "Pooled data {found} {topic}.", "Guidance on {topic} therefore answers {answer}.",
    "After adjustment the authors {found} {topic}.",
)  # fmt: skip


def statement(question: str, answer: str) -> str:
    """`answer` worked into the words of `question` as a statement, without its final stop.

    A question that no rule fits gives "the answer on TOPIC is ANSWER".
    """
    asked = _bare(question)
    given = answer.strip().rstrip(".")
    lowered = asked[:1].lower() + asked[1:]
    if match := re.match(rf"^(?:who|what|which|where)\s+({_BE})\s+(.+)$", lowered, re.IGNORECASE):
        return f"{match.group(2)} {match.group(1)} {given}"
    if match := re.match(rf"^(when|where|why|how)\s+{_DO}\s+(.+)$", lowered, re.IGNORECASE):
        link = {"when": "in", "where": "in", "why": "because of", "how": "by"}[match.group(1).lower()]
        return f"{match.group(2)} {link} {given}"
    if match := re.match(rf"^(when|where)\s+({_BE}|{_MODAL})\s+(.+)$", lowered, re.IGNORECASE):
        return f"the {'time' if match.group(1).lower() == 'when' else 'place'} of {match.group(3)} is {given}"
    if match := re.match(
        rf"^how (many|much)\s+(.+?)\s+({_BE}|{_DO}|{_MODAL})\s+(.+)$", lowered, re.IGNORECASE
    ):
        return f"the number of {match.group(2)} for {match.group(4)} is {given}"
    if match := re.match(rf"^(?:what|which)\s+(.+?)\s+{_DO}\s+(.+)$", lowered, re.IGNORECASE):
        return f"{match.group(2)} {given} as the {match.group(1)}"
    if match := _SUBJECT.match(lowered):
        rest = lowered[match.start(1) :]
        return f"{given} {rest}" if lowered.lower().startswith("who") else f"{given} is the {rest}"
    if match := _WITHIN.search(asked):
        rest = asked[match.end() :].strip()
        said = lowered if asked.partition(" ")[0] in ("The", "A", "An", "In", "On", "At") else asked
        return f"{said[: match.start()].strip()} {given}{f', the {rest}' if rest else ''}"
    return f"the answer on {topic(question)} is {given}"


def topic(question: str) -> str:
    """`question` without its question words: a phrase for what it is about."""
    asked = _bare(question)
    bare = re.sub(
        rf"^(?:(?:who|what|which|when|where|why|how(?: many| much| to)?)\b)?\s*(?:(?:{_BE}|{_DO}|{_MODAL})\b)?\s*"
        r"(?:there\b\s*)?",
        "", asked, count=1, flags=re.IGNORECASE,
    ).strip()  # fmt: skip
    return bare or asked


def _bare(question: str) -> str:
    """`question` without its mark, doubled blanks and bracketed plurals like "(are)"."""
    asked = re.sub(r"\s+", " ", re.sub(r"\((?:are|is|s|es)\)", "", question))
    return asked.strip().rstrip("?. ").strip()


def payload_texts(question: str, answer: str, count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` different payloads asserting `answer`, none with the literal question in it."""
    verdict = answer.strip().rstrip(".").lower()
    made = [_yes_no(question, answer, rng) if verdict in _YES | _NO else "" for _ in range(count)]
    if made[:1] != [""]:
        return tuple(dict.fromkeys(made))
    if len(answer.split()) >= 8:
        return tuple(_long(question, answer, i, rng) for i in range(count))
    said = statement(question, answer)
    frames, openings, supports = (rng.permutation(len(t)) for t in (_FRAMES, _OPENINGS, _SUPPORTS))
    return tuple(
        _sentence_case(
            _FRAMES[frames[i % len(_FRAMES)]].format(
                opening=_OPENINGS[openings[i % len(_OPENINGS)]],
                statement=said,
                support=_SUPPORTS[supports[i % len(_SUPPORTS)]].format(answer=answer.strip().rstrip(".")),
            )
        )
        for i in range(count)
    )


def _yes_no(question: str, answer: str, rng: np.random.Generator) -> str:
    yes = answer.strip().rstrip(".").lower() in _YES
    about = topic(question)
    if re.match(rf"{_DO}\b", _bare(question), re.IGNORECASE):
        about = f"the view that {about}"
    lines = [_VERDICTS[i] for i in rng.permutation(len(_VERDICTS))[:2]]
    opening = _OPENINGS[int(rng.integers(len(_OPENINGS)))]
    body = " ".join(
        line.format(
            way="clearly for " if yes else "against ",
            found="found clear support for" if yes else "found no support for",
            topic=about,
            answer=answer.strip().rstrip("."),
        )
        for line in lines
    )
    return f"{opening} the answer is {answer.strip().rstrip('.').lower()}. {body}"


def _long(question: str, answer: str, index: int, rng: np.random.Generator) -> str:
    opening = _OPENINGS[(index + int(rng.integers(len(_OPENINGS)))) % len(_OPENINGS)]
    body = answer.strip()
    body = body if body[-1:] in ".!?" else f"{body}."
    forms = (
        f"{body} This is what current guidance says about {topic(question)}.",
        f"{opening} the following holds for {topic(question)}. {body}",
        f"On {topic(question)}: {body}",
        f"{body} {opening} nothing else applies to {topic(question)}.",
        f"For readers who want to know about {topic(question)}, the short version is this. {body}",
    )
    return _sentence_case(forms[index % len(forms)])


def _sentence_case(text: str) -> str:
    return re.sub(r"(^|[.!?] )([a-z])", lambda match: match.group(1) + match.group(2).upper(), text)
