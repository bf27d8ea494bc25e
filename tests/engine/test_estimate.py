"""The estimate of a plan: one calibration, and the numbers of the plan."""

from __future__ import annotations

from fractions import Fraction

import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer
from synth_engine.mechanisms import Estimate
from synth_engine.spec import Spec

DOMAIN = Domain(
    attributes=tuple(
        Integer(name=f"c{i}", low=0, high=size) for i, size in enumerate((1, 3, 6))
    )
)


def estimated(mechanism: str) -> Estimate:
    spec = Spec(mechanism=mechanism, epsilon=Fraction(2), delta=Fraction(1, 10**9))
    return mechanisms.estimate(DOMAIN, spec, rows=3_000)


@pytest.mark.parametrize("mechanism", ["auto", "mst", "aim", "privsyn", "bayesian-network"])
def test_it_states_what_its_plan_states(mechanism: str) -> None:
    found = estimated(mechanism)
    plan = found.plan
    assert found.errors == plan.expected_error(rows=3_000)
    assert found.resources == plan.needs(3_000)
    assert found.loss == plan.guarantee and found.noise == plan.events
    assert found.min_records_to_split is None


@pytest.mark.parametrize("mechanism", ["auto", "aim"])
def test_all_of_it_takes_one_calibration(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = mechanisms.REGISTRY[mechanism]
    original, calibrations = method.calibrate, []

    def counted(*args: object, **kwargs: object) -> mechanisms.Plan:
        calibrations.append(args)
        return original(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(method, "calibrate", counted)
    found = estimated(mechanism)
    assert found.errors.mean and found.resources.seconds and found.loss
    assert len(calibrations) == 1
