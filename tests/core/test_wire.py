"""Records survive the wire unchanged; what breaks a bound is refused on either side."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from core import wire
from core.errors import WireError
from core.pipeline import StageRecord
from core.records import (
    Candidate,
    DocumentKey,
    NodeDescription,
    PrivacyRequest,
    Query,
    RetrievedDocument,
    SourceFailure,
    SourceReply,
)
from core.stage import Hook
from core.verdict import Action, Verdict
from protos import aggregator_pb2, source_node_pb2, types_pb2

plain = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)
loose = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
unit = st.floats(0.0, 1.0)
keys = st.builds(DocumentKey, plain, plain)


@st.composite
def replies(draw: st.DrawFn) -> SourceReply:
    source = draw(plain)
    ids = draw(st.lists(plain, max_size=6, unique=True))
    return SourceReply(
        source,
        tuple(
            RetrievedDocument(
                source,
                doc_id,
                draw(plain),
                draw(loose),
                draw(st.none() | plain),
                draw(st.floats(-1e6, 1e6, width=32)),
                rank,
            )
            for rank, doc_id in enumerate(ids, start=1)
        ),
    )


@given(plain, st.integers(1, 100), st.none() | st.builds(PrivacyRequest, plain, st.floats(1e-6, 1e6)), loose)
def test_a_request_comes_back_as_it_was(
    text: str, top_k: int, privacy: PrivacyRequest | None, request_id: str
) -> None:
    message = wire.to_retrieve_request(Query(text, request_id), top_k, privacy)
    read = source_node_pb2.RetrieveRequest.FromString(message.SerializeToString())
    assert wire.from_retrieve_request(read) == (Query(text, request_id), top_k, privacy)


def test_nothing_of_a_query_leaves_but_its_text_and_request_id() -> None:
    query = Query("who?", "r1", user_id="alice", round=7, extra={"secret": "x"})
    sent = wire.to_retrieve_request(query, 3).SerializeToString()
    assert b"alice" not in sent
    assert b"secret" not in sent


@given(replies(), loose)
def test_a_reply_comes_back_as_it_was(reply: SourceReply, request_id: str) -> None:
    sent = wire.to_retrieve_reply(reply, request_id).SerializeToString()
    read = source_node_pb2.RetrieveReply.FromString(sent)
    assert wire.from_retrieve_reply(read, reply.source_id, request_id=request_id) == reply


def test_a_claimed_rank_is_not_believed() -> None:
    message = source_node_pb2.RetrieveReply(
        source_id="s",
        documents=[types_pb2.Document(doc_id=str(i), text="t", rank=1, score=i) for i in range(3)],
    )
    assert [d.rank for d in wire.from_retrieve_reply(message, "s").documents] == [1, 2, 3]


def test_a_reply_of_another_source_is_a_question_of_identity() -> None:
    message = wire.to_retrieve_reply(SourceReply("mallory", ()))
    with pytest.raises(WireError, match="answers as source 'mallory', not 's'") as caught:
        wire.from_retrieve_reply(message, "s")
    assert caught.value.kind == "identity"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"doc_id": "", "text": "t"}, "doc_id is empty"),
        ({"doc_id": "d", "text": ""}, "text of 'd' is empty"),
        ({"doc_id": "d", "text": " \n"}, "text of 'd' is empty"),
        ({"doc_id": "d", "text": "x" * 1_000_000}, "1000000 bytes, more than 262144"),
        ({"doc_id": "d", "text": "t", "score": math.nan}, "not a finite number"),
        ({"doc_id": "d", "text": "t", "score": -math.inf}, "not a finite number"),
        ({"doc_id": "d" * 300, "text": "t"}, "300 bytes, more than 256"),
    ],
)
def test_a_reply_out_of_bounds_is_malformed(document: dict[str, object], problem: str) -> None:
    message = source_node_pb2.RetrieveReply(source_id="s", documents=[types_pb2.Document(**document)])
    with pytest.raises(WireError, match=problem) as caught:
        wire.from_retrieve_reply(message, "s")
    assert caught.value.kind == "malformed"


def test_a_reply_to_another_request_or_with_too_much_is_malformed() -> None:
    documents = tuple(RetrievedDocument("s", str(i), "t") for i in range(3))
    message = wire.to_retrieve_reply(SourceReply("s", documents), "r1")
    assert len(wire.from_retrieve_reply(message, "s", request_id="r1", top_k=3).documents) == 3
    with pytest.raises(WireError, match="answers request 'r1', not 'r2'"):
        wire.from_retrieve_reply(message, "s", request_id="r2")
    with pytest.raises(WireError, match="3 documents where 2 were asked for"):
        wire.from_retrieve_reply(message, "s", top_k=2)
    message.documents[1].doc_id = "0"
    with pytest.raises(WireError, match="several documents"):
        wire.from_retrieve_reply(message, "s")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (SourceReply("", ()), "source_id is empty"),
        (SourceReply("s", (RetrievedDocument("s", "d", "a\ud800"),)), "lone surrogate"),
        (SourceReply("s", (RetrievedDocument("s", "d", "t", score=math.nan),)), "finite"),
        (
            SourceReply("s", tuple(RetrievedDocument("s", str(i), "t") for i in range(101))),
            "101 documents, more than 100",
        ),
        (
            SourceReply("s", tuple(RetrievedDocument("s", str(i), "x" * 250_000) for i in range(20))),
            "bytes, more than 4194304",
        ),
    ],
)
def test_a_reply_out_of_bounds_does_not_leave(reply: SourceReply, problem: str) -> None:
    with pytest.raises(WireError, match=problem):
        wire.to_retrieve_reply(reply)


@pytest.mark.parametrize(
    ("query", "top_k", "privacy", "problem"),
    [
        (Query(" "), 5, None, "query is empty"),
        (Query("q" * 8_193), 5, None, "8193 bytes, more than 8192"),
        (Query("q"), 0, None, "top_k is 0"),
        (Query("q"), 101, None, "top_k is 101"),
        (Query("q", "r" * 257), 5, None, "request_id has 257 bytes"),
        (Query("q"), 5, PrivacyRequest("", 1.0), "privacy mechanism is empty"),
        (Query("q"), 5, PrivacyRequest("laplace", 0.0), "must be above 0"),
        (Query("q"), 5, PrivacyRequest("laplace", math.nan), "must be above 0"),
        (Query("q"), 5, PrivacyRequest("laplace", math.inf), "not a finite number"),
    ],
)
def test_a_request_out_of_bounds_is_refused_on_both_sides(
    query: Query, top_k: int, privacy: PrivacyRequest | None, problem: str
) -> None:
    with pytest.raises(WireError, match=problem):
        wire.to_retrieve_request(query, top_k, privacy)
    message = source_node_pb2.RetrieveRequest(query=query.text, top_k=top_k, request_id=query.request_id)
    if privacy is not None:
        message.privacy.mechanism, message.privacy.epsilon = privacy.mechanism, privacy.epsilon
    with pytest.raises(WireError, match=problem):
        wire.from_retrieve_request(message)


def test_a_description_comes_back_and_its_version_is_checked() -> None:
    node = NodeDescription("s", 5, "dense", "hashing/64/v1", 20, ("laplace",))
    message = wire.to_describe_reply(node)
    assert wire.from_describe_reply(message, "s") == node
    with pytest.raises(WireError, match="not 't'") as caught:
        wire.from_describe_reply(message, "t")
    assert caught.value.kind == "identity"
    message.wire_version = 2
    with pytest.raises(WireError, match="speaks wire version 2, not 1"):
        wire.from_describe_reply(message, "s")


@given(
    st.builds(
        Verdict,
        keys,
        st.sampled_from(Action),
        st.none() | unit,
        loose,
        st.dictionaries(plain, unit, max_size=5),
    )
)
def test_a_verdict_comes_back_as_it_was(verdict: Verdict) -> None:
    read = types_pb2.Verdict.FromString(wire.to_verdict(verdict).SerializeToString())
    assert wire.from_verdict(read) == verdict


def test_no_credibility_is_not_credibility_zero() -> None:
    verdict = Verdict(DocumentKey("s", "d"), Action.KEEP)
    assert wire.from_verdict(wire.to_verdict(verdict)).credibility is None
    assert wire.from_verdict(wire.to_verdict(replace(verdict, credibility=0.0))).credibility == 0.0


def test_a_verdict_out_of_bounds_is_refused() -> None:
    verdict = Verdict(DocumentKey("s", "d"), Action.KEEP, 0.5)
    for bad in (replace(verdict, credibility=math.nan), replace(verdict, credibility=1.01)):
        with pytest.raises(WireError, match="credibility"):
            wire.to_verdict(bad)
    with pytest.raises(WireError, match="65 evidence numbers"):
        wire.to_verdict(replace(verdict, evidence={str(i): 0.0 for i in range(65)}))
    message = wire.to_verdict(verdict)
    message.action = "explode"
    with pytest.raises(WireError, match="unknown action"):
        wire.from_verdict(message)


def test_a_stage_record_comes_back_without_its_notes() -> None:
    record = StageRecord(
        "scr",
        Hook.POST_RETRIEVAL,
        (Verdict(DocumentKey("s", "d"), Action.DROP, 0.1, "low"),),
        1.5,
        "boom",
        {"x": 1},
    )
    assert wire.from_stage_trail(wire.to_stage_trail(record)) == replace(record, notes={})
    assert wire.from_stage_trail(wire.to_stage_trail(replace(record, error=None))).error is None


def test_a_failure_comes_back_and_a_long_detail_is_cut() -> None:
    failure = SourceFailure("s", "deadline", "é" * 2_000)
    read = wire.from_failure(wire.to_failure(failure))
    assert read == replace(failure, detail="é" * 1_024)


def test_a_verified_document_leaves_unset_what_is_not_known() -> None:
    candidate = Candidate(DocumentKey("s", "d"), "t", holders=(DocumentKey("s", "d"), DocumentKey("s2", "e")))
    message = wire.to_verified_document(candidate, kept=True, credibility=None)
    assert not message.HasField("credibility")
    assert not message.HasField("similarity")
    assert [wire.from_key(holder) for holder in message.holders] == list(candidate.holders)
    scored = wire.to_verified_document(replace(candidate, similarity=-0.5), kept=False, credibility=0.25)
    assert (scored.kept, scored.credibility, scored.similarity) == (False, 0.25, -0.5)


def test_questions_to_an_aggregator() -> None:
    message = wire.to_ask_request("who?", 3, "alice")
    assert wire.from_ask_request(message, 5) == (Query("who?", user_id="alice"), 3)
    assert wire.from_ask_request(aggregator_pb2.AskRequest(question="who?"), 5) == (Query("who?"), 5)
    with pytest.raises(WireError, match="question is empty"):
        wire.from_ask_request(aggregator_pb2.AskRequest(), 5)


def test_documents_to_verify_are_ranked_within_their_source() -> None:
    documents = [RetrievedDocument(s, d, "t") for s, d in (("a", "1"), ("b", "1"), ("a", "2"))]
    message = wire.to_verify_request("who?", documents)
    query, read = wire.from_verify_request(message)
    assert query == Query("who?")
    assert [(d.source_id, d.doc_id, d.rank) for d in read] == [("a", "1", 1), ("b", "1", 1), ("a", "2", 2)]
    with pytest.raises(WireError, match="no documents"):
        wire.to_verify_request("who?", [])
    message.documents[0].source_id = ""
    with pytest.raises(WireError, match="source_id is empty"):
        wire.from_verify_request(message)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read_within_bounds(data: bytes) -> None:
    try:
        reply = wire.from_retrieve_reply(source_node_pb2.RetrieveReply.FromString(data), "s")
    except (WireError, DecodeError):
        return
    assert all(d.text.strip() and math.isfinite(d.score) for d in reply.documents)
