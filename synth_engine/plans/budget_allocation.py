"""Noise for a part of a budget, and its price: the one place where a mechanism asks for either.

Of a pure budget the noise is discrete Laplace; of rho discrete Gaussian; of mu² rounded Gaussian. Every scale
is rounded up, so that what is bought never costs more than its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.measurement import Noise
from synth_engine.plans.parameters import ParameterRule
from synth_engine.privacy import filter, noise_scale
from synth_engine.privacy.loss import Budget, GaussianDP, Pure
from synth_engine.privacy.unit import Sensitivity, histogram_sensitivity


def parameter(of: str, description: str, *, most: float = 0.9) -> ParameterRule:
    """The JSON schema of a share of the budget that people may choose; 0 leaves it to the method."""
    return {
        "type": "number",
        "minimum": 0,
        "maximum": most,
        "default": 0,
        "title": f"Share of the budget for {of}",
        "description": description,
    }


def noise(part: Budget, sensitivity: Sensitivity, *, laplace: bool = False) -> Noise:
    """The least noise of that kind which costs no more than the part. laplace: discrete Laplace noise of any
    budget.

    Errors: SpecError for noise that cannot be drawn."""
    if laplace or isinstance(part, Pure):
        return Noise(
            law="discrete-laplace",
            scale=part.laplace_scale(sensitivity.l1),
        )
    sigma = noise_scale.gaussian_sigma(part.rho, sensitivity.l2_squared)
    return Noise(
        law="rounded-gaussian" if isinstance(part, GaussianDP) else "discrete-gaussian",
        scale=sigma,
    )


def price(noise: Noise, budget: Budget, sensitivity: Sensitivity) -> Fraction:
    """Returns the price of the noise in the unit of the budget."""
    return filter.price(noise.event(sensitivity), budget)


def noises(
    budget: Budget, weights: Sequence[Fraction], *, domain: Domain, laplace: bool = False
) -> tuple[Noise, ...]:
    """Divides a budget into noise for one table of counts for each weight: its share of
    epsilon, of rho or of mu². With `laplace`, the weights are of epsilon, which costs in
    proportion to its square where rho or mu² add up."""
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    # epsilon-DP implies (epsilon^2 / 2)-zCDP (Bun and Steinke 2016, Proposition 1.4), so shares
    # of epsilon are squared where rho adds up.
    squared = laplace and not isinstance(budget, Pure)
    parts = noise_scale.split(
        budget.amount, [weight**2 if squared else weight for weight in weights]
    )
    return tuple(noise(budget.of(part), sensitivity, laplace=laplace) for part in parts)
