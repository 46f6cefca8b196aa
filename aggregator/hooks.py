"""The stages at both ends of a journey: guards of the query, auditors of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aggregator.journey import Journey
from aggregator.stages import Auditor, Guard
from core.errors import RefusedError
from core.stage import Hook

CHECK_FAILED = "A required check could not run, so the question is not answered."
QUERY_REFUSED = "The question was refused by the policy of this aggregator."


def guard(guards: Sequence[Guard], journey: Journey) -> None:
    """Let every guard judge the query; the next one sees what the one before made of it.

    Raises:
        RefusedError: a guard refused the query, or a required one failed.
    """
    with journey.timed("guard"):
        for place in guards:
            try:
                decision = place.stage.run(journey.query)
            except Exception as error:  # a plug-in may raise anything: the trail must show it
                journey.note_failure(place.stage.name, Hook.PRE_RETRIEVAL, error)
                if place.required:
                    raise RefusedError(CHECK_FAILED) from error
                continue
            if decision.refused:
                journey.warnings.append(f"{place.stage.name}: {decision.reason}")
                raise RefusedError(QUERY_REFUSED)
            journey.query = replace(journey.query, text=decision.query.text, extra=decision.query.extra)


def audit(auditors: Sequence[Auditor], journey: Journey) -> None:
    """Let every auditor judge the answer; one that refuses replaces it and ends the journey.

    Raises:
        RefusedError: an auditor refused the answer (its text says so), or a required one failed.
    """
    with journey.timed("audit"):
        for place in auditors:
            try:
                decision = place.stage.run(journey.query, journey.text, journey.read)
            except Exception as error:  # a plug-in may raise anything: the trail must show it
                journey.note_failure(place.stage.name, Hook.POST_GENERATION, error)
                if place.required:
                    raise RefusedError(CHECK_FAILED) from error
                continue
            journey.text = decision.text
            if decision.reason:
                journey.warnings.append(f"{place.stage.name}: {decision.reason}")
            if decision.refused:
                raise RefusedError(decision.text)
