"""Events: each priced access to the rows, as a frozen value that can be stored, summed and checked years
later.

Rules for whoever edits this file: an event is never removed and its meaning never changes, because
stored receipts refer to it; a new field must be optional. An accountant that does not know an event
refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, get_args

from synth_engine.errors import UnsupportedEvent
from synth_engine.privacy import trees
from synth_engine.privacy.loss import HALF_PI, ratio
from synth_engine.strict_json import JsonObject


def mu_squared_of_pure(epsilon: Fraction) -> Fraction:
    """mu², rounded up, for which whatever is epsilon-differentially private is mu-GDP
    (docs/proofs/rounded-gaussian.md)."""
    # The trade-off curve of randomised response, the worst one, lies above the Gaussian one.
    return epsilon**2 * HALF_PI


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace:
    """Integer counts plus discrete Laplace noise, P(k) proportional to exp(-|k| / scale).

    l1: L1 sensitivity of the counts. The loss is l1 / scale (Ghosh, Roughgarden and Sundararajan 2009).
    """

    law: ClassVar[str] = "discrete-laplace"
    scale: Fraction
    l1: int

    def __post_init__(self) -> None:
        _require(self.scale, self.l1)

    def pure_epsilon(self) -> Fraction:
        # Neighbouring masses have the ratio exp(±1 / scale), once for each unit of L1.
        return self.l1 / self.scale

    def rho(self) -> Fraction:
        return self.pure_epsilon() ** 2 / 2

    def mu_squared(self) -> Fraction:
        return mu_squared_of_pure(self.pure_epsilon())

    def to_json(self) -> JsonObject:
        return {"law": self.law, "scale": ratio(self.scale), "l1": self.l1}


@dataclass(frozen=True, kw_only=True)
class _Gaussian:
    """What the two Gaussian laws share. l2_squared: squared L2 sensitivity. Neither has a pure guarantee."""

    law: ClassVar[str]
    sigma_squared: Fraction
    l2_squared: int

    def __post_init__(self) -> None:
        _require(self.sigma_squared, self.l2_squared)

    def pure_epsilon(self) -> None:
        return None

    def rho(self) -> Fraction:
        # Discrete noise by the cited theorem, rounded noise as post-processing: the same rho.
        return self.l2_squared / (2 * self.sigma_squared)

    def to_json(self) -> JsonObject:
        return {
            "law": self.law,
            "sigma_squared": ratio(self.sigma_squared),
            "l2_squared": self.l2_squared,
        }


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(_Gaussian):
    """Integer counts plus discrete Gaussian noise, P(k) proportional to exp(-k² / (2 sigma_squared)).

    rho = l2_squared / (2 sigma_squared) (Canonne, Kamath and Steinke 2020, Theorem 14). Its trade-off curve
    dips below every Gaussian one somewhere, so it has no mu.
    """

    law: ClassVar[str] = "discrete-gaussian"

    def mu_squared(self) -> Fraction:
        raise UnsupportedEvent("discrete Gaussian noise has no mu; use rounded Gaussian noise")


@dataclass(frozen=True, kw_only=True)
class RoundedGaussian(_Gaussian):
    """Integer counts plus N(0, sigma_squared) rounded to the nearest whole number. As counts are whole, that
    is the sum rounded: post-processing of Gaussian noise, so mu² = l2_squared / sigma_squared exactly, and
    rho = mu² / 2 (docs/proofs/rounded-gaussian.md)."""

    law: ClassVar[str] = "rounded-gaussian"

    def mu_squared(self) -> Fraction:
        return self.l2_squared / self.sigma_squared


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """What the two laws of choosing an index share.

    linf: the most that one score moves between neighbours. monotonic: all scores move the same way, which
    halves the loss. epsilon = 2 linf / scale.
    """

    law: ClassVar[str]
    scale: Fraction
    linf: int
    monotonic: bool = False

    def __post_init__(self) -> None:
        _require(self.scale, self.linf)

    def pure_epsilon(self) -> Fraction:
        # Twice, because one score may rise while another one falls.
        return (1 if self.monotonic else 2) * self.linf / self.scale

    def to_json(self) -> JsonObject:
        return {
            "law": self.law,
            "scale": ratio(self.scale),
            "linf": self.linf,
            "monotonic": self.monotonic,
        }


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(_Selection):
    """The index of a large score by permute-and-flip (McKenna and Sheldon 2020). Without a bounded range of
    its loss rho is epsilon² / 2."""

    law: ClassVar[str] = "permute-and-flip"

    def rho(self) -> Fraction:
        return self.pure_epsilon() ** 2 / 2

    def mu_squared(self) -> Fraction:
        return mu_squared_of_pure(self.pure_epsilon())


@dataclass(frozen=True, kw_only=True)
class Gumbel(_Selection):
    """The index of a large score by the exponential mechanism, sampled as the largest score plus Gumbel
    noise. Its loss has range epsilon, so rho = epsilon² / 8 (Cesar and Rogers 2021), and mu is half of what
    epsilon alone gives (docs/proofs/rounded-gaussian.md)."""

    law: ClassVar[str] = "gumbel"

    def rho(self) -> Fraction:
        return self.pure_epsilon() ** 2 / 8

    def mu_squared(self) -> Fraction:
        return mu_squared_of_pure(self.pure_epsilon() / 2)


@dataclass(frozen=True, kw_only=True)
class ThresholdTree:
    """Which nodes of a tree are opened, by discounted counts plus discrete Laplace noise and a threshold; no
    count leaves.

    l1: so many records are added or removed. threshold, discount: of one node. The loss of one record is the
    exact one of `trees.loss`, whatever the depth; of l1 of them, l1 times that (docs/proofs/grow.md)."""

    law: ClassVar[str] = "threshold-tree"
    scale: Fraction
    l1: int
    threshold: int
    discount: int

    def __post_init__(self) -> None:
        _require(self.scale, self.l1)
        if any(
            type(number) is not int or number < 1 for number in (self.threshold, self.discount)
        ):
            raise TypeError("threshold and discount are whole numbers from 1 on")
        # trees.loss bounds the remainder of its sum by this share.
        if self.discount < trees.MIN_DISCOUNT_SHARE * self.scale:
            raise ValueError("the discount is too small for the noise")

    def pure_epsilon(self) -> Fraction:
        return self.l1 * trees.loss(
            scale=self.scale, threshold=self.threshold, discount=self.discount
        )

    def rho(self) -> Fraction:
        return self.pure_epsilon() ** 2 / 2

    def mu_squared(self) -> Fraction:
        return mu_squared_of_pure(self.pure_epsilon())

    def to_json(self) -> JsonObject:
        own: JsonObject = {"threshold": self.threshold, "discount": self.discount}
        return {"law": self.law, "scale": ratio(self.scale), "l1": self.l1, **own}


@dataclass(frozen=True, kw_only=True)
class DirichletMultinomial:
    """Groups of records drawn anew, each from the Dirichlet-multinomial law whose parameters are its counts
    by origin plus a prior (docs/proofs/resample.md). priors: (size, parts) by increasing size of groups;
    every one of `origins` origins has a prior of parts / unit records. Groups of a size that have fewer
    origins: (size, parts, how many). copies: records drawn for each record. It has (epsilon, delta), which
    add up, and neither a rho nor a mu.
    """

    law: ClassVar[str] = "dirichlet-multinomial"
    epsilon: Fraction
    delta: Fraction
    origins: int
    unit: int
    priors: tuple[tuple[int, ...], ...]
    copies: int = 1

    def __post_init__(self) -> None:
        numbers = (
            self.origins,
            self.unit,
            self.copies,
            *(n for prior in self.priors for n in prior),
        )
        if any(type(n) is not int or n < 1 for n in numbers) or any(
            len(prior) not in (2, 3) for prior in self.priors
        ):
            raise TypeError("priors are positive whole numbers")
        sizes = [prior[0] for prior in self.priors]
        if (
            sizes != sorted(set(sizes))
            or not sizes
            or any(n >= self.origins for prior in self.priors for n in prior[2:])
        ):
            raise TypeError(
                "priors are one for each size of groups, in order, and say of how many origins if of fewer"
            )
        if (
            not isinstance(self.epsilon, Fraction)
            or not isinstance(self.delta, Fraction)
            or self.epsilon <= 0
        ):
            raise TypeError("epsilon and delta are Fractions, and epsilon is positive")
        if not 0 <= self.delta < 1:
            raise TypeError("delta lies from 0 to below 1")

    @property
    def by_size(self) -> dict[int, tuple[int, int]]:
        """The prior of one origin, in parts, and the number of origins, by size of groups."""
        return {
            prior[0]: (prior[1], prior[2] if len(prior) == 3 else self.origins)
            for prior in self.priors
        }

    @property
    def whole_prior(self) -> dict[int, float]:
        """The prior of all origins together, in records, by size of groups."""
        return {
            size: parts * origins / self.unit for size, (parts, origins) in self.by_size.items()
        }

    def pure_epsilon(self) -> Fraction | None:
        return self.epsilon if self.delta == 0 else None

    def rho(self) -> Fraction:
        """Errors: UnsupportedEvent with a delta: what is left out in a sum of rho would be lost."""
        if self.delta:
            raise UnsupportedEvent(
                "groups drawn anew have a delta, which no sum of rho counts; use a basic account"
            )
        return self.epsilon**2 / 2

    def mu_squared(self) -> Fraction:
        if self.delta:
            raise UnsupportedEvent(
                "groups drawn anew have a delta, which no sum of mu² counts; use a basic account"
            )
        return mu_squared_of_pure(self.epsilon)

    def to_json(self) -> JsonObject:
        loss = {"epsilon": ratio(self.epsilon), "delta": ratio(self.delta)}
        prior: JsonObject = {
            "origins": self.origins,
            "unit": self.unit,
            "priors": [list(pair) for pair in self.priors],
        }
        prior |= {} if self.copies == 1 else {"copies": self.copies}
        return {"law": self.law, **loss, **prior}


Event = (
    DiscreteLaplace
    | DiscreteGaussian
    | RoundedGaussian
    | PermuteAndFlip
    | Gumbel
    | ThresholdTree
    | DirichletMultinomial
)

_KNOWN: Mapping[str, type[Any]] = {k.law: k for k in get_args(Event)}
_RATIONAL = ("scale", "sigma_squared", "epsilon", "delta")


def from_json(obj: Mapping[str, Any]) -> Event:
    """The event that `to_json` wrote. Errors: UnsupportedEvent for an unknown law or field."""
    law = obj.get("law")
    kind = _KNOWN.get(law) if isinstance(law, str) else None
    if kind is None:
        raise UnsupportedEvent("this event is of no known law")
    fields = {key: value for key, value in obj.items() if key != "law"}
    try:
        exact = {
            key: Fraction(value) if key in _RATIONAL else value for key, value in fields.items()
        }
        exact |= (
            {"priors": tuple(tuple(pair) for pair in fields["priors"])}
            if "priors" in fields
            else {}
        )
        event: Event = kind(**exact)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise UnsupportedEvent(
            f"an event of law {law} has other or malformed fields"
        ) from error
    return event


def _require(spread: Fraction, sensitivity: int) -> None:
    if not isinstance(spread, Fraction) or spread <= 0:
        raise TypeError("the spread of the noise must be a positive Fraction")
    if type(sensitivity) is not int or sensitivity < 1:
        raise TypeError("the sensitivity must be a positive whole number")
