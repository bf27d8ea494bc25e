"""`adaptive`: estimates of trees against least squares, records in their cells, refusals, the command
line."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import cli, mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Integer, Number, Order
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.hierarchy import Growth, Rule, SpatialHierarchy, estimate
from synth_engine.hierarchy.partition import NodeSet
from synth_engine.indexing import prefixes
from synth_engine.measurement import Answers, Leaves, Measurement, Noise
from synth_engine.mechanisms.trees import node_selection
from synth_engine.models.model import Model
from synth_engine.privacy import trees
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.answers import replaced

SQUARE = Domain(
    attributes=tuple(Integer(name=name, low=0, high=63, width=1) for name in ("x", "y"))
)
POINTS = prefixes.hierarchy(SQUARE, ("x", "y"))


def clustered(rows: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.array([[10, 50], [45, 20], [50, 55]])[rng.choice(3, rows, p=[0.6, 0.3, 0.1])]
    drawn = np.clip(np.rint(rng.normal(centres, 3)), 0, 63).astype(np.uint16)
    return {"x": drawn[:, 0], "y": drawn[:, 1]}


def released(
    domain: Domain = SQUARE,
    *,
    rows: int = 20_000,
    epsilon: str = "1",
    delta: Fraction = Fraction(0),
    **parameters: Any,
) -> tuple[Any, Answers, Model]:
    spec = Spec(
        mechanism="adaptive", epsilon=Fraction(epsilon), delta=delta, parameters=parameters
    )
    plan = mechanisms.plan(domain, spec)
    codes = (
        clustered(rows)
        if rows
        else {name: np.empty(0, dtype=np.uint16) for name in domain.names}
    )
    answers = plan.run(open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss))
    return plan, answers, plan.fit(answers)


# ---- estimates
# ----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_counts_of_siblings_are_the_nearest_that_are_not_negative(
    seed: int, parents: int
) -> None:
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(parents), rng.integers(1, 9, parents))
    counts, variances = rng.normal(2, 9, family.size), rng.uniform(0.3, 4, family.size)
    sums = np.where(rng.random(parents) < 0.2, 0.0, rng.uniform(0, 40, parents))
    found = estimate.project_nonnegative(counts, variances, sums=sums, parents=family)
    assert (found >= 0).all() and np.allclose(np.bincount(family, weights=found), sums)
    moved = (found - counts) / variances
    for parent in np.flatnonzero(sums > 0):
        mine = family == parent
        shift = moved[mine & (found > 0)]
        assert np.ptp(shift) < 1e-8 and (moved[mine & (found == 0)] >= shift[0] - 1e-8).all()


def test_a_tree_of_counts_is_solved_as_least_squares_does() -> None:
    """Two depths of a line: with counts far above zero, the same as the normal equations."""
    line = SpatialHierarchy(columns=("x",), low=(0,), high=(1,), resolution=2)
    rule = Rule(name="basic", depth=2, threshold=1)
    counts = (np.array([70, 41]), np.array([30, 35, 25, 12]))
    grown = Growth(
        columns=("x",),
        rule=rule,
        opened=(np.array([0, 1]), np.array([], dtype=np.int64)),
        counts=counts,
    )
    own, spread, variance = 113.0, 7.0, 2.0
    design = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4)])
    weight = 1 / np.sqrt([spread, *[variance] * 6])
    best = np.linalg.lstsq(
        design * weight[:, None], np.array([own, 70, 41, 30, 35, 25, 12]) * weight, rcond=None
    )[0]
    total = estimate.total(grown, line, variance=variance, own=(own, spread))
    assert total == pytest.approx(best.sum())
    leaves = estimate.leaves(grown, line, variance=variance, total=total)
    assert leaves.counts == pytest.approx(best) and leaves.levels.tolist() == [2] * 4
    assert estimate.total(grown, line, variance=variance, own=None) == pytest.approx(
        np.linalg.lstsq(design[1:], np.array([70, 41, 30, 35, 25, 12.0]), rcond=None)[0].sum()
    )


# ---- releases
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "kind"), [(Fraction(0), Pure), (Fraction(1, 10**9), GaussianDP)]
)
def test_points_come_out_where_they_were(delta: Fraction, kind: type) -> None:
    plan, answers, model = released(delta=delta)
    assert isinstance(plan.loss, kind)
    assert abs(model.rows - 20_000) < 600
    drawn, truth = model.sample(20_000, seed="s"), clustered(20_000)
    for name in ("x", "y"):
        apart = np.cumsum(
            np.bincount(drawn[name], minlength=64) - np.bincount(truth[name], minlength=64)
        )
        assert np.abs(apart).max() < 0.03 * 20_000
    nearer = [np.hypot(codes["x"] - 10.0, codes["y"] - 50.0) < 12 for codes in (drawn, truth)]
    assert abs(nearer[0].mean() - nearer[1].mean()) < 0.02
    verifier.verify(plan.receipt(answers))


def test_the_same_seed_gives_the_same_rows_and_models_are_kept_as_they_are() -> None:
    _, _, model = released(epsilon="4")
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again.to_json() == model.to_json()
    one, other, third = (
        m.sample(500, seed=s) for m, s in ((model, "a"), (again, "a"), (model, "b"))
    )
    assert all((one[name] == other[name]).all() for name in one)
    assert any((one[name] != third[name]).any() for name in one)
    document = model.to_json()
    for part, value in (
        ("weights", [1]),
        ("levels", [99] * len(document["tree"]["levels"])),
        ("columns", ["x"]),
    ):
        with pytest.raises(InputError):
            Model.from_json(document | {"tree": document["tree"] | {part: value}})


def test_records_stay_in_the_cells_that_have_weight() -> None:
    _, _, model = released(epsilon="8")
    tree = model.tree
    assert tree is not None and isinstance(POINTS, SpatialHierarchy)
    drawn = model.sample(5_000, seed="s")
    codes = prefixes.of_codes(POINTS, drawn, SQUARE)
    lengths = np.array(
        [1 << (2 * (POINTS.depth - level)) for level in tree.levels], dtype=np.uint64
    )
    order = np.argsort(tree.cells)
    place = np.searchsorted(tree.cells[order], codes, side="right") - 1
    assert (codes < tree.cells[order][place] + lengths[order][place]).all()


def test_more_budget_makes_a_deeper_tree_and_a_given_depth_is_kept_to() -> None:
    found = [released(epsilon=epsilon)[2].tree for epsilon in ("1/100", "1", "20")]
    cells = [tree.cells.size for tree in found if tree is not None]
    assert cells == sorted(cells) and 10 * cells[0] < cells[-1]
    rules = [released(depth=depth)[1].growths[0].rule for depth in (2, 3)]
    assert [(rule.name, rule.depth) for rule in rules] == [("basic", 2), ("improved", 3)]


def test_a_tree_is_opened_before_it_is_counted_and_cut_off_where_it_has_too_many_parts() -> (
    None
):
    _, answers, model = released(epsilon="20")
    (grown,) = answers.growths
    assert not grown.counts and len(answers.leaves) > 1
    assert all(
        found.noise.scale > answers.leaves[-1].noise.scale for found in answers.leaves[:-1]
    )
    ends = [
        len(node_selection.parts(node_selection.cut_off(grown, POINTS, most=most), POINTS)[-1])
        for most in (10**6, 300, 20, 1)
    ]
    assert (
        ends[0]
        == len(answers.leaves[-1].partition)
        > 300
        >= ends[1]
        > 20
        >= ends[2]
        > ends[3]
        == 4
    )
    assert model.tree is not None and abs(model.rows - 20_000) < 100


@settings(max_examples=15)
@given(
    st.fractions(Fraction(1, 1000), 50, max_denominator=1000),
    st.integers(1, 5),
    st.integers(2, 16),
)
def test_the_rule_for_a_budget_costs_no_more_and_hardly_less(
    epsilon: Fraction, l1: int, branching: int
) -> None:
    rule, noise = node_selection.improved(
        epsilon, l1=l1, branching=branching, depth=3, scales=2.0
    )
    price = l1 * trees.loss(scale=noise.scale, threshold=rule.threshold, discount=rule.discount)
    assert price <= epsilon and noise.scale <= 2.01 * l1 / epsilon
    assert rule.discount >= trees.least_discount(scale=noise.scale, threshold=rule.threshold)


def test_counts_above_and_below_are_solved_as_least_squares_does() -> None:
    """Opened without counts: of a node no one counted, what its children add up to."""
    line = SpatialHierarchy(columns=("x",), low=(0,), high=(1,), resolution=2)
    rule = Rule(name="improved", depth=2, threshold=1, discount=3)
    grown = Growth(
        columns=("x",), rule=rule, opened=(np.array([0, 1]), np.array([], dtype=np.int64))
    )
    above = NodeSet(
        columns=("x",), levels=np.array([1]), prefixes=np.array([0], dtype=np.uint64)
    )
    ends = NodeSet(columns=("x",), levels=np.full(4, 2), prefixes=np.arange(4, dtype=np.uint64))
    sharp, blunt = (Noise(law="discrete-laplace", scale=Fraction(scale)) for scale in (1, 4))
    counted = (
        Leaves(partition=above, noise=blunt, values=np.array([70])),
        Leaves(partition=ends, noise=sharp, values=np.array([30, 35, 25, 12])),
    )
    design = np.array([[1, 1, 0, 0], *np.eye(4)])
    weight = 1 / np.sqrt([blunt.variance, *[sharp.variance] * 4])
    best = np.linalg.lstsq(
        design * weight[:, None], np.array([70, 30, 35, 25, 12.0]) * weight, rcond=None
    )[0]
    assert estimate.total(grown, line, own=None, counted=counted) == pytest.approx(best.sum())
    assert estimate.leaves(
        grown, line, total=best.sum(), counted=counted
    ).counts == pytest.approx(best)
    for wrong in (
        counted[:1],
        (replace(counted[1], values=np.array([1, 2]), partition=_odd(line)),),
    ):
        with pytest.raises(ValueError, match="node"):
            estimate.leaves(grown, line, total=9.0, counted=wrong)


def _odd(line: SpatialHierarchy) -> NodeSet:
    return NodeSet(
        columns=line.columns, levels=np.full(2, 2), prefixes=np.array([1, 9], dtype=np.uint64)
    )


def test_bins_that_are_no_power_of_two_are_all_reached() -> None:
    domain = Domain(
        attributes=(
            Number(name="x", low=0.0, high=1.0, edges=tuple(i / 11 for i in range(12))),
        )
    )
    spec = Spec(mechanism="adaptive", epsilon=Fraction(100))
    plan = mechanisms.plan(domain, spec)
    rows = Rows({"x": np.repeat(np.arange(11), 300).astype(np.uint16)}, domain=domain)
    model = plan.fit(plan.run(open_session(rows, domain=domain, cap=plan.loss)))
    found = np.bincount(model.sample(3_300, seed="s")["x"], minlength=11)
    assert (found > 100).all()


@pytest.mark.parametrize("epsilon", ["1", "1/1000"])
def test_an_empty_table_and_hardly_any_budget_give_a_release(epsilon: str) -> None:
    _, answers, model = released(rows=0, epsilon=epsilon)
    drawn = model.sample(100, seed="s")
    assert drawn["x"].size == 100 and answers.growths[0].rule.depth >= 1


def test_a_public_number_of_records_is_met_and_not_asked_for() -> None:
    domain = replace(SQUARE, relation=Relation.REPLACE_ONE, rows=20_000, invariants=("rows",))
    _, answers, model = released(domain)
    assert model.rows == 20_000 and not answers.measurements
    assert {call.query.verb for call in answers.calls} == {"grow", "leaves"}


@pytest.mark.parametrize(
    ("attributes", "column"),
    [
        (
            (
                Integer(name="x", low=0, high=9),
                Categorical(name="kind", values=("a", "b"), other=True),
            ),
            "kind",
        ),
        ((Integer(name="x", low=0, high=9, missing=("",)),), "x"),
        ((Integer(name="x", low=5, high=5),), "x"),
    ],
)
def test_columns_that_are_no_coordinates_are_refused_by_name(
    attributes: tuple[Any, ...], column: str
) -> None:
    with pytest.raises(DomainError) as refused:
        mechanisms.plan(
            Domain(attributes=attributes), Spec(mechanism="adaptive", epsilon=Fraction(1))
        )
    assert refused.value.column == column and refused.value.repair


def test_what_it_cannot_keep_or_reach_is_refused() -> None:
    spec = Spec(mechanism="adaptive", epsilon=Fraction(1), parameters={"depth": 7})
    with pytest.raises(SpecError, match="more than the 6"):
        mechanisms.plan(SQUARE, spec)
    ordered = replace(SQUARE, constraints=(Order(first="x", second="y"),))
    with pytest.raises(SpecError, match="constraints"):
        mechanisms.plan(ordered, replace(spec, parameters={}))
    plan, answers, _ = released(depth=2)
    other = mechanisms.plan(SQUARE, replace(spec, parameters={"depth": 3}))
    for wrong in (answers, replaced(answers, Growth, ()), replaced(answers, Measurement, ())):
        with pytest.raises(InputError):
            (other if wrong is answers else plan).fit(wrong)


def test_it_is_offered_for_tables_of_places_alone() -> None:
    assert not mechanisms.REGISTRY["adaptive"].suits(SQUARE)
    example = Path(__file__).parents[2] / "examples" / "commutes" / "points.domain.json"
    assert mechanisms.REGISTRY["adaptive"].suits(
        Domain.from_json(json.loads(example.read_text()))
    )


def test_what_is_foretold_gets_better_with_budget_and_records() -> None:
    def foretold(epsilon: str, rows: int) -> tuple[float, float]:
        plan = mechanisms.plan(SQUARE, Spec(mechanism="adaptive", epsilon=Fraction(epsilon)))
        found = plan.expected_error(rows=rows)
        assert (
            found.rows == rows
            and "Nothing was read" in found.assumes
            and set(found.attributes) == {"x", "y"}
        )
        return found.mean, found.mean_pairs

    for one, other in ((("1/10", 10**4), ("1", 10**4)), (("1", 10**4), ("1", 10**6))):
        assert all(
            better < worse
            for worse, better in zip(foretold(*one), foretold(*other), strict=True)
        )


def test_more_records_need_more() -> None:
    plan = mechanisms.plan(SQUARE, Spec(mechanism="adaptive", epsilon=Fraction(1)))
    few, many = plan.needs(1_000), plan.needs(1_000_000)
    assert many.seconds > few.seconds and many.memory_bytes > few.memory_bytes


def test_the_command_line_draws_points_and_proves_what_it_says(tmp_path: Path) -> None:
    pd.DataFrame(clustered(3_000)).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(SQUARE.to_json()))
    arguments = [
        "synthesize",
        "data.csv",
        "--domain",
        "domain.json",
        "--mechanism",
        "adaptive",
        "--epsilon",
        "2",
    ]
    more = [
        "--seed",
        "s",
        "--out",
        "out.csv",
        "--receipt",
        "receipt.json",
        "--model",
        "model.json",
    ]
    assert (
        cli.main([str(tmp_path / one) if "." in one else one for one in (*arguments, *more)])
        == 0
    )
    assert cli.main(["verify", str(tmp_path / "receipt.json")]) == 0
    again = [
        "sample",
        str(tmp_path / "model.json"),
        "--rows",
        "50",
        "--seed",
        "s",
        "--out",
        str(tmp_path / "more.csv"),
    ]
    assert cli.main(again) == 0
    assert len(pd.read_csv(tmp_path / "more.csv")) == 50
    assert set(pd.read_csv(tmp_path / "out.csv").columns) == {"x", "y"}
