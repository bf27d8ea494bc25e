"""Constraints on columns that a run learns: checked as far as public facts go, enforced in every value, never
a reason to fail."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, tables, verifier
from synth_engine.domain import (
    Categorical,
    Constraint,
    Dependency,
    Domain,
    ExistingPairs,
    Impossible,
    MissingIff,
    NotFound,
    Order,
    Range,
    Scale,
    ScaleBins,
    Weak,
)
from synth_engine.domain.conditions import ValueRange
from synth_engine.errors import DomainError
from synth_engine.evaluation.figures.constraints import FIGURE, verdict
from synth_engine.measurement.replay import Replay
from synth_engine.models.model import Model, Table, whole_weights
from synth_engine.spec import Spec
from synth_engine.values.lists import Listed

ROWS = 1_500
OPEN = (
    Scale(name="a", of="integer"),
    Scale(name="b", of="integer"),
    Scale(name="age", of="integer", missing=("-1",)),
    Scale(name="wage", of="number", step=0.01, missing=("",)),
    Categorical(name="married", values=("yes", "no"), outside="clamp"),
)
RULES: tuple[Constraint, ...] = (
    Order(first="a", second="b"),
    Impossible(combination={"age": (ValueRange(high=16),), "married": ("yes",)}),
    MissingIff(column="wage", when="age", values=(ValueRange(low=18, high=21), "70")),
)


def bins(name: str, cuts: tuple[int, ...], **more: Any) -> ScaleBins:
    """A column as a run may learn it; positions begin at 0."""
    scale = Scale(name=name, **{"of": "integer", "low": 0, "high": 999} | more)
    weights = tuple(range(1, len(cuts)))
    resolved = scale.resolved(cuts=cuts, pieces=cuts, weights=weights)
    assert isinstance(resolved, ScaleBins)
    return resolved


def flat(*attributes: Any, rules: tuple[Constraint, ...]) -> Model:
    domain = Domain(attributes=attributes, constraints=rules)
    made = tuple(
        Table(clique=(n,), weights=whole_weights(np.ones(k))) for n, k in domain.sizes.items()
    )
    return Model(mechanism="independent", domain=domain, rows=ROWS, tables=made)


def draw(model: Model, seed: str = "s") -> pd.DataFrame:
    return mechanisms.draw_table(model, ROWS, seed)


def broken(frame: pd.DataFrame) -> dict[str, int]:
    age, wage = frame["age"].astype("Float64"), frame["wage"]
    listed = (age.between(18, 21) | (age == 70)).fillna(False)
    return {
        "order": int((frame["a"] > frame["b"]).sum()),
        "impossible": int(((age <= 16).fillna(False) & (frame["married"] == "yes")).sum()),
        "missing": int((wage.isna() != listed).sum()),
    }


def write(path: Path, *, contradicting: bool = False) -> Path:
    rng = np.random.default_rng(7)
    a = rng.poisson(4, ROWS)
    age = rng.integers(0, 90, ROWS)
    away = ((age >= 18) & (age <= 21)) | (age == 70)
    frame = pd.DataFrame(
        {
            "a": a + 10_000 * contradicting,
            "b": a + rng.poisson(3, ROWS),
            "age": age,
            "wage": np.where(away, "", np.round(rng.gamma(2, 900, ROWS), 2).astype(str)),
            "married": np.where(age <= 16, "no", rng.choice(["yes", "no"], ROWS)),
        }
    )
    frame.to_csv(path, index=False)
    return path


def run(path: Path, mechanism: str, rules: tuple[Constraint, ...] = RULES) -> Any:
    spec = Spec(mechanism=mechanism, epsilon=Fraction(3), delta=Fraction(1, 10**6), seed="s")
    return pipeline.synthesize(
        path, domain=Domain(attributes=OPEN, constraints=rules), spec=spec
    )


@pytest.mark.parametrize("mechanism", ["auto", "mst", "independent", "bayesian-network"])
def test_no_row_of_any_sample_breaks_a_constraint_on_learned_columns(
    mechanism: str, tmp_path: Path
) -> None:
    release = run(write(tmp_path / "table.csv"), mechanism)
    assert release.model.domain.enforcement.left_out == ()
    for seed in ("one", "two", "three"):
        frame = draw(release.model, seed)
        assert broken(frame) == {"order": 0, "impossible": 0, "missing": 0}
    plain = draw(release.model.unconstrained, "one")
    assert all(broken(plain).values()), "nothing was to be enforced"
    receipt: Any = release.plan.receipt(release.answers)
    assert "constraints_left_out" not in receipt["post_processing"]
    verifier.verify(json.loads(json.dumps(receipt)))


def test_a_rule_that_what_was_learned_contradicts_is_left_out_and_stated(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "table.csv", contradicting=True)
    release = run(path, "independent")
    (left,) = release.model.domain.enforcement.left_out
    assert left.constraint == RULES[0]
    receipt: Any = release.plan.receipt(release.answers)
    assert receipt["post_processing"]["constraints_left_out"] == [left.sentence]
    verified = verifier.verify(json.loads(json.dumps(receipt)))
    assert "a ≤ b" in verifier.report(verified)
    found = [
        each.sentence for each in release.plan.constraints_left_out(Replay(release.answers))
    ]
    assert found == [left.sentence]
    frame = draw(release.model)
    assert broken(frame) == {"order": ROWS, "impossible": 0, "missing": 0}
    entries = pipeline.report(path, model=release.model, rows=200, seed="s")["constraints"]
    assert [("left_out" in entry) for entry in entries] == [True, False, False, False]
    assert entries[0]["records"] == {"real": None, "unenforced": None, "synthetic": None}
    assert entries[-1]["records"]["synthetic"] == 0


def test_constraints_change_neither_what_is_asked_nor_what_it_costs(tmp_path: Path) -> None:
    """The noise of two runs differs, so both are given the same answers: then both go on to ask the same."""
    path = write(tmp_path / "table.csv")
    release = run(path, "mst")
    without = mechanisms.plan(Domain(attributes=OPEN), release.plan.spec)
    assert without.loss == release.plan.loss
    assert without.cap == release.plan.cap
    assert without.questions == release.plan.questions
    model = without.fit(release.answers)
    assert model.domain.sizes == release.model.domain.sizes
    assert [table.to_json() for table in model.tables] == [
        table.to_json() for table in release.model.tables
    ]


# --- what is checked before anything is learned -------------------------------------------------------------
TOWNS = Weak(name="town", values=Listed(("Ayer", "Dover", "Salem")), outside="other")
BOUNDED = (
    Scale(name="low", of="integer", low=0, high=9),
    Scale(name="high", of="integer", low=10, high=19),
    Scale(name="day", of="date"),
    *OPEN,
    TOWNS,
)


@pytest.mark.parametrize(
    ("rules", "column", "says"),
    [
        ((Order(first="high", second="low"),), "low", "bounds"),
        ((Order(first="a", second="day"),), "a", "do not compare"),
        ((Order(first="a", second="town"),), "town", "no number"),
        ((Order(first="a", second="b"), Order(first="b", second="a")), "a", "circle"),
        (
            (Impossible(combination={"low": ("12",), "married": ("yes",)}),),
            "low",
            "can hold",
        ),
        (
            (Impossible(combination={"low": (ValueRange(low=50),), "a": ("1",)}),),
            "low",
            "no value",
        ),
        ((MissingIff(column="low", when="married", values=("no",)),), "low", "cannot have"),
        ((MissingIff(column="wage", when="town", values=("York",)),), "town", "not in the set"),
        ((Impossible(combination={"low": (ValueRange(),)}),), "low", "no record"),
        ((Order(first="a", second="nobody"),), "nobody", "not described"),
        (
            (Dependency(given="a", gives="b", table=(("1", "2"), ("1", "3"))),),
            "a",
            "says again",
        ),
    ],
)
def test_what_public_facts_decide_is_refused_at_once(
    rules: tuple[Constraint, ...], column: str, says: str
) -> None:
    with pytest.raises(DomainError, match=says) as caught:
        Domain(attributes=BOUNDED, constraints=rules)
    assert caught.value.column == column
    assert caught.value.repair


def test_a_description_with_such_rules_survives_json() -> None:
    rules = (
        *RULES,
        Dependency(given="town", gives="married", table=(("Ayer", "no"),)),
        ExistingPairs(first="low", second="high", table=(("1", "12"), ("2", "13"))),
        Impossible(combination={"day": (ValueRange(low="2020-01-01"),), "town": ("Dover",)}),
    )
    domain = Domain(attributes=BOUNDED, constraints=rules)
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again.digest == domain.digest
    assert again.enforcement.left_out == ()


# --- what is judged of what was learned ---------------------------------------------------------------------
AB = (bins("a", (0, 5, 40)), bins("b", (3, 9, 30)))
MARRIED = Categorical(name="married", values=("yes", "no"), outside="clamp")


def test_order_is_kept_within_bins_that_overlap_and_between_decimals_and_whole_numbers() -> (
    None
):
    decimals = bins("b", (0, 7, 2_000), of="number", low=-1.0, high=40.0, step=0.01)
    model = flat(bins("a", (0, 5, 40)), decimals, rules=(Order(first="a", second="b"),))
    frame = draw(model)
    assert (frame["a"] <= frame["b"]).all()
    assert (frame["a"] < 5).any()
    steps = frame["b"] * 100
    assert (np.abs(steps - steps.round()) < 1e-6).all(), "a value left the lattice"


def test_values_of_one_bin_are_told_apart(tmp_path: Path) -> None:
    """Each of these cuts a bin in two: the rule then holds for its values, and both of its parts occur."""
    age = bins("age", (0, 30, 100), missing=("x",))
    wage = bins("wage", (0, 500), missing=("",))
    rules = (
        Impossible(combination={"age": (ValueRange(high=16),), "married": ("yes",)}),
        MissingIff(column="wage", when="age", values=(ValueRange(low=18, high=21), "70")),
        Dependency(given="age", gives="wage", table=(("25", "444"),)),
    )
    model = flat(age, wage, MARRIED, rules=rules)
    frame = draw(model)
    young = (frame["age"] <= 16).fillna(False)
    assert young.any() and (frame["married"] == "yes").any()
    assert not (young & (frame["married"] == "yes")).any()
    away = (frame["age"].between(18, 21) | (frame["age"] == 70)).fillna(False)
    assert (frame["wage"].isna() == away).all()
    assert (frame.loc[(frame["age"] == 25).fillna(False), "wage"] == 444).all()
    tables.write(model, 300, seed="s", path=tmp_path / "a.csv")
    read = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    numbers = pd.to_numeric(read["age"], errors="coerce")
    assert ((read["wage"] == "") == (numbers.between(18, 21) | (numbers == 70))).all()


def test_pairs_of_learned_numbers_are_those_that_exist() -> None:
    pairs = (("1", "4"), ("7", "8"), ("38", "20"), ("900", "901"))
    frame = draw(flat(*AB, rules=(ExistingPairs(first="a", second="b", table=pairs),)))
    assert set(zip(frame["a"], frame["b"], strict=True)) <= {(1, 4), (7, 8), (38, 20)}


def test_days_are_told_apart_by_the_day() -> None:
    day = Scale(name="day", of="date").resolved(
        cuts=(300_000, 400_000), pieces=(300_000, 400_000), weights=(1,)
    )
    rule = Impossible(combination={"day": (ValueRange(low="2000-02-01"),), "married": ("yes",)})
    frame = draw(flat(day, MARRIED, rules=(rule,)))
    late = frame["day"] >= "2000-02-01"
    assert late.any() and not (late & (frame["married"] == "yes")).any()


def _learned(**given: Any) -> Categorical:
    facts = {"kind": "declared", "values": "learned", "missing": "declared"}
    return Categorical(name="town", provenance=facts, other=True, **given)


@pytest.mark.parametrize(
    ("attributes", "rule", "reason"),
    [
        ((bins("a", (50, 60)), bins("b", (0, 9))), Order(first="a", second="b"), "bounds"),
        (
            (NotFound.of(Scale(name="a", of="integer")), AB[1]),
            Order(first="a", second="b"),
            "nothing was found of a",
        ),
        (
            (bins("a", (50, 60)), MARRIED),
            Impossible(combination={"a": ("3",), "married": ("yes",)}),
            "none of the values",
        ),
        (
            (bins("a", (3, 4)), MARRIED),
            Impossible(combination={"a": ("3",), "married": ("yes", "no")}),
            "no record possible",
        ),
        (
            (_learned(values=("Ayer",)), bins("a", (0, 9), missing=("",))),
            MissingIff(column="a", when="town", values=("Salem",)),
            "none of the values",
        ),
        (
            AB,
            ExistingPairs(first="a", second="b", table=(("700", "701"),)),
            "none of the values",
        ),
    ],
)
def test_a_rule_for_which_nothing_was_found_is_left_out_and_the_rest_is_kept(
    attributes: tuple[Any, ...], rule: Constraint, reason: str
) -> None:
    more = (bins("c", (0, 20)), bins("d", (0, 20)))
    model = flat(*attributes, *more, rules=(rule, Order(first="c", second="d", strict=True)))
    (left,) = model.domain.enforcement.left_out
    assert left.constraint == rule
    assert reason in left.reason
    frame = draw(model)
    assert (frame["c"] < frame["d"]).all()
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again.domain.enforcement.left_out == model.domain.enforcement.left_out


def test_bins_of_a_range_are_cut_nowhere() -> None:
    pay = Range(name="pay", of="integer", low=0, high=1_000)
    rules = (
        Order(first="a", second="pay"),
        Impossible(combination={"pay": (ValueRange(high=7),), "married": ("yes",)}),
    )
    open_ = Domain(attributes=(pay, AB[0], MARRIED), constraints=rules)
    domain = open_.resolve({"pay": pay.cut([0, 5, 20])})
    assert domain.enforcement.enforced == rules[:1]
    assert ["cuts a bin" in each.reason for each in domain.enforcement.left_out] == [True]
    fitting = open_.resolve({"pay": pay.cut([0, 8, 20])})
    assert fitting.enforcement.left_out == ()


def test_of_rules_that_exclude_each_other_the_first_ones_are_kept() -> None:
    rules = (
        Impossible(combination={"a": (ValueRange(low=5),), "married": ("yes", "no")}),
        Impossible(combination={"a": (ValueRange(high=9),), "married": ("yes", "no")}),
    )
    domain = flat(AB[0], MARRIED, rules=rules).domain
    assert domain.enforcement.enforced == rules[:1]
    assert [each.constraint for each in domain.enforcement.left_out] == [rules[1]]


def test_a_value_that_was_not_found_is_other_where_a_table_gives_it() -> None:
    town = _learned(values=("Ayer",))
    rule = Dependency(
        given="a", gives="town", table=(("3", "Salem"), ("4", "Ayer"), ("99", "Ayer"))
    )
    frame = draw(flat(bins("a", (0, 9)), town, rules=(rule,)))
    assert (frame.loc[frame["a"] == 3, "town"] == "(other)").all()
    assert (frame.loc[frame["a"] == 4, "town"] == "Ayer").all()


def test_a_comparison_without_any_constraint_that_is_kept_says_so() -> None:
    domain = flat(bins("a", (50, 60)), bins("b", (0, 9)), rules=(RULES[0],)).domain
    sides: Any = type("Sides", (), {})()
    sides.domain, sides.unenforced = domain, ()
    sides.real = sides.synthetic = type("Side", (), {"figures": {}})()
    entries = FIGURE.entry(sides)
    assert [entry["sentence"] for entry in entries] == ["a ≤ b"]
    assert verdict(entries).startswith("No constraint")


@pytest.mark.parametrize("cuts", [(3,), (3, 4, 5), tuple(range(1, 40, 7))])
def test_finer_bins_keep_positions_and_weight(cuts: tuple[int, ...]) -> None:
    column = bins("a", (0, 5, 40))
    fine = column.with_cuts(cuts)
    assert set(fine.cuts) == {0, 5, 40, *cuts}
    share = np.array(column.weights) / sum(column.weights)
    first = sum(w for p, w in zip(fine.pieces, fine.weights, strict=False) if p < 5)
    assert first / sum(fine.weights) == pytest.approx(share[0])
    assert column.with_cuts([0, 5, 40, 77]) is column
