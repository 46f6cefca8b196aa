from __future__ import annotations

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.pipeline import check_contract
from core.records import Candidate, DocumentKey, Query
from core.stage import Resources, StageInput
from defenses.ragpart.stage import RagPartStage

RESOURCES = Resources(embedder=HashingEmbedder(128))
QUESTION = "capital city of france"
ON_TOPIC = [
    "paris the capital city of france lies on the seine in france and paris is its capital city today",
    "france has one capital city paris and the city of paris has been capital of france since long ago",
    "the city paris is capital of france while lyon is a city of france that was capital of gaul once",
]
FOREIGN = "ships waited in a quiet harbour while fishermen mended nets under gulls near wooden boats at dusk"
POISON = f"{QUESTION} {FOREIGN}"


def given(*texts: str, seed: int = 0) -> StageInput:
    documents = tuple(Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(texts))
    return StageInput(Query(QUESTION), documents, seed=seed)


def test_a_document_with_one_planted_fragment_is_outvoted() -> None:
    asked = given(POISON, *ON_TOPIC)
    stage = RagPartStage({"keep": 3}, RESOURCES)
    result = stage.run(asked)
    check_contract(stage.name, asked.documents, result)
    assert [d.key.doc_id for d in result.documents] == ["1", "2", "3"]
    assert result.verdicts[0].reason == "outvoted"
    assert result.verdicts[0].credibility == result.verdicts[0].evidence["share"] <= 0.5
    assert all(v.credibility > 0.5 for v in result.verdicts[1:])


def test_as_few_as_are_kept_all_stay() -> None:
    asked = given(POISON, *ON_TOPIC)
    result = RagPartStage({"keep": 9}, RESOURCES).run(asked)
    assert len(result.documents) == 4
    assert all(v.credibility == 1.0 for v in result.verdicts)


def test_no_documents_short_ones_and_long_ones() -> None:
    stage = RagPartStage({"keep": 2, "similarity": "cosine"}, RESOURCES)
    assert stage.run(given()).verdicts == ()
    asked = given("france", "capital city", " ".join(["stone"] * 10_000), *ON_TOPIC)
    result = stage.run(asked)
    check_contract(stage.name, asked.documents, result)
    assert len(result.documents) == 2


def test_the_intersection_is_drawn_by_the_rounds_seed() -> None:
    # Each list has another winner: with fragments of one word each, only one combination holds it.
    texts = ["capital x x x", "x city x x", "x x france x", "x x x capital"]
    stage = RagPartStage({"fragments": 4, "combine": 1, "keep": 1, "aggregation": "intersection"}, RESOURCES)
    draws = [stage.run(given(*texts, seed=s)).documents[0].key.doc_id for s in range(20)]
    assert draws == [stage.run(given(*texts, seed=s)).documents[0].key.doc_id for s in range(20)]
    assert len(set(draws)) > 1


@pytest.mark.parametrize(
    ("config", "resources", "words"),
    [
        ({"fragments": 3, "combine": 4}, RESOURCES, r"combine \(4\) must be at most fragments \(3\)"),
        ({"similarity": "euclid"}, RESOURCES, "similarity"),
        ({"agregation": "majority"}, RESOURCES, "unknown key 'agregation'"),
        ({}, Resources(), "needs an embedder"),
    ],
)
def test_mistakes_are_named(config, resources, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RagPartStage(config, resources)
