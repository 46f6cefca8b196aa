"""Attacks by name; each is imported when it is first asked for."""

from __future__ import annotations

from core.registry import Registry

ATTACKS = Registry(
    "attack",
    "securecollarag.attacks",
    {
        "none": "sim.attacks.none:NoAttack",
        "saa": "sim.attacks.saa:SimpleAdditiveAttack",
        "poisonedrag": "sim.attacks.poisonedrag:PoisonedRAG",
        "ata": "sim.attacks.ata:AdversarialTampering",
        "hotflip": "sim.attacks.hotflip:HotFlip",
        "hotflip_spread": "sim.attacks.hotflip:HotFlipSpread",
        "query_as_poison": "sim.attacks.query_as_poison:QueryAsPoison",
        "advraggen": "sim.attacks.advraggen:AdvRAGgen",
        "tris_l1": "sim.attacks.adaptive:ArchitectureAware",
        "tris_l2": "sim.attacks.adaptive:JudgeAware",
        "tris_l3": "sim.attacks.adaptive:WhiteBoxTris",
        "scr_l2": "sim.attacks.adaptive_scr:ScrJudgeAware",
        "scr_l3": "sim.attacks.adaptive_scr:WhiteBoxScr",
    },
    extra="sim",
)
