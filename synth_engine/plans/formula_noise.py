"""Noise of tables of single columns by a formula, for forecasts that have no time for calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.measurement import Noise, NoiseLaw
from synth_engine.privacy import conversion
from synth_engine.privacy.unit import histogram_sensitivity
from synth_engine.spec import Spec


def by_formula(
    law: NoiseLaw, weights: Mapping[str, Fraction], *, domain: Domain, spec: Spec
) -> dict[str, Noise]:
    """Noise for one table of each name, whose shares of epsilon (Laplace) or rho (Gaussian) are in proportion
    to the weights. What privacy-loss distributions would take off it, a few per cent, takes longer than a
    page may."""
    sensitivity = histogram_sensitivity(domain.unit, domain.relation)
    whole = float(sum(weights.values()))
    if law == "discrete-laplace":
        # Of epsilon, table i has the share weight_i / sum: its Laplace scale is l1 / epsilon_i.
        scales = [
            sensitivity.l1 * whole / float(spec.epsilon * weight) for weight in weights.values()
        ]
    else:
        # sigma^2 = l2^2 / (2 rho_i), with rho_i the share of table i (Bun and Steinke 2016,
        # Proposition 1.6).
        per_rho = (
            sensitivity.l2_squared
            * whole
            / (2 * float(conversion.rho_for(spec.epsilon, spec.delta)))
        )
        scales = [math.sqrt(per_rho / float(weight)) for weight in weights.values()]
    return {
        name: Noise(law=law, scale=Fraction(scale))
        for name, scale in zip(weights, scales, strict=True)
    }
