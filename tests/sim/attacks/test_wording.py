from __future__ import annotations

from sim.attacks.base import AttackOptions
from sim.attacks.schedule import SourceOrders, build_schedule
from sim.attacks.wording import Wording
from tests.sim.small_corpus import small_corpus

CORPUS = small_corpus()
TEXT = CORPUS.documents[5].text


def orders(attack: str, source: str = "s1", seed: int = 1, **options: object) -> SourceOrders:
    asked = [("r", CORPUS.questions[0], True)]
    made = build_schedule(
        CORPUS, asked, ["s1", "s3"], ["s0", "s1", "s3"], attack, AttackOptions(**options), 5, seed
    )
    return made[source]


def test_without_rewriting_the_text_is_handed_through() -> None:
    for attack in ("none", "saa", "poisonedrag"):
        wording = Wording(orders(attack))
        assert wording.honest("d05", TEXT) is TEXT
    assert Wording(orders("ata", "s0")).honest("d05", TEXT) is TEXT


def test_swap_exchanges_the_two_versions() -> None:
    plain, swapped = Wording(orders("ata")), Wording(orders("ata", swap=True))
    assert plain.honest("d05", TEXT) == swapped.attacked("d05", TEXT) == TEXT
    assert plain.attacked("d05", TEXT) == swapped.honest("d05", TEXT) != TEXT
    assert Wording(orders("ata", "s0", swap=True)).honest("d05", TEXT) == plain.attacked("d05", TEXT)


def test_an_edit_belongs_to_the_document_and_the_seed() -> None:
    edited = Wording(orders("ata")).attacked("d05", TEXT)
    assert edited == Wording(orders("ata", "s3")).attacked("d05", TEXT)
    assert edited != Wording(orders("ata", seed=2)).attacked("d05", TEXT)
    apart = [Wording(orders("ata", source, collude=False)).attacked("d05", TEXT) for source in ("s1", "s3")]
    assert apart[0] != apart[1]


def test_the_edit_rate_is_a_share_of_documents() -> None:
    wording = Wording(orders("ata", edit_rate=0.3))
    altered = sum(wording.attacked(f"x{i}", TEXT) != TEXT for i in range(400))
    assert 80 < altered < 160


def test_rewording_comes_after_editing_and_differs_by_source() -> None:
    a, b = (Wording(orders("ata", source, reword=True)) for source in ("s1", "s3"))
    assert a.attacked("d05", TEXT) != b.attacked("d05", TEXT)
    assert a.honest("d05", TEXT) != b.honest("d05", TEXT)
    assert a.honest("d05", TEXT) != TEXT
