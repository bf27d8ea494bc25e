"""A spec: exact amounts, strict fields, the same after JSON."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.errors import SpecError
from synth_engine.spec import Spec

GOOD: dict[str, Any] = {"mechanism": "independent", "epsilon": "1"}


def test_a_spec_from_json_is_exact() -> None:
    spec = Spec.from_json(
        GOOD
        | {
            "epsilon": "0.1",
            "delta": "1e-9",
            "rows": 0,
            "seed": "s",
            "parameters": {"noise": "laplace"},
        }
    )
    assert (spec.epsilon, spec.delta) == (Fraction(1, 10), Fraction(1, 10**9))
    assert spec.rows is None
    assert spec.parameters == {"noise": "laplace"}


@given(
    st.fractions(min_value=Fraction(1, 10**4), max_value=1000, max_denominator=10**8),
    st.one_of(
        st.just(Fraction(0)),
        st.fractions(
            min_value=Fraction(1, 10**9), max_value=Fraction(1, 10), max_denominator=10**9
        ),
    ),
    st.one_of(st.none(), st.integers(1, 10**9)),
)
def test_a_spec_survives_json(epsilon: Fraction, delta: Fraction, rows: int | None) -> None:
    spec = Spec(mechanism="independent", epsilon=epsilon, delta=delta, rows=rows)
    assert Spec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mechanism": ""}, "mechanism is missing"), ({"mechanism": None}, "mechanism is missing"),
        ({"epsilon": None}, "epsilon is missing"), ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"), ({"epsilon": "1e-5"}, "epsilon"), ({"epsilon": "1001"}, "epsilon"),
        ({"epsilon": [1]}, "epsilon"), ({"delta": "0.2"}, "delta"), ({"delta": "1e-30"}, "delta"),
        ({"rows": -1}, "rows"), ({"rows": 1.5}, "rows"), ({"rows": "5"}, "rows"), ({"rows": True}, "rows"),
        ({"rows": False}, "rows"),
        ({"rows": ""}, "rows"), ({"delta": ""}, "delta"), ({"delta": False}, "delta"),
        ({"parameters": []}, "parameters"),
        ({"rows": 10**10}, "rows"), ({"seed": ""}, "seed"), ({"seed": "x" * 201}, "seed"),
        ({"seed": "a\nb"}, "seed"),
        ({"seed": 5}, "seed"), ({"parameters": {"x": [[[[[1]]]]]}}, "parameter 'x'"),
        ({"parameters": "x"}, "parameters"),
        ({"eps": "1"}, "spec is an object"), ({"schema": "other"}, "unknown version"),
    ],
)  # fmt: skip
def test_a_malformed_spec_is_refused_by_the_name_of_its_field(
    change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        Spec.from_json(GOOD | change)
