"""The registry, what every mechanism must keep to, and what `independent` makes of its answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import jsonschema
import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Boolean, Categorical, Domain, Identifier, Integer
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.measurement import (
    AnsweredCall,
    Answers,
    Call,
    Candidate,
    Clique,
    Measurement,
    Noise,
    Query,
)
from synth_engine.models.model import (
    WHOLE,
    Model,
    Table,
    generator,
    round_to_total,
    whole_weights,
)
from synth_engine.privacy.loss import Pure, ZeroConcentrated
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.room import noise as exact_noise
from synth_engine.spec import Spec
from tests import plans

DELTA = Fraction(1, 10**9)


def domain_of(**changes: Any) -> Domain:
    attributes = (
        Identifier(name="name"),
        Integer(name="age", low=0, high=59),
        Categorical(name="colour", values=("red", "green", "blue"), other=True, missing=("?",)),
        Boolean(name="member"),
    )
    return replace(Domain(attributes=attributes), **changes)


def smooth_counts(domain: Domain, *, rows: int = 20_000) -> dict[str, np.ndarray]:
    ages = np.exp(-((np.arange(60) - 30) ** 2) / 400)
    return {
        "age": np.floor(ages / ages.sum() * rows).astype(np.int64),
        "colour": np.array([rows // 2, rows // 4, rows // 4, 0, 0], dtype=np.int64),
        "member": np.array([rows // 10, rows - rows // 10], dtype=np.int64),
    }


def place_of(name: str, *columns: str) -> dict[str, Any]:
    return {"name": name, "latitude": columns[0], "longitude": columns[1]}


def number(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "number",
        "low": 41,
        "high": 42,
        "outside": "clamp",
        "missing": None,
    }


def recommended(*attributes: dict[str, Any], **more: Any) -> str:
    document = {"schema": "synth_engine/domain/1", "attributes": list(attributes), **more}
    return mechanisms.recommended(Domain.from_json(document))


def test_the_method_recommended_is_one_that_suits_the_table() -> None:
    age, town, work = (
        {"name": "age", "kind": "integer", "low": 0, "high": 9},
        *(
            {"name": name, "kind": "categorical", "values": ["a", "b"], "other": True}
            for name in ("town", "work")
        ),
    )
    strings = {"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 4}
    word = {"name": "word", "kind": "weak", "values": strings, "rho": 0.9}
    home = (number("lat"), number("lon"))
    place = {"places": [place_of("home", "lat", "lon")]}
    totals = {
        "relation": "replace-one",
        "totals": {"column": "work", "counts": {"a": 3, "b": 4}},
    }
    assert mechanisms.recommended() == recommended(age, town) == "auto"
    assert recommended(*home, **place) == recommended(*home, age, **place) == "adaptive"
    assert recommended(*home, age, town, **place) == "auto"
    assert recommended(word) == "adaptive"
    assert recommended(town, work, **totals) == "on-the-map"
    assert recommended(town, work, age, **totals) == "auto"


@dataclass
class KnownCounts:
    """A session over known one-way counts with the real noise: enough for a mechanism that asks for nothing
    else."""

    domain: Domain
    known: dict[str, np.ndarray]
    answers: Answers = field(default_factory=Answers)

    def measure(self, clique: Clique, *, noise: Noise) -> Measurement:
        sensitivity = histogram_sensitivity(self.domain.unit, self.domain.relation)
        (name,) = clique
        query = Query(verb="measure", clique=clique, cells=self.domain.cells(clique))
        answer = Measurement(
            clique=clique, noise=noise, values=exact_noise.noisy(self.known[name], noise)
        )
        call = Call(query=query, event=noise.event(sensitivity))
        self.answers = Answers((*self.answers.answered, AnsweredCall(call, answer)))
        return answer

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        raise NotImplementedError


plan_of = partial(plans.plan_of, "independent")


def answers_of(plan: mechanisms.Plan, *, rows: int = 20_000) -> Answers:
    return plan.run(
        KnownCounts(domain=plan.domain, known=smooth_counts(plan.domain, rows=rows))
    )


@pytest.mark.parametrize("described", mechanisms.describe(), ids=lambda one: one["id"])
def test_a_mechanism_describes_itself_for_forms_and_help(described: dict[str, Any]) -> None:
    json.dumps(described)
    jsonschema.Draft202012Validator.check_schema(described["parameters"])
    defaults = {
        name: rule["default"] for name, rule in described["parameters"]["properties"].items()
    }
    jsonschema.validate(defaults, described["parameters"])
    assert described["kind"] in ("static", "adaptive")
    assert set(described["losses"]) <= {"pure", "approximate"}
    assert set(described["relations"]) <= {relation.value for relation in Relation}
    assert all(described[field] for field in ("id", "title", "summary", "paper", "keeps"))


@pytest.mark.parametrize("mechanism", mechanisms.REGISTRY.values(), ids=lambda one: one.id)
def test_a_mechanism_states_what_it_asks_and_assumes(
    mechanism: type[mechanisms.Mechanism],
) -> None:
    for section in ("Asks:", "Privacy:", "Public assumptions:"):
        assert section in (mechanism.__doc__ or "")


def test_every_modelled_attribute_is_measured_once_and_identifiers_never() -> None:
    plan = plan_of(domain_of())
    assert [call.query.clique for call in plan.calls] == [("age",), ("colour",), ("member",)]
    assert answers_of(plan).calls == plan.calls


def test_the_loss_is_pure_with_laplace_noise_and_zcdp_with_gaussian() -> None:
    assert isinstance(plan_of(domain_of()).loss, Pure)
    gaussian = plan_of(domain_of(), delta=DELTA, noise="gaussian")
    assert isinstance(gaussian.loss, ZeroConcentrated)
    assert gaussian.certificate == "pld"
    laplace = plan_of(domain_of(), delta=DELTA, noise="laplace")
    assert isinstance(laplace.loss, Pure)
    assert laplace.loss.epsilon <= 1
    assert (laplace.epsilon, laplace.certificate) == (1, "basic")


def test_left_open_the_noise_is_the_more_accurate_one_and_gaussian_where_rho_is_paid_for() -> (
    None
):
    spec = Spec(mechanism="independent", epsilon=Fraction(1), delta=DELTA)
    many = Domain(attributes=tuple(Integer(name=f"c{i}", low=0, high=9) for i in range(60)))
    assert {event.law for event in mechanisms.plan(domain_of(), spec).events} == {
        "discrete-laplace"
    }
    assert {event.law for event in mechanisms.plan(many, spec).events} == {"discrete-gaussian"}
    dear, cheap = (
        mechanisms.plan(domain_of(), spec),
        mechanisms.plan(domain_of(), spec, rule="zcdp"),
    )
    assert {event.law for event in cheap.events} == {"discrete-gaussian"}
    assert cheap.spec.parameters == {"noise": "gaussian"}
    assert cheap.rho < dear.rho / 5
    assert dear.expected_error(rows=1000).mean < cheap.expected_error(rows=1000).mean
    assert (
        mechanisms.plan(domain_of(), replace(spec, delta=Fraction(0)), rule="zcdp").certificate
        == "basic"
    )


def test_larger_attributes_get_a_larger_share() -> None:
    for delta in (Fraction(0), DELTA):
        rhos = [event.rho() for event in plan_of(domain_of(), delta=delta).events]
        assert rhos[0] > rhos[1] > rhos[2]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"noise": "uniform"}, "one of"),
        ({"nosie": "laplace"}, "no parameter 'nosie'"),
        ({"noise": 3}, "type string"),
    ],
)
def test_wrong_parameters_are_refused_by_name(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        plan_of(domain_of(), **parameters)


def test_gaussian_noise_without_delta_and_unknown_mechanisms_are_refused() -> None:
    with pytest.raises(SpecError, match="delta above 0"):
        plan_of(domain_of(), noise="gaussian")
    with pytest.raises(SpecError, match="no mechanism of this name"):
        mechanisms.plan(domain_of(), Spec(mechanism="magic", epsilon=Fraction(1)))


def test_a_domain_with_facts_only_suggested_by_the_data_is_refused() -> None:
    suggested = Domain(attributes=(Integer(name="age", low=0, high=9, provenance="suggested"),))
    with pytest.raises(DomainError, match="suggested"):
        plan_of(suggested)


def test_a_plan_is_named_by_what_fixes_the_run_and_by_nothing_else() -> None:
    base = Spec(mechanism="independent", epsilon=Fraction(1))
    plan = mechanisms.plan(domain_of(), base)
    same = [
        replace(base, seed="x"),
        replace(base, rows=7),
        replace(base, parameters={"noise": "by-delta"}),
    ]
    assert {mechanisms.plan(domain_of(), spec).digest for spec in same} == {plan.digest}
    others = [
        replace(base, epsilon=Fraction(2)),
        replace(base, delta=DELTA),
        replace(base, parameters={"noise": "laplace"}),
    ]
    digests = {mechanisms.plan(domain_of(), spec).digest for spec in others}
    digests.add(mechanisms.plan(domain_of(relation=Relation.REPLACE_ONE), base).digest)
    assert len(digests | {plan.digest}) == 5


def test_the_price_is_in_ledger_units_rounded_up() -> None:
    plan = plan_of(domain_of(), epsilon="1/3", delta=DELTA)
    assert plan.cost("basic") == (333_333_334, 10**9, 0)
    assert plan.cost("zcdp")[2] == -(-plan.rho.numerator * 10**9 // plan.rho.denominator)


def test_the_same_answers_give_the_same_model_and_table_byte_for_byte() -> None:
    plan = plan_of(domain_of())
    answers = answers_of(plan)
    one, two = plan.fit(answers), plan.fit(answers)
    assert json.dumps(one.to_json()) == json.dumps(two.to_json())
    again = Model.from_json(json.loads(json.dumps(one.to_json())))
    first = mechanisms.draw_table(one, 500, "a seed").to_csv()
    assert first == mechanisms.draw_table(again, 500, "a seed").to_csv()
    assert first != mechanisms.draw_table(one, 500, "another seed").to_csv()


def test_the_model_is_near_the_truth_and_its_error_below_what_was_expected() -> None:
    """The error of two cells has nearly an exponential law, whose mean is 0.9 of what was expected: the mean
    of a hundred goes beyond 1.6 once in 10⁸ times."""
    domain = domain_of()
    truth = smooth_counts(domain)
    for delta in (Fraction(0), DELTA):
        plan = plan_of(domain, delta=delta, epsilon="0.02")
        expected = plan.expected_error(rows=20_000)
        distances: list[dict[str, float]] = []
        for _ in range(100):
            model = plan.fit(answers_of(plan))
            distances.append(
                {
                    table.clique[0]: 0.5
                    * float(np.abs(table.weights / WHOLE - counts / counts.sum()).sum())
                    for table, counts in zip(model.tables, truth.values(), strict=True)
                }
            )
            assert abs(model.rows - 20_000) < 9_000
        for name, bound in expected.attributes.items():
            assert np.mean([one[name] for one in distances]) < 1.6 * bound
        raw = domain.sizes["age"] * plan.noises[0].mean_deviation / 2 / 20_000  # type: ignore[attr-defined]
        assert np.mean([one["age"] for one in distances]) < 0.75 * min(raw, 1), (
            "smoothing must help"
        )


def test_a_public_number_of_rows_is_used_as_it_is() -> None:
    plan = plan_of(domain_of(relation=Relation.REPLACE_ONE, rows=20_000))
    assert plan.fit(answers_of(plan)).rows == 20_000


def test_an_empty_table_gives_a_model_that_can_still_be_drawn_from() -> None:
    plan = plan_of(domain_of())
    model = plan.fit(answers_of(plan, rows=0))
    assert model.rows >= 0
    assert len(mechanisms.draw_table(model, 50, "s")) == 50
    assert list(mechanisms.draw_table(model, 0, "s").columns) == ["age", "colour", "member"]


def test_expected_error_falls_with_rows_and_is_never_above_one() -> None:
    plan = plan_of(domain_of(), epsilon="0.01")
    means = [plan.expected_error(rows=rows).mean for rows in (1, 100, 10_000, 1_000_000)]
    assert means == sorted(means, reverse=True)
    assert means[0] <= 1


def model_of(*weights: int, rows: int) -> Model:
    domain = Domain(attributes=(Integer(name="x", low=0, high=len(weights) - 1),))
    table = Table(clique=("x",), weights=np.array(weights, dtype=np.int64))
    return Model(mechanism="independent", domain=domain, rows=rows, tables=(table,))


def test_a_sample_has_the_nearest_whole_counts() -> None:
    model = model_of(WHOLE // 2, WHOLE // 4, WHOLE // 4, rows=10)
    codes = model.sample(10, seed="s")["x"]
    assert sorted(np.bincount(codes, minlength=3).tolist()) == [2, 3, 5]


def test_a_small_sample_of_a_large_model_is_not_the_commonest_value_over_and_over() -> None:
    model = model_of(*[WHOLE // 100] * 100, rows=10_000)
    drawn = {int(model.sample(1, seed=str(i))["x"][0]) for i in range(200)}
    assert len(drawn) > 50


@pytest.mark.parametrize("rows", [-1, 2.0, True, None, 10**10])
def test_a_sample_of_an_odd_size_is_refused(rows: Any) -> None:
    with pytest.raises(SpecError):
        model_of(WHOLE, rows=1).sample(rows, seed="s")


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": "other"}, {"rows": -5}, {"tables": []}, {"rows": "many"}, {"domain": {}},
        {"tables": [{"clique": ["x"], "weights": [1, 2]}]},
        {"tables": [{"clique": ["x"], "weights": [-1, WHOLE + 1]}]},
        {"tables": [{"clique": ["x"], "weights": [WHOLE]}]},
        {"tables": [{"clique": ["y"], "weights": [WHOLE, 0]}]},
    ],
)  # fmt: skip
def test_a_damaged_model_is_refused(damage: dict[str, Any]) -> None:
    document = model_of(WHOLE // 2, WHOLE // 2, rows=3).to_json()
    Model.from_json(document)
    with pytest.raises(InputError):
        Model.from_json(document | damage)


def test_whole_weights_add_up_whatever_the_shares() -> None:
    rng = np.random.default_rng(1)
    for shares in (
        np.zeros(7),
        np.array([np.nan, 1.0]),
        np.array([1e-300, 1.0]),
        rng.random(10_000),
        np.array([3.0]),
    ):
        weights = whole_weights(shares)
        assert weights.sum() == WHOLE
        assert weights.min() >= 0


def test_rounding_keeps_the_total_and_stays_within_one() -> None:
    weights = whole_weights(np.random.default_rng(2).random(300))
    for total in (0, 1, 299, 12_345, 10**9):
        counts = round_to_total(weights, total)
        assert counts.sum() == total
        assert np.abs(counts - weights * (total / WHOLE)).max() <= 1 + 1e-6


def test_the_streams_of_post_processing_are_separate() -> None:
    streams = [("a", ("x",)), ("b", ("x",)), ("a", ("y",)), ("a", ("x", "")), ("a", ())]
    draws = {generator(seed, purpose=purpose).integers(2**60) for seed, purpose in streams}
    assert len(draws) == len(streams)
    assert generator("a", purpose=("x",)).integers(2**60) == generator(
        "a", purpose=("x",)
    ).integers(2**60)
