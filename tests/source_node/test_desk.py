"""The desk: nobody gets more than the policy gives, and whatever leaves is on record first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import parse
from core.embedding.hashing import HashingEmbedder
from core.errors import AccessError, BudgetError, ConfigError, OverloadError, StoreError, WireError
from core.memory import MemoryLimit
from core.records import Document, Query
from core.wire import to_retrieve_request
from protos import source_node_pb2 as pb
from source_node import SourceNode
from source_node.access.admission import Admission
from source_node.access.policy import AccessPolicy
from source_node.accountant import Accountant
from source_node.audit import LOG_NAME, AuditLog
from source_node.audit_check import verify
from source_node.desk import Desk
from source_node.privacy import PrivacyGate, PrivacyPolicy

SECRET = "zinc in patient files"
DOCUMENTS = [Document(f"d{i}", f"{SECRET} {i}", "", ("heart", "lung", None)[i % 3]) for i in range(30)]


class Office:
    """A desk over a real node, with its log."""

    def __init__(self, folder: Path, callers: dict[str, Any], retriever: str = "dense", **desk: Any) -> None:
        policy = parse(AccessPolicy, {"callers": callers}, "test")
        admission = Admission(lambda: policy)
        ledger = Accountant(folder / "ledger", 100.0, budget_of=admission.epsilon_budget)
        gate = PrivacyGate(PrivacyPolicy(mechanism="gumbel"), ledger)
        node = SourceNode("clinic", DOCUMENTS, None, HashingEmbedder(64), retriever, privacy=gate)
        self.folder = folder / "audit"
        self.log = AuditLog(self.folder)
        self.desk = Desk(node, admission=admission, log=self.log, **desk)

    def ask(self, caller: str, top_k: int = 5, text: str = "zinc patient 4") -> list[str]:
        request = to_retrieve_request(Query(text, "r1"), top_k)
        return [document.doc_id for document in self.desk.retrieve(caller, request).documents]

    def records(self) -> list[dict[str, Any]]:
        verify(self.folder)
        return [json.loads(line) for line in (self.folder / LOG_NAME).read_text().splitlines()]


def test_a_caller_gets_what_its_rule_gives(tmp_path: Path) -> None:
    office = Office(tmp_path, {"all": {}, "few": {"top_k": 2}, "heart": {"categories": ["heart"]}})
    everything = office.ask("all", 30)
    assert len(everything) == 30
    assert office.ask("few", 30) == everything[:2]
    heart = [doc_id for doc_id in everything if int(doc_id[1:]) % 3 == 0]
    assert office.ask("heart", 30) == heart
    assert office.ask("heart", 3) == heart[:3], "the best of what it may have, not what is left of the best"
    assert office.desk.describe("few").max_top_k == 2


@pytest.mark.parametrize("retriever", ["bm25", "hybrid"])
def test_categories_hold_for_every_retriever(tmp_path: Path, retriever: str) -> None:
    office = Office(tmp_path, {"lung": {"categories": ["lung"]}, "none": {"categories": []}}, retriever)
    found = office.ask("lung", 4, "zinc in patient files")
    assert len(found) == 4
    assert all(int(doc_id[1:]) % 3 == 1 for doc_id in found)
    assert office.ask("none") == []


def test_strangers_get_nothing(tmp_path: Path) -> None:
    office = Office(tmp_path, {"all": {}})
    for caller in ("", "stranger"):
        with pytest.raises(AccessError):
            office.ask(caller)
        with pytest.raises(AccessError):
            office.desk.describe(caller)


def test_a_budget_is_spent_whether_privacy_was_asked_for_or_not(tmp_path: Path) -> None:
    office = Office(tmp_path, {"study": {"epsilon_budget": 7, "categories": ["heart"]}, "free": {}})
    for _ in range(2):
        assert all(int(doc_id[1:]) % 3 == 0 for doc_id in office.ask("study"))
    with pytest.raises(BudgetError, match="6 of 7 is spent"):
        office.ask("study")
    assert office.ask("free")
    outcomes = [(r["outcome"], r["epsilon"], r.get("mechanism")) for r in office.records()]
    assert outcomes == [
        ("OK", 3.0, "gumbel"),
        ("OK", 3.0, "gumbel"),
        ("FAILED_PRECONDITION", 3.0, "gumbel"),
        ("OK", 0.0, None),
    ]


def test_a_budget_without_a_mechanism_gives_nothing() -> None:
    policy = parse(AccessPolicy, {"callers": {"study": {"epsilon_budget": 7}}}, "test")
    desk = Desk(SourceNode("s", DOCUMENTS, retriever="bm25"), admission=Admission(lambda: policy))
    with pytest.raises(ConfigError, match="offers no privacy"):
        desk.retrieve("study", to_retrieve_request(Query("zinc"), 5))


def test_every_request_is_recorded_without_its_texts(tmp_path: Path) -> None:
    office = Office(tmp_path, {"all": {}})
    found = office.ask("ALL", 3)
    office.desk.describe("all")
    with pytest.raises(WireError):
        office.desk.retrieve("all", pb.RetrieveRequest(query=SECRET, top_k=0))
    with pytest.raises(AccessError):
        office.ask("stranger")
    records = office.records()
    assert [(r["caller"], r["method"], r["outcome"]) for r in records] == [
        ("all", "Retrieve", "OK"),
        ("all", "Describe", "OK"),
        ("all", "Retrieve", "INVALID_ARGUMENT"),
        ("stranger", "Retrieve", "PERMISSION_DENIED"),
    ]
    assert records[0]["documents"] == found
    assert "zinc" not in (office.folder / LOG_NAME).read_text()


def test_a_flood_of_refusals_is_counted_rather_than_written(tmp_path: Path) -> None:
    office = Office(tmp_path, {"all": {"rate": {"per_second": 0.001, "burst": 2}}})
    for _ in range(2):
        office.ask("all")
    for _ in range(300):
        with pytest.raises(OverloadError):
            office.ask("all")
    records = office.records()
    assert len(records) < 100
    refused = [r for r in records if r["outcome"] == "RESOURCE_EXHAUSTED"]
    assert len(refused) >= 1
    assert len(refused) + sum(r.get("skipped", 0) for r in refused) <= 300


def test_what_cannot_be_recorded_does_not_leave(tmp_path: Path) -> None:
    office = Office(tmp_path, {"all": {}})
    (office.folder / LOG_NAME).rename(office.folder / "aside")
    (office.folder / LOG_NAME).write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        office.ask("all")
    with pytest.raises(WireError):
        office.desk.retrieve("all", pb.RetrieveRequest(query="q", top_k=0))


def test_above_the_memory_limit_requests_are_refused(tmp_path: Path) -> None:
    limit = MemoryLimit(1 << 40)
    office = Office(tmp_path, {"all": {}}, memory=limit)
    assert office.ask("all")
    limit.limit = 1
    with pytest.raises(OverloadError, match="MiB are held"):
        office.ask("all")
