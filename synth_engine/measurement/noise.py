"""Noise for a table of counts, a vector of scores, or the nodes of a tree: its law and its scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from synth_engine.privacy import events, rounded
from synth_engine.privacy.loss import ratio
from synth_engine.privacy.unit import Sensitivity

NoiseLaw = Literal["discrete-laplace", "discrete-gaussian", "rounded-gaussian"]
_MIN_VARIANCE = 1e-18


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise for one table of counts. `scale`: the Laplace scale, or the Gaussian sigma; exactly a float."""

    law: NoiseLaw
    scale: Fraction

    def __post_init__(self) -> None:
        if self.law not in get_args(NoiseLaw):
            raise TypeError(f"noise is one of: {', '.join(get_args(NoiseLaw))}")
        if (
            not isinstance(self.scale, Fraction)
            or self.scale <= 0
            or Fraction(float(self.scale)) != self.scale
        ):
            raise TypeError("the scale must be a positive Fraction that a float holds exactly")

    @property
    def variance(self) -> float:
        """Returns the variance of one cell, never zero; for the discrete Gaussian an upper
        bound that is tight for sigma of 1 and more.

        Rounding adds 1/12 to that of a Gaussian, less than 1e-7 off from sigma of 1 on, and
        never more (docs/proofs/rounded-gaussian.md)."""
        scale = float(self.scale)
        if self.law == "discrete-gaussian":
            return scale * scale
        if self.law == "rounded-gaussian":
            return (
                scale * scale + 1 / 12
                if scale >= 1
                else max(rounded.moment(scale, 2), _MIN_VARIANCE)
            )
        ratio_of_neighbours = math.exp(-1 / scale)
        return max(2 * ratio_of_neighbours / math.expm1(-1 / scale) ** 2, _MIN_VARIANCE)

    @property
    def mean_deviation(self) -> float:
        """The expected absolute value of the noise of one cell; for the Gaussian as for the continuous one,
        unless it is rounded and narrow."""
        scale = float(self.scale)
        if self.law == "rounded-gaussian" and scale < 1:
            return rounded.moment(scale, 1)
        if self.law != "discrete-laplace":
            return scale * math.sqrt(2 / math.pi)
        return -2 * math.exp(-1 / scale) / math.expm1(-2 / scale)

    def reaches(self, number: int) -> float:
        """The chance that the noise of one cell is at least so large; number: 1 or more. Of the discrete
        Gaussian as of the rounded one."""
        scale = float(self.scale)
        if self.law == "discrete-laplace":
            # P(X >= k) = q^k / (1 + q) of the two-sided geometric law, with q = exp(-1 /
            # scale).
            return math.exp(-number / scale) / (1 + math.exp(-1 / scale))
        # A rounded Gaussian is k or more where the Gaussian is at least k - 1/2.
        return math.erfc((number - 0.5) / (scale * math.sqrt(2))) / 2

    def event(
        self, sensitivity: Sensitivity
    ) -> events.DiscreteLaplace | events.DiscreteGaussian | events.RoundedGaussian:
        """The event of answering a table of counts, or a vector of scores, with this noise."""
        if self.law == "discrete-laplace":
            return events.DiscreteLaplace(scale=self.scale, l1=sensitivity.l1)
        gaussian = (
            events.RoundedGaussian
            if self.law == "rounded-gaussian"
            else events.DiscreteGaussian
        )
        return gaussian(sigma_squared=self.scale**2, l2_squared=sensitivity.l2_squared)

    def to_json(self) -> dict[str, str]:
        return {"law": self.law, "scale": ratio(self.scale)}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Noise:
        return cls(law=obj["law"], scale=Fraction(obj["scale"]))
