"""Privacy losses as exact rationals, how to read one from text, and how to write one into the ledger."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, NamedTuple

from synth_engine.errors import SpecError
from synth_engine.privacy import noise_scale

NANO = 10**9
ATTO = 10**18
MAX_TEXT = 40
MAX_LOSS = Fraction(10**9)
MIN_LOSS = Fraction(1, ATTO)

_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_RATIO = re.compile(r"[0-9]+/[0-9]+")


HALF_PI = Fraction(15707963268, 10**10)
"""A little more than pi / 2."""


class _NoiseScales:
    """Scales of noise that costs no more than a part of a budget. Each is rounded up. Errors: SpecError for
    noise that cannot be drawn."""

    _selection_gain: ClassVar[int] = 2
    """Gumbel noise has a loss of bounded range epsilon: rho = epsilon² / 8 and mu² <= epsilon² pi / 8, a
    quarter of what epsilon alone gives. So the same budget buys twice the epsilon."""

    @property
    def pure_epsilon(self) -> Fraction:
        """The pure loss that costs this much, rounded down."""
        raise NotImplementedError

    def laplace_scale(self, l1: int) -> Fraction:
        """The scale of discrete Laplace noise on counts of this L1 sensitivity."""
        return noise_scale.laplace_scale(self.pure_epsilon, l1)

    def selection_scale(self, linf: int, *, monotonic: bool = False) -> Fraction:
        """The scale of a `select` among scores that move by at most linf: permute-and-flip of a pure budget,
        else Gumbel noise. monotonic: of a `refine`, whose scores all move one way, so that half the scale
        costs as much."""
        gain = self._selection_gain * (2 if monotonic else 1)
        return noise_scale.selection_scale(gain * self.pure_epsilon, linf)


@dataclass(frozen=True, kw_only=True)
class Pure(_NoiseScales):
    """Epsilon-differential privacy."""

    _selection_gain = 1

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require_exact(epsilon=self.epsilon)

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    @property
    def pure_epsilon(self) -> Fraction:
        return self.epsilon

    def of(self, amount: Fraction) -> Pure:
        """Another amount of the same kind."""
        return Pure(epsilon=amount)


@dataclass(frozen=True, kw_only=True)
class Approximate:
    """(epsilon, delta)-differential privacy."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _require_exact(epsilon=self.epsilon, delta=self.delta)


@dataclass(frozen=True, kw_only=True)
class Basic(Approximate):
    """(epsilon, delta) of which both add up as they are; a mere `Approximate` is a target that may be met by
    another sum."""

    @property
    def amount(self) -> Fraction:
        return self.epsilon

    def of(self, amount: Fraction) -> Basic:
        """Another epsilon with the same delta."""
        return Basic(epsilon=amount, delta=self.delta)


@dataclass(frozen=True, kw_only=True)
class ZeroConcentrated(_NoiseScales):
    """rho-zero-concentrated differential privacy (Bun and Steinke 2016)."""

    rho: Fraction

    def __post_init__(self) -> None:
        _require_exact(rho=self.rho)

    @property
    def amount(self) -> Fraction:
        return self.rho

    @property
    def pure_epsilon(self) -> Fraction:
        # Bun and Steinke 2016, Proposition 1.4, inverted: rho = epsilon² / 2.
        return noise_scale.root_down(2 * self.rho)

    def of(self, amount: Fraction) -> ZeroConcentrated:
        """Another amount of the same kind."""
        return ZeroConcentrated(rho=amount)


@dataclass(frozen=True, kw_only=True)
class GaussianDP(_NoiseScales):
    """mu-Gaussian differential privacy (Dong, Roth and Su 2022): two neighbouring tables are no easier to
    tell apart than one draw of N(0, 1) from one of N(mu, 1). Kept as mu², which adds up and is rational."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        _require_exact(mu_squared=self.mu_squared)

    @property
    def amount(self) -> Fraction:
        return self.mu_squared

    @property
    def rho(self) -> Fraction:
        """The rho of the zero-concentrated guarantee that it implies."""
        return self.mu_squared / 2

    @property
    def pure_epsilon(self) -> Fraction:
        # The inverse of events.mu_squared_of_pure, rounded down.
        return noise_scale.root_down(self.mu_squared / HALF_PI)

    def of(self, amount: Fraction) -> GaussianDP:
        """Another amount of the same kind."""
        return GaussianDP(mu_squared=amount)


Budget = Pure | ZeroConcentrated | GaussianDP
"""Losses that add up, each in its `amount`: what a cap can be, and what can be cut up."""
Loss = Budget | Approximate


class Price(NamedTuple):
    """The amounts that an account holds for a run, in units of its ledger: epsilon in 10⁻⁹, delta in 10⁻¹⁸,
    rho in 10⁻⁹."""

    epsilon: int
    delta: int
    rho: int


def _require_exact(**amounts: Fraction) -> None:
    for name, amount in amounts.items():
        if not isinstance(amount, Fraction) or amount < 0:
            raise TypeError(f"{name} must be a Fraction that is not negative")


def nano(amount: Fraction) -> int:
    """Ledger units of 10⁻⁹ for epsilon and rho, rounded up."""
    return math.ceil(amount * NANO)


def atto(delta: Fraction) -> int:
    """Ledger units of 10⁻¹⁸ for delta, rounded up."""
    return math.ceil(delta * ATTO)


def parse_amount(text: str | int | float | Fraction | Decimal, *, name: str) -> Fraction:
    """An exact rational from what a person or a JSON document gave; zero is allowed, nothing below it.

    A float stands for its shortest decimal text, so that 0.1 means one tenth.
    Errors: SpecError naming the field, never repeating the text.
    """
    amount = _parse(text, name=name)
    if amount != 0 and not MIN_LOSS <= amount <= MAX_LOSS:
        raise SpecError(
            f"{name} must be 0 or lie between 1e-18 and 1e9",
            repair="write it in plain decimal digits",
        )
    return amount


def parse_decimal(text: str | int | float | Decimal, *, name: str) -> Fraction:
    """An exact rational from what a person types: decimal digits alone, and no ratio like "1/3", which is no
    decimal number. Stored documents hold ratios, and `parse_amount` reads them. Errors: SpecError naming the
    field."""
    if isinstance(text, str) and "/" in text:
        raise SpecError(
            f"{name} must be a decimal number",
            repair='write it like "1", "0.5" or "1e-9", not as a ratio',
        )
    return parse_amount(text, name=name)


def _parse(value: str | int | float | Fraction | Decimal, *, name: str) -> Fraction:
    refusal = SpecError(
        f"{name} must be a number that is not negative",
        repair='write it like "1", "0.5" or "1e-9"',
    )
    # bool is a subclass of int, and `true` in JSON is no amount.
    if isinstance(value, bool):
        raise refusal
    if isinstance(value, Fraction | int):
        if value < 0:
            raise refusal
        return Fraction(value)
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise refusal
        value = str(value) if isinstance(value, Decimal) else repr(value)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise refusal
    if _DECIMAL.fullmatch(value):
        return (
            # The exponent is checked first: Fraction would write out all its digits.
            Fraction(Decimal(value))
            if abs(Decimal(value).adjusted()) <= 100
            else _too_far(name)
        )
    if _RATIO.fullmatch(value) and int(value.partition("/")[2]) != 0:
        return Fraction(value)
    raise refusal


def _too_far(name: str) -> Fraction:
    raise SpecError(
        f"{name} must be 0 or lie between 1e-18 and 1e9",
        repair="write it in plain decimal digits",
    )


def ratio(amount: Fraction) -> str:
    """The canonical text of an exact rational, always with a denominator: "1/2", "3/1"."""
    return f"{amount.numerator}/{amount.denominator}"


def plain(amount: Fraction) -> str:
    """The shortest exact text: decimal digits where they end, else a ratio."""
    rest = amount.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    # 2^a 5^b divides 10^max(a, b), and its bit length exceeds both.
    digits = max(amount.denominator.bit_length(), 1)
    if rest != 1 or digits > 2 * MAX_TEXT:
        return ratio(amount)
    scaled = amount * 10**digits
    whole, part = divmod(scaled.numerator, 10**digits)
    text = f"{whole}.{part:0{digits}d}".rstrip("0").rstrip(".")
    return text if len(text) <= MAX_TEXT else ratio(amount)


def scientific(amount: Fraction) -> str:
    """Short text for sentences: "1e-9" where the amount is a power of ten, else its plain text."""
    if amount.numerator == 1 and str(amount.denominator).strip("0") == "1":
        return f"1e-{len(str(amount.denominator)) - 1}"
    return plain(amount)
