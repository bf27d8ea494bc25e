"""The discrete Gaussian for the verifier: sums of its masses, from both sides, in whole numbers.

Standard library only, and nothing shared with what writes receipts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from synth_engine.verifier.bounds import ceil_div, exp_bounds


@dataclass(frozen=True)
class GaussianMasses:
    """exp(-x² / (2 sigma²)) for |x| <= radius + 1, in 2^-width, from below; `slack` covers what each was
    rounded down, `beyond` is at least all of them above the radius, on one side.

    By f(x + 1) = f(x) r(x), r(x + 1) = r(x) exp(-1 / sigma²): all factors are at most one, so the error of
    r(x) is at most 2x + 1 units and that of f(x) at most (x + 1)².
    """

    radius: int
    width: int
    sums: list[int]
    slack: int
    beyond: int

    @classmethod
    def of(cls, sigma_squared: Fraction, radius: int, bits: int) -> GaussianMasses:
        width = bits + 64 + 2 * radius.bit_length()
        value = 1 << width
        ratio, fall = (
            exp_bounds(1 / (2 * sigma_squared), width)[0],
            exp_bounds(1 / sigma_squared, width)[0],
        )
        sums = [0]
        for _ in range(radius + 2):
            sums.append(sums[-1] + value)
            value = value * ratio >> width
            ratio = ratio * fall >> width
        # At least (x + 1)² for every x that is summed.
        slack = (radius + 3) ** 2
        # The tail: from radius + 1 on, neighbours have a ratio of at most `last`, and a
        # geometric series with that ratio bounds the sum.
        last = exp_bounds(Fraction(2 * radius + 3) / (2 * sigma_squared), width)[1]
        beyond = ceil_div((sums[-1] - sums[-2] + slack) << width, (1 << width) - last)
        return cls(radius=radius, width=width, sums=sums, slack=slack, beyond=beyond)

    def mass(self, first: int, last: int) -> tuple[int, int]:
        """Probability of first..last, rounded up, and of one less each, rounded down."""
        number = last - first + 1
        total = self._sum(first, last) + number * self.slack
        # The smallest normaliser rounds a probability up, the largest rounds it down.
        return ceil_div(total << self.width, self._low), (
            self._sum(first - 1, last - 1) << self.width
        ) // self._high

    @property
    def tail(self) -> int:
        """Probability of more than the radius, on one side, rounded up."""
        return ceil_div(self.beyond << self.width, self._low)

    @property
    def _low(self) -> int:
        return self._sum(-self.radius, self.radius)

    @property
    def _high(self) -> int:
        return self._low + (2 * self.radius + 1) * self.slack + 2 * self.beyond

    def _sum(self, first: int, last: int) -> int:
        return self._below(last + 1) - self._below(first)

    def _below(self, x: int) -> int:
        """The sum over 0..x-1, with a minus sign over x..-1."""
        return self.sums[x] if x >= 0 else self.sums[1] - self.sums[1 - x]
