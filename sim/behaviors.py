"""When malicious sources attack, under which name they appear, and whether a user probes as well.

A behaviour sees only the number of the round (from 0, warm-up rounds not counted) and the source's own
name; `SPEC` is a name or `name:N` with the one number that the behaviour takes.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from core.errors import ConfigError
from core.registry import Registry

BEHAVIORS = Registry(
    "behavior",
    "securecollarag.behaviors",
    {
        "steady": "sim.behaviors:Steady",
        "sleeper": "sim.behaviors:Sleeper",
        "on-off": "sim.behaviors:OnOff",
        "whitewashing": "sim.behaviors:Whitewashing",
        "duplicate-flood": "sim.behaviors:DuplicateFlood",
        "slow-burn": "sim.behaviors:SlowBurn",
        "burst": "sim.behaviors:Burst",
        "multi-vector": "sim.behaviors:MultiVector",
    },
    extra="sim",
)


@runtime_checkable
class Behavior(Protocol):
    """`flood`: the first attack text fills all slots of the reply, under different ids."""

    flood: ClassVar[bool]

    def active(self, round_: int) -> bool:
        """Whether malicious sources attack in this round."""
        ...

    def name(self, source_id: str, round_: int) -> str:
        """The name under which `source_id` answers in this round."""
        ...


class Steady:
    """Attacks in every round."""

    flood: ClassVar[bool] = False

    def active(self, round_: int) -> bool:
        return True

    def name(self, source_id: str, round_: int) -> str:
        return source_id


class Sleeper(Steady):
    """Honest for `rounds` rounds, malicious ever after."""

    def __init__(self, rounds: int = 25) -> None:
        self.rounds = rounds

    def active(self, round_: int) -> bool:
        return round_ >= self.rounds


class OnOff(Steady):
    """Honest and malicious in turns of `rounds` rounds, honest first."""

    def __init__(self, rounds: int = 5) -> None:
        self.rounds = rounds

    def active(self, round_: int) -> bool:
        return (round_ // self.rounds) % 2 == 1


class Whitewashing(Steady):
    """Attacks always, and every `rounds` rounds leaves and returns under a new name."""

    def __init__(self, rounds: int = 10) -> None:
        self.rounds = rounds

    def name(self, source_id: str, round_: int) -> str:
        life = round_ // self.rounds
        return source_id if life == 0 else f"{source_id}-{life}"


class DuplicateFlood(Steady):
    """Attacks always, its first attack text copied into every slot of the reply."""

    flood: ClassVar[bool] = True


class SlowBurn(Steady):
    """An attacker among the users spreads probes thinly; malicious sources attack in every round."""

    stream: ClassVar[str] = "slow-burn"


class Burst(Steady):
    """An attacker among the users probes at machine speed once; malicious sources attack in every round."""

    stream: ClassVar[str] = "burst"


class MultiVector(Steady):
    """An attacker among the users probes in every other query; malicious sources attack in every round."""

    stream: ClassVar[str] = "multi-vector"


def stream_of(behavior: Behavior) -> str:
    """The stream of queries (`sim.traffic.STREAMS`) that `behavior` brings; "" for none."""
    return str(getattr(behavior, "stream", ""))


def open_behavior(spec: str = "steady") -> Behavior:
    """The behaviour that `spec` (`name` or `name:N`) describes.

    Raises:
        ConfigError: unknown name, or N missing, not a whole number above 0 or not taken.
    """
    name, sign, number = spec.partition(":")
    factory = BEHAVIORS.get(name)
    behavior: Behavior
    if not sign:
        behavior = factory()
        return behavior
    if not number.isdigit() or int(number) < 1:
        raise ConfigError(f"behavior {spec!r}: after the colon a whole number of rounds above 0 is needed")
    try:
        behavior = factory(int(number))
    except TypeError:
        raise ConfigError(f"behavior {name!r} takes no number of rounds") from None
    return behavior
