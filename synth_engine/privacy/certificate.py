"""An independent accountant confirms the calls of a static plan before anything is drawn.

It takes seconds to load, so the web process, which only plans, never loads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from synth_engine.errors import PrivacyError
from synth_engine.privacy import pld
from synth_engine.privacy.events import Event
from synth_engine.privacy.unit import PrivacyUnit, Relation

_INTERVALS = 1_500
_TAIL = 1e-6
"""The part of delta that each step of the composition may truncate. The library's own choice is a fixed
1e-15, which for sixty tables adds up to several hundredths of a delta of 1e-12: more than the margin."""


def composed_epsilon(
    calls: Iterable[tuple[str, Event]],
    *,
    delta: Fraction,
    unit: PrivacyUnit,
    relation: Relation,
    near: Fraction,
) -> float:
    """The epsilon of the composition by dp-accounting, which rounds losses so that it errs upwards.

    calls: the verb and the event of each. near: the expected epsilon, which sets the grid alone.
    """
    # Imported late: a process that only plans never needs it.
    from dp_accounting.pld import privacy_loss_distribution as pld_library  # type: ignore[import-untyped]

    parts = pld.losses(calls, cells=pld.cells_that_move(unit, relation))
    # By what is larger: losses that spread far beyond a small epsilon would need millions of intervals of its
    # size.
    interval = max(float(near), pld.deviation(parts)) / (_INTERVALS * math.sqrt(parts.total()))
    total, tail = (
        pld_library.identity(value_discretization_interval=interval),
        float(delta) * _TAIL,
    )
    for part, times in parts.items():
        if isinstance(part, pld.RandomizedResponsePLD):
            distribution = pld_library.from_discrete_laplace_mechanism(
                part.epsilon, value_discretization_interval=interval, use_connect_dots=True
            )
        else:
            distribution = pld_library.from_discrete_gaussian_mechanism(
                part.sigma,
                sensitivity=1,
                value_discretization_interval=interval,
                use_connect_dots=True,
            )
        total = total.compose(
            distribution.self_compose(times, tail) if times > 1 else distribution, tail
        )
    return float(total.get_epsilon_for_delta(float(delta)))


def confirm(
    calls: Iterable[tuple[str, Event]],
    *,
    epsilon: Fraction,
    delta: Fraction,
    unit: PrivacyUnit,
    relation: Relation,
) -> None:
    """Confirm that the calls meet (epsilon, delta) by composition of privacy-loss distributions.

    calls: the verb and the event of each. Errors: PrivacyError.
    """
    if (
        composed_epsilon(calls, delta=delta, unit=unit, relation=relation, near=epsilon)
        > epsilon
    ):
        raise PrivacyError("the calls planned are not certified to meet their target")
