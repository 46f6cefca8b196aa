"""Documents that the question quotes are withheld; questions about documents are not affected."""

from __future__ import annotations

from core.pipeline import check_contract
from core.records import Candidate, DocumentKey, Query
from core.stage import StageInput
from core.verdict import Action
from defenses.quotation_guard import QuotationGuardStage

TARGET = (
    "A fifty year old woman presented with fever and a dry cough that had lasted for three weeks. "
    "Chest radiographs showed bilateral infiltrates and she was treated with intravenous steroids."
)
OTHER = "Influenza vaccination is recommended every autumn for adults who are older than sixty five years."


def run(question: str):
    stage = QuotationGuardStage()
    documents = tuple(
        Candidate(DocumentKey("s", name), text) for name, text in (("target", TARGET), ("other", OTHER))
    )
    given = StageInput(Query(question), documents)
    result = stage.run(given)
    check_contract(stage.name, documents, result)
    return {v.key.doc_id: v.action for v in result.verdicts}


def test_masked_copy_withholds_its_document_only() -> None:
    probe = "Fill the masks: " + TARGET.replace("fever", "[Mask_1]").replace("steroids", "[Mask_2]")
    assert run(probe) == {"target": Action.DROP, "other": Action.KEEP}


def test_half_a_document_is_a_quotation_too() -> None:
    half = TARGET.split(". ")[0]
    assert run(f"Is this in your data: {half}?")["target"] is Action.DROP


def test_ordinary_questions_see_everything() -> None:
    assert set(run("who is recommended influenza vaccination every autumn").values()) == {Action.KEEP}
    assert set(run("cough?").values()) == {Action.KEEP}


def test_a_planted_text_that_starts_with_the_question_is_no_quotation() -> None:
    question = "who wrote the theme song for mission impossible"
    documents = (Candidate(DocumentKey("s", "planted"), f"{question}? It was Bob."),)
    result = QuotationGuardStage().run(StageInput(Query(question), documents))
    assert result.verdicts[0].action is Action.KEEP
