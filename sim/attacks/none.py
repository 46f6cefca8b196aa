"""No attack: malicious sources answer honestly (the clean control)."""

from __future__ import annotations

from typing import ClassVar

from sim.attacks.base import BaseAttack, Kind


class NoAttack(BaseAttack):
    """Reads every option, so that a clean run can keep the flags of the attack it is compared with."""

    kind: ClassVar[Kind] = "none"
