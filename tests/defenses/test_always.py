from __future__ import annotations

from core.stage import Resources
from defenses.always import AlwaysDropStage, AlwaysKeepStage
from tests.defenses.rounds import a_round, kept


def test_all_or_nothing() -> None:
    given = a_round("q", ["a", "b"])
    keep = AlwaysKeepStage({}, Resources()).run(given)
    drop = AlwaysDropStage(None, Resources()).run(given)
    assert kept(keep) == [0, 1]
    assert kept(drop) == []
    assert [v.credibility for v in (*keep.verdicts, *drop.verdicts)] == [1.0, 1.0, 0.0, 0.0]
