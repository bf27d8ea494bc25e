"""The error to expect of every mechanism at several epsilons, from public facts alone: what a chart beside epsilon draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypedDict

from synth_engine.domain import Domain
from synth_engine.errors import InputError, PrivacyError, SpecError
from synth_engine.mechanisms.plan import Mechanism
from synth_engine.spec import Spec


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
) -> list[Point]:
    """See `mechanisms.forecast_curve`."""
    return [
        point
        for name in registry
        for epsilon in epsilons
        if (point := _point(registry[name], domain, spec=replace(spec, epsilon=epsilon), rows=rows)) is not None
    ]


def _point(mechanism: type[Mechanism], domain: Domain, *, spec: Spec, rows: int | None) -> Point | None:
    """None where the mechanism does not offer this loss or this domain."""
    chosen = spec.parameters if spec.mechanism == mechanism.id else {}
    asked = replace(spec, mechanism=mechanism.id, parameters=chosen)
    try:
        found = mechanism.from_parameters(chosen).forecast(domain, asked, rows=rows)
    except (SpecError, InputError, PrivacyError):
        return None
    return Point(mechanism=mechanism.id, epsilon=float(spec.epsilon), oneway=found["mean"], pairs=found["mean_pairs"])
