from __future__ import annotations

from pathlib import Path

from aggregator.reputation import Reputation
from aggregator.roster import Listed, Roster
from aggregator.state import database_path, has_state, open_trust
from defenses.ado.trust import TrustStore


def test_reliability_trust_and_roster_share_one_file(tmp_path: Path) -> None:
    path = database_path(tmp_path)
    reputation, trust, roster = Reputation(path, momentum=0.5), open_trust(tmp_path), Roster(path)
    reputation.update({"a": 1.0})
    trust.update("ann", 0.1, 0.0)
    roster.note("a", "active", "h:1")
    for each in (reputation, trust, roster):
        each.close()
    assert [file.name for file in tmp_path.iterdir()] == ["reputation.sqlite"]
    assert Reputation(path).reliability(["a"]) == {"a": 0.75}
    assert open_trust(tmp_path).score("ann") == 0.6
    assert Roster(path).apply({}) == {"a": Listed("h:1")}


def test_a_trust_store_of_its_own_is_taken_in_once(tmp_path: Path) -> None:
    assert not has_state(tmp_path)
    old = TrustStore(tmp_path / "trust.sqlite")
    old.update("mallory", -0.1, -0.1)
    old.close()
    assert has_state(tmp_path)
    store = open_trust(tmp_path)
    (record,) = store.listing()
    assert (record.user_id, record.questions, record.suspicious) == ("mallory", 1, 1)
    store.update("mallory", -0.1, 0.0)
    store.close()
    assert not (tmp_path / "trust.sqlite").exists()
    assert len(open_trust(tmp_path)) == 1
    assert database_path(None) is None
    assert len(open_trust(None)) == 0
