"""The error to expect of every mechanism at several epsilons, from public facts alone: what a chart beside
epsilon draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypedDict

from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError, SpecError
from synth_engine.measurement import Noise, NoiseLaw
from synth_engine.plans import two_stage
from synth_engine.plans.plan import Mechanism, Rule
from synth_engine.privacy import conversion
from synth_engine.privacy.unit import histogram_sensitivity
from synth_engine.spec import Spec


def by_formula(
    law: NoiseLaw, weights: Mapping[str, Fraction], *, domain: Domain, spec: Spec
) -> dict[str, Noise]:
    """Noise for one table of each name, whose shares of epsilon (Laplace) or rho (Gaussian) are in proportion
    to the weights. What privacy-loss distributions would take off it, a few per cent, takes longer than a
    chart may."""
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


class Point(TypedDict):
    """A point of the chart; JSON as it is. `oneway` and `pairs`: mean total variation distance, 0 to 1."""

    mechanism: str
    epsilon: float
    oneway: float
    pairs: float


def curve(
    registry: Mapping[str, type[Mechanism]],
    domain: Domain,
    *,
    spec: Spec,
    epsilons: Sequence[Fraction],
    rows: int | None = None,
    rule: Rule = "basic",
) -> list[Point]:
    """See `mechanisms.forecast_curve`."""
    return [
        point
        for name in registry
        for epsilon in epsilons
        if (
            point := _point(
                registry[name],
                domain,
                spec=replace(spec, epsilon=epsilon),
                rows=rows,
                rule=rule,
            )
        )
        is not None
    ]


def _point(
    mechanism: type[Mechanism], domain: Domain, *, spec: Spec, rows: int | None, rule: Rule
) -> Point | None:
    """Returns a point of the chart; None where the mechanism does not offer this loss, or is
    not for such a domain."""
    if not mechanism.suits(domain):
        return None
    chosen = spec.parameters if spec.mechanism == mechanism.id else {}
    spec_of_mechanism = replace(spec, mechanism=mechanism.id, parameters=chosen)
    try:
        config = mechanism.from_parameters(chosen)
        if two_stage.needed(config, domain):
            domain, spec_of_mechanism = two_stage.mechanism_stage(
                config, domain, spec_of_mechanism
            )
        error = config.forecast(domain, spec_of_mechanism, rows=rows, rule=rule)
    except (SpecError, InputError, PrivacyError):
        return None
    return Point(
        mechanism=mechanism.id,
        epsilon=float(spec.epsilon),
        oneway=error.mean,
        pairs=error.mean_pairs,
    )
