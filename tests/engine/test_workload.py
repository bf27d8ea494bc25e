"""What a release is for: checked against the description, and turned into weights of tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import jsonschema
import pytest

from synth_engine.domain import Domain, Integer
from synth_engine.errors import SpecError
from synth_engine.mechanisms.uniform import Random
from synth_engine.plans import parameters
from synth_engine.plans.workload import PROPERTIES, TARGET_FACTOR, Weighted, Workload, targets
from synth_engine.spec import Spec

DOMAIN = Domain.from_json(
    {
        "attributes": [
            {"name": "person", "kind": "identifier"},
            {"name": "age", "kind": "integer", "low": 0, "high": 9},
            {"name": "job", "kind": "categorical", "values": ["clerk", "smith"], "other": True},
            {"name": "here", "kind": "categorical", "values": ["yes"], "outside": "clamp"},
            {"name": "remark", "kind": "text", "max_length": 9, "signs": ["lower"]},
            {
                "name": "town",
                "kind": "weak",
                "values": {"set": "pattern", "pattern": "[a-z]{4}"},
            },
            {"name": "income", "kind": "range", "of": "integer", "low": 0, "high": 10**6},
        ]
    }
)
SCHEMA = {"type": "object", "properties": dict(PROPERTIES)}


def workload(**given: Any) -> Workload:
    return Workload.from_parameters(parameters.validate(given, schema=SCHEMA))


def test_its_parameters_are_a_json_schema_that_their_defaults_meet() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({name: rule["default"] for name, rule in PROPERTIES.items()}, schema)


def test_by_default_all_pairs_count_alike() -> None:
    pairs = workload().validate(DOMAIN).pair_weights(DOMAIN)
    assert pairs == dict.fromkeys(combinations(DOMAIN.names, 2), 1.0)
    assert workload().clique_weights(DOMAIN) == pairs


def test_pairs_with_the_target_count_more_and_weights_multiply() -> None:
    pairs = (
        workload(target="job", weights={"age": 3, "job": 2, "remark": 0})
        .validate(DOMAIN)
        .pair_weights(DOMAIN)
    )
    assert pairs["age", "job"] == TARGET_FACTOR * 6
    assert pairs["job", "town"] == TARGET_FACTOR * 2
    assert pairs["age", "town"] == 3
    assert pairs["here", "town"] == 1
    assert {pair for pair, weight in pairs.items() if not weight} == {
        pair for pair in pairs if "remark" in pair
    }
    assert len(pairs) == 15


def test_listed_tables_count_instead_of_all_pairs_in_the_order_of_the_columns() -> None:
    asked = workload(
        marginals=[["town", "job"], ["income", "age", "town"]], weights={"income": 2}
    ).validate(DOMAIN)
    assert asked.clique_weights(DOMAIN) == {
        ("job", "town"): 1.0,
        ("age", "town", "income"): 2.0,
    }
    assert asked.pair_weights(DOMAIN) == {
        ("job", "town"): 1.0,
        ("age", "town"): 1.0,
        ("age", "income"): 2.0,
        ("town", "income"): 2.0,
    }


def test_beside_listed_tables_a_target_still_counts_with_every_column() -> None:
    pairs = (
        workload(target="job", marginals=[["age", "town"]])
        .validate(DOMAIN)
        .pair_weights(DOMAIN)
    )
    assert pairs == {
        ("age", "town"): 1.0,
        ("age", "job"): 4.0,
        ("job", "here"): 4.0,
        ("job", "remark"): 4.0,
        ("job", "town"): 4.0,
        ("job", "income"): 4.0,
    }


BAD: list[tuple[dict[str, Any], str]] = [
    ({"target": "Brunhilde"}, "target names no column"),
    ({"target": "person"}, "target names an identifier"),
    ({"target": "remark"}, "target is a column of made-up texts"),
    ({"target": "here"}, "target has one value"),
    ({"target": "job", "weights": {"job": 0}}, "weights gives the target 0"),
    ({"weights": {"age": 1, "Brunhilde": 2}}, "weights, entry 2, names no column"),
    ({"weights": {"person": 2}}, "weights, entry 1, names an identifier"),
    ({"weights": {"age": 1e-9}}, "weights: a weight is neither 0 nor between"),
    ({"weights": {"age": 1001}}, "entry 1 of parameter 'weights' must lie between"),
    ({"weights": {"age": -1}}, "between"),
    ({"weights": dict.fromkeys(DOMAIN.names[1:], 0)}, "weights leave no pair"),
    ({"weights": {"age": 0}, "marginals": [["age", "job"]]}, "weights leave no pair"),
    ({"marginals": [["age", "job"], []]}, "entry 2 of parameter 'marginals' has fewer"),
    ({"marginals": [["age"]]}, "fewer than 2"),
    ({"marginals": [["age", "job", "town", "income"]]}, "more than 3"),
    ({"marginals": [["age", "age"]]}, "marginals, entry 1, names a column twice"),
    (
        {"marginals": [["age", "job"], ["town", "Brunhilde"]]},
        "marginals, entry 2, names no column",
    ),
    ({"marginals": [["age", "person"]]}, "marginals, entry 1, names an identifier"),
    (
        {"marginals": [["age", "job"], ["age", "town"], ["job", "age"]]},
        "entry 3, is entry 1 once more",
    ),
]


@pytest.mark.parametrize(("given", "reason"), BAD)
def test_what_the_description_does_not_allow_is_refused_by_name_and_with_a_repair(
    given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason) as refused:
        workload(**given).validate(DOMAIN)
    assert refused.value.repair
    assert "Brunhilde" not in refused.value.text


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"marginals": ((),)}, "is empty"),
        ({"marginals": (("age",),)}, "has 1 columns"),
        ({"weights": {"age": float("inf")}}, "neither 0 nor between"),
        ({"weights": {"age": float("nan")}}, "neither 0 nor between"),
        ({"marginals": (("age", "job"),) * 1001}, "more than 1000"),
    ],
)
def test_what_no_schema_has_seen_is_refused_too(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        Workload(**given).validate(DOMAIN)


def test_the_largest_and_smallest_weights_are_fine() -> None:
    pairs = (
        workload(target="age", weights={"age": 1000, "job": 1000, "town": 0.001})
        .validate(DOMAIN)
        .pair_weights(DOMAIN)
    )
    assert pairs["age", "job"] == 4e6
    assert pairs["job", "town"] == 1


def test_a_target_that_is_yet_to_be_learned_is_taken_whatever_becomes_of_it() -> None:
    asked = workload(target="town").validate(DOMAIN)
    learned = DOMAIN.resolve(
        {
            "town": DOMAIN.undeclared[0].from_ranks([]),
            "income": DOMAIN.undeclared[1].cut([0, 5, 9]),
        }
    )
    assert learned.sizes["town"] == 1
    assert asked.validate(learned).pair_weights(learned)["age", "town"] == TARGET_FACTOR


def test_the_columns_that_can_be_predicted_are_those_that_a_target_may_name() -> None:
    taken = []
    for name in ("person", *DOMAIN.names):
        try:
            workload(target=name).validate(DOMAIN)
        except SpecError:
            continue
        taken.append(name)
    assert targets(DOMAIN) == tuple(taken) == ("age", "job", "town", "income")


def test_one_column_alone_has_no_pairs_and_is_no_error() -> None:
    domain = Domain(attributes=(Integer(name="age", low=0, high=9),))
    assert workload(weights={"age": 2}).validate(domain).pair_weights(domain) == {}


@dataclass(frozen=True, kw_only=True)
class Purposeful(Weighted, Random):
    id: ClassVar[str] = "purposeful"
    parameters: ClassVar[dict[str, Any]] = SCHEMA


def test_a_mechanism_with_a_workload_refuses_a_wrong_one_before_it_is_calibrated_and_keeps_a_right_one() -> (
    None
):
    spec = Spec(mechanism="purposeful", epsilon=Fraction(1), parameters={"target": "nobody"})
    with pytest.raises(SpecError, match="target"):
        Purposeful.from_parameters(spec.parameters).plan(DOMAIN, spec)
    given = {"target": "job", "weights": {"age": 2.0}, "marginals": [["age", "town"]]}
    plan = Purposeful.from_parameters(given).plan(DOMAIN, spec)
    assert json.loads(json.dumps(plan.spec.parameters)) == given
    assert Purposeful.from_parameters(plan.spec.parameters) == plan.config
