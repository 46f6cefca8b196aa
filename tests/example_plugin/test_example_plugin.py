"""The example package, really installed by pip, works through every registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.errors import ConfigError, LLMError
from core.llm import LLM, Message
from core.pipeline import Pipeline
from core.reader import Reader, ReadRequest
from core.records import Candidate, Document, DocumentKey, Query
from core.stage import DocumentStage, Resources, StageInput


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package in a folder of its own, in front of the import path while this module runs."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(
        Path(__file__).parent, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "test_*")
    )
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*pip, "--target", str(site), str(folder / "source")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(site))
    yield site
    sys.path.remove(str(site))
    for name in [name for name in sys.modules if name.split(".")[0] == "scr_example"]:
        del sys.modules[name]


def test_attack() -> None:
    from sim.attacks import ATTACKS
    from sim.attacks.base import Attack, AttackOptions
    from sim.corpora.records import Poison, Question

    assert "chorus" in ATTACKS
    factory = ATTACKS.get("chorus")
    assert factory.kind == "inject"
    assert factory.reads <= set(AttackOptions.model_fields)
    attack = factory(None)
    assert isinstance(attack, Attack)
    question = Question("q1", "Who built the bridge?", ("Ada",))
    made = attack.payloads(question, Poison("q1", "Bob", ()), np.random.default_rng(0))
    assert made.target_answer == "Bob"
    assert len(set(made.texts)) == 3
    assert all("Bob" in text for text in made.texts)


def test_defense() -> None:
    from aggregator.stages import STAGES

    stage = STAGES.get("shouting")({"max_share": 0.3}, Resources())
    assert isinstance(stage, DocumentStage)
    documents = tuple(
        Candidate(DocumentKey("s", str(i)), t) for i, t in enumerate(["Quiet words.", "LOUD WORDS", "42"])
    )
    result = Pipeline([stage]).run(StageInput(Query("q"), documents))
    assert [d.text for d in result.documents] == ["Quiet words.", "42"]
    assert [v.reason for v in result.trail[0].verdicts] == ["passed", "shouts", "passed"]
    with pytest.raises(
        ConfigError, match=r"defense 'shouting': unknown key 'mx_share'; known keys: max_share"
    ):
        STAGES.get("shouting")({"mx_share": 1}, Resources())


def test_defense_by_name_among_others() -> None:
    from aggregator.config import StageSpec
    from aggregator.reputation import Reputation
    from aggregator.stages import build_stages

    specs = [StageSpec(name="shouting", required=True, options={"max_share": 0.1})]
    built = build_stages(specs, Resources(), Reputation())
    (place,) = built.pipeline.stages
    assert (place.stage.name, place.required) == ("shouting", True)


def test_retriever_in_a_node() -> None:
    from source_node import SourceNode

    documents = [
        Document("b", "It spans the strait.", "The bridge of Velmora"),
        Document("a", "Built of stone.", "A stone bridge"),
        Document("c", "Nothing here.", "Bees"),
    ]
    node = SourceNode("s", documents, None, None, retriever="titles")
    reply = node.retrieve(Query("Who built the bridge of Velmora?"), 5)
    assert [d.doc_id for d in reply.documents] == ["b", "a"]
    with pytest.raises(ConfigError, match="unknown key"):
        SourceNode("s", documents, None, None, retriever="titles", retriever_options={"maximum": 1})


def test_embedder() -> None:
    from core.embedding import open_embedder
    from core.embedding.base import Embedder

    embedder = open_embedder("letters")
    assert isinstance(embedder.inner, Embedder)
    vectors = embedder.embed(["abba", "ABBA", "", "xyz"])
    assert vectors.shape == (4, 26)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[0] @ vectors[1] == pytest.approx(1)
    assert vectors[0] @ vectors[3] == 0


def test_llm() -> None:
    from aggregator.llm import LLMS, open_llm

    assert "parrot" in LLMS
    llm = open_llm("parrot:Polly")
    assert isinstance(llm, LLM)
    assert llm.name == "parrot:Polly"
    assert llm.complete([Message("user", "One. Two words here.")]).text == "Polly: Two words here."
    with pytest.raises(LLMError, match="heard nothing"):
        llm.complete([])


def test_reader_with_the_llm_that_its_spec_names() -> None:
    from aggregator.readers import READERS, open_reader

    assert "first-sentence" in READERS
    reader = open_reader("first-sentence:parrot:Polly")
    assert isinstance(reader, Reader)
    document = Candidate(DocumentKey("s", "d"), "Ada built it. Bob watched.")
    reading = reader.read(ReadRequest("Who built it?", (document,)))
    assert (reading.text, reading.cited) == ("Polly: Ada built it.", ("s/d",))
    assert reader.read(ReadRequest("Who?", ())).abstained


def test_all_at_once_from_sources_to_answer() -> None:
    from aggregator import Aggregator
    from aggregator.config import StageSpec
    from aggregator.fan_out import Gathered
    from aggregator.readers import open_reader
    from aggregator.reputation import Reputation
    from aggregator.stages import build_stages
    from core.embedding import open_embedder
    from source_node import SourceNode

    question = Query("Who built the bridge?")
    nodes = [
        SourceNode("good", [Document("1", "Ada built the bridge.", "The bridge")], retriever="titles"),
        SourceNode("loud", [Document("1", "BOB BUILT THE BRIDGE!", "The bridge")], retriever="titles"),
    ]
    gathered = Gathered(tuple(node.retrieve(question, 3) for node in nodes), (), 0.0)
    stages = build_stages([StageSpec(name="shouting")], Resources(), Reputation())
    reader = open_reader("first-sentence:parrot")
    aggregator = Aggregator(None, stages.pipeline, reader, Reputation(), open_embedder("letters"))
    answer = aggregator.ask(question.text, gathered=gathered)
    assert answer.text == "Ada built the bridge."
    assert {d.key.source_id: d.reason for d in answer.documents} == {"good": "passed", "loud": "shouts"}
    assert answer.reliability_after["loud"] < answer.reliability_after["good"]


def test_the_command_line_names_them(installed: Path) -> None:
    code = "from sim.attacks import ATTACKS; ATTACKS.get('chrus')"
    run = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(installed)}, capture_output=True, text=True
    )
    assert "did you mean 'chorus'?" in run.stderr
