"""Amounts of privacy budget: integers, exact. Epsilon and rho count in 1e-9, delta in 1e-18.

An account adds up one pair or the other, by its rule: basic counts epsilon and delta, zCDP counts rho alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal

from synthweb.ledger.models import Rule
from synthweb.lib import number_format

NANO = 10**9
ATTO = 10**18
MAX_COLUMN_VALUE = 2**63 - 1  # what a column holds
CURRENCIES = ("epsilon", "delta", "rho")
COUNTED = {Rule.BASIC: ("epsilon", "delta"), Rule.ZCDP: ("rho",)}
_UNIT = {"epsilon": NANO, "delta": ATTO, "rho": NANO}
LETTERS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


@dataclass(frozen=True, kw_only=True)
class Amount:
    """So much epsilon, delta and rho, in the integers of the ledger."""

    epsilon: int = 0
    delta: int = 0
    rho: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # A float would round silently, and bool is a subclass of int.
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{field.name}: the ledger counts in integers")

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            **{name: getattr(self, name) + getattr(other, name) for name in CURRENCIES}
        )

    def __sub__(self, other: Amount) -> Amount:
        return Amount(
            **{name: getattr(self, name) - getattr(other, name) for name in CURRENCIES}
        )

    @property
    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in CURRENCIES}

    @property
    def is_negative_somewhere(self) -> bool:
        return any(value < 0 for value in self.as_dict.values())

    @property
    def not_negative(self) -> Amount:
        """The same with 0 for what is below it."""
        return Amount(**{name: max(0, value) for name, value in self.as_dict.items()})

    def main(self, rule: str) -> int:
        """What the rule is about: epsilon under basic, rho under zCDP. Nothing is free of it."""
        return int(getattr(self, COUNTED[Rule(rule)][0]))

    def fits(self, rule: str) -> bool:
        """Whether it holds nothing but what the rule counts."""
        return not any(
            getattr(self, name) for name in CURRENCIES if name not in COUNTED[Rule(rule)]
        )

    def text(self, rule: str) -> str:
        """Exact, for messages: `ε 1.5, δ 1e-9`; a delta of zero is left out."""
        parts = [
            f"{LETTERS[name]} {short_text(name, getattr(self, name))}"
            for name in COUNTED[Rule(rule)]
            if name != "delta" or self.delta
        ]
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """One currency of which less is left than something costs, in the integers of the ledger."""

    currency: str
    left: int
    costs: int

    @property
    def short(self) -> int:
        return self.costs - self.left

    @property
    def letter(self) -> str:
        return LETTERS[self.currency]

    @property
    def sentence(self) -> str:
        """`The budget has no δ left, and this costs δ 1e-9: δ 1e-9 more is needed`."""
        left = (
            f"{self.letter} {short_text(self.currency, self.left)}"
            if self.left > 0
            else f"no {self.letter}"
        )
        costs, short = (
            f"{self.letter} {short_text(self.currency, value)}"
            for value in (self.costs, self.short)
        )
        return f"The budget has {left} left, and this costs {costs}: {short} more is needed"


def shortfalls(*, remaining: Amount, requested: Amount, rule: str) -> tuple[Shortfall, ...]:
    """Every currency that runs out, by name."""
    return tuple(
        Shortfall(currency=name, left=getattr(remaining, name), costs=getattr(requested, name))
        for name in COUNTED[Rule(rule)]
        if getattr(requested, name) > getattr(remaining, name)
    )


def scale(currency: str) -> int:
    """How many of the ledger's steps make one."""
    return _UNIT[currency]


def decimal_text(currency: str, value: int) -> str:
    """The integer of the ledger as the decimal number it stands for, all digits and no trailing zeros."""
    # One digit more than the decimals of delta, so that one is left before the point.
    digits = str(abs(value)).rjust(19, "0")
    decimals = len(str(_UNIT[currency])) - 1
    whole, part = digits[:-decimals].lstrip("0") or "0", digits[-decimals:].rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' + part if part else ''}"


def short_text(currency: str, value: int) -> str:
    """The same as somebody would type it: `0.5`, and `1e-9` where the zeros could no longer be counted."""
    return number_format.short(decimal_text(currency, value))


def number(currency: str, value: int) -> Decimal:
    """The same as a Decimal."""
    return Decimal(decimal_text(currency, value))
