"""Noise for several tables that together cost what is left of a budget, by formula."""

from __future__ import annotations

from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.measurement import Noise
from synth_engine.mechanisms.plan import Budget
from synth_engine.privacy import calibrate
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import histogram_sensitivity


def noises(
    budget: Budget, weights: tuple[Fraction, ...], *, domain: Domain, laplace: bool = False
) -> tuple[Noise, ...]:
    """For one table of counts for each weight: its share of epsilon, under Laplace noise, or of rho, under Gaussian noise
    unless `laplace` is asked for; there an epsilon costs half its square."""
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    if isinstance(budget, Pure):
        epsilons = calibrate.split(budget.epsilon, list(weights))
    elif laplace:
        squares = calibrate.split(budget.rho, [weight**2 for weight in weights])
        epsilons = [calibrate.root_down(2 * square) for square in squares]
    else:
        parts = calibrate.split(budget.rho, list(weights))
        sigmas = [calibrate.gaussian_sigma(part, sensitivity.l2_squared) for part in parts]
        return tuple(Noise(law="discrete-gaussian", scale=sigma) for sigma in sigmas)
    scales = [calibrate.laplace_scale(epsilon, sensitivity.l1) for epsilon in epsilons]
    return tuple(Noise(law="discrete-laplace", scale=scale) for scale in scales)
