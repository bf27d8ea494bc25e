"""Public points: which cells are there, where records go, what is drawn, and descriptions that are
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, verifier
from synth_engine.domain import Categorical, Domain, Integer, Place, PointSet, Source
from synth_engine.errors import DomainError, InputError
from synth_engine.hierarchy import GazetteerHierarchy, Rule, child_level
from synth_engine.hierarchy.partition import leaf_nodes
from synth_engine.indexing import prefixes
from synth_engine.measurement import Answers, Noise
from synth_engine.models.model import Model
from synth_engine.privacy.loss import Pure
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec

RNG = np.random.default_rng(11)
TOWNS = tuple((float(a), float(b), float(w)) for a, b, w in zip(
    RNG.uniform(10, 73, 40).round(3), RNG.uniform(10, 73, 40).round(3), RNG.integers(1, 9, 40), strict=True
))  # fmt: skip
HOME, WORK = (
    Place(name=name, latitude=f"{name}_north", longitude=f"{name}_east")
    for name in ("home", "work")
)
SIDES = tuple(
    Integer(name=name, low=10, high=73, width=1)
    for place in (HOME, WORK)
    for name in place.columns
)
ONE = Domain(attributes=SIDES[:2], places=(HOME,), points=(PointSet(place="home", at=TOWNS),))
TWO = Domain(
    attributes=SIDES,
    places=(HOME, WORK),
    points=(PointSet(place="home", at=TOWNS), PointSet(place="work", at=TOWNS[:15])),
)
NAMES = tuple(f"b{number:02}" for number in range(40))
BLOCKS = Categorical(name="block", values=NAMES, other=True)
MIXED = Domain(
    attributes=(BLOCKS, *SIDES[2:]),
    places=(WORK,),
    points=(PointSet(column="block", at=TOWNS), PointSet(place="work", at=TOWNS[:15])),
)


def supported(domain: Domain, *, together: bool = True) -> GazetteerHierarchy:
    found = prefixes.hierarchy(domain, domain.names, together=together)
    assert isinstance(found, GazetteerHierarchy)
    return found


def released(
    domain: Domain, codes: dict[str, np.ndarray], *, epsilon: str = "8", **parameters: Any
) -> Model:
    plan = mechanisms.plan(
        domain, Spec(mechanism="adaptive", epsilon=Fraction(epsilon), parameters=parameters)
    )
    answers: Answers = plan.run(
        open_session(Rows(codes, domain=domain), domain=domain, cap=plan.loss)
    )
    verifier.verify(plan.receipt(answers))
    return plan.fit(answers)


def bins(points: tuple[tuple[float, float, float], ...]) -> np.ndarray:
    return np.floor(np.array(points)[:, :2]).astype(int) - 10


# ---- which cells are there
# ----------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.booleans())
def test_a_cell_is_there_if_both_ends_have_a_public_point(seed: int, together: bool) -> None:
    points = supported(TWO, together=together)
    level = int(np.random.default_rng(seed).integers(1, points.depth + 1))
    codes = np.random.default_rng(seed).integers(0, 1 << 24, 200).astype(np.uint64)
    nodes = np.unique(points.prefix(codes, level))
    low, high = (each - 10 for each in points.bounds(nodes, level))
    ends = [bins(TOWNS), bins(TOWNS[:15])]
    there = [
        ((low[:, None, axes] <= at) & (at < high[:, None, axes])).all(axis=2).any(axis=1)
        for at, axes in zip(ends, ([0, 1], [2, 3]), strict=True)
    ]
    assert (points.exists(nodes, level) == there[0] & there[1]).all()


@pytest.mark.parametrize("together", [True, False])
def test_codes_of_a_part_of_the_coordinates_are_taken_out_and_put_back(together: bool) -> None:
    points = supported(TWO, together=together)
    codes = np.random.default_rng(11).integers(0, 1 << 24, 500).astype(np.uint64)
    parts = [
        points.lift(points.project(codes, each.axes), each.axes) for each in points.supports
    ]
    assert (parts[0] | parts[1] == codes).all() and not (parts[0] & parts[1]).any()
    assert points.project(codes, (0, 1)).max() < 1 << 12


def test_children_without_points_are_never_looked_at_and_single_points_never_opened() -> None:
    points = supported(ONE)
    nodes, seen = points.root(), 0
    for level in range(points.depth):
        found = child_level(points, nodes, level, depth=points.depth)
        assert points.exists(found.prefixes, level + 1).all()
        first, last = points.inside(points.supports[0], found.prefixes, level + 1)
        assert (last - first)[found.opens].min(initial=2) > 1
        nodes, seen = found.prefixes[found.opens], seen + len(found)
    assert seen < 40 * points.depth


def test_a_record_goes_to_the_nearest_public_point() -> None:
    points = supported(ONE)
    everywhere = {
        "home_north": np.repeat(np.arange(64), 64),
        "home_east": np.tile(np.arange(64), 64),
    }
    found = points.positions(prefixes.of_codes(points, everywhere, ONE))
    scale = np.array([1.0, np.cos(np.radians((10 + 74) / 2))])
    start = np.column_stack(list(everywhere.values())) * scale
    towns = np.unique(bins(TOWNS), axis=0) * scale
    best = np.linalg.norm(start[:, None] - towns, axis=2).min(axis=1)
    assert np.allclose(np.linalg.norm(found * scale - start, axis=1), best)


# ---- releases
# -----------------------------------------------------------------------------------------------------


def commutes(rows: int = 8_000) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of towns: most live near three of them, and work in one of two."""
    rng = np.random.default_rng(3)
    home = rng.choice(40, rows, p=np.r_[[0.4, 0.2, 0.1], np.full(37, 0.3 / 37)])
    return home, np.where(rng.random(rows) < 0.8, home % 2, rng.integers(0, 15, rows))


def coded(home: np.ndarray, work: np.ndarray) -> dict[str, np.ndarray]:
    at = np.hstack([bins(TOWNS)[home], bins(TOWNS)[work]]).astype(np.uint16)
    return dict(zip(TWO.names, at.T, strict=True))


@pytest.mark.parametrize("placed", ["density", "points", "anywhere"])
def test_drawn_records_are_on_public_points_or_in_cells_that_have_some(placed: str) -> None:
    model = released(TWO, coded(*commutes()), placed=placed)
    drawn = model.sample(4_000, seed="s")
    home = np.column_stack([drawn["home_north"], drawn["home_east"]])
    on_points = (home[:, None] == bins(TOWNS)).all(axis=2).any(axis=1)
    assert on_points.all() if placed != "anywhere" else not on_points.all()
    assert model.tree is not None
    codes = prefixes.of_codes(supported(TWO), drawn, TWO)
    assert supported(TWO).exists(codes, 6).all()


def test_weights_decide_between_the_points_of_a_cell() -> None:
    heavy = replace(
        ONE, points=(PointSet(place="home", at=((20.0, 20.0, 9.0), (23.0, 23.0, 1.0))),)
    )
    codes = {name: np.full(5_000, 10, dtype=np.uint16) for name in heavy.names}
    shares = []
    for placed in ("density", "points"):
        model = released(heavy, codes, epsilon="1/1000", depth=1, placed=placed)
        shares.append((model.sample(20_000, seed="s")["home_north"] == 10).mean())
    assert abs(shares[0] - 0.9) < 0.02 and abs(shares[1] - 0.5) < 0.02


@pytest.mark.parametrize(("halving", "depth"), [("all", 6), ("one", 24)])
def test_columns_of_codes_come_out_valid_and_where_they_were(halving: str, depth: int) -> None:
    home, work = commutes()
    at = coded(home, work)
    codes = {"block": home.astype(np.uint16), **{name: at[name] for name in WORK.columns}}
    model = released(MIXED, codes, epsilon="16", halving=halving, depth=depth)
    drawn = model.sample(8_000, seed="s")
    assert drawn["block"].max() < 40
    apart = (
        np.abs(
            np.bincount(drawn["block"], minlength=40) - np.bincount(home, minlength=40)
        ).sum()
        / 8_000
    )
    assert apart < 0.1
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    one, other, another = (
        each.sample(100, seed=seed) for each, seed in ((model, "t"), (again, "t"), (again, "u"))
    )
    assert all((one[name] == other[name]).all() for name in codes)
    assert any((one[name] != another[name]).any() for name in codes)


def test_records_whose_code_is_not_declared_lie_nowhere() -> None:
    points = supported(MIXED)
    at = coded(*commutes(6))
    codes = {
        "block": np.array([0, 40, 3, 40, 40, 39]),
        **{name: at[name] for name in WORK.columns},
    }
    lacking = prefixes.nowhere(points, codes, MIXED)
    assert lacking is not None and lacking.tolist() == [False, True, False, True, True, False]
    assert prefixes.nowhere(supported(TWO), at, TWO) is None
    open_ = open_session(
        Rows(codes, domain=MIXED), domain=MIXED, cap=Pure(epsilon=Fraction(1000))
    )
    sharp = Noise(law="discrete-laplace", scale=Fraction(1, 32))
    found = open_.grow(MIXED.names, rule=Rule(name="basic", depth=1, threshold=1), noise=sharp)
    everything = leaf_nodes(found, points)
    assert found.counts[0].sum() == 3 == open_.leaves(everything, noise=sharp).values.sum()


def test_a_cell_without_public_points_is_no_part_of_a_model() -> None:
    model = released(
        ONE, {name: np.full(500, 10, dtype=np.uint16) for name in ONE.names}, epsilon="1"
    )
    document = model.to_json()
    empty = next(
        code
        for code in range(1 << 12)
        if not supported(ONE).exists(np.array([code], dtype=np.uint64), 6)[0]
    )
    tree = document["tree"] | {"cells": [empty], "levels": [6], "weights": [10**9]}
    with pytest.raises(InputError, match="malformed"):
        Model.from_json(document | {"tree": tree})


def test_all_records_at_one_point_stay_there() -> None:
    alone = replace(ONE, points=(PointSet(place="home", at=TOWNS[:1]),))
    model = released(
        alone, {name: np.full(300, 5, dtype=np.uint16) for name in alone.names}, epsilon="1"
    )
    drawn = model.sample(50, seed="s")
    assert (np.column_stack([drawn[name] for name in alone.names]) == bins(TOWNS[:1])).all()


def test_adaptive_is_offered_for_columns_of_codes_with_points() -> None:
    assert mechanisms.REGISTRY["adaptive"].suits(MIXED)
    assert not mechanisms.REGISTRY["adaptive"].suits(replace(MIXED, points=(), places=()))


# ---- descriptions
# -------------------------------------------------------------------------------------------------


def test_points_and_their_source_are_written_and_read() -> None:
    source = Source(name="Blocks", version="2010", sha256="0" * 64)
    domain = replace(TWO, points=tuple(replace(each, source=source) for each in TWO.points))
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain and again.digest != TWO.digest


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"place": "shop"}, "not declared"),
        ({"at": []}, "none at all"),
        ({"at": {"b": [1, 2]}}, "of a place a list"),
        ({"column": "home_north"}, "or of both"),
        ({"at": [[20, 200]]}, "no latitude and longitude"),
        ({"at": [[20, 5], [30, 30]]}, "1 of 2 public points are outside the bounds"),
        ({"at": [[20, 30, 0]]}, "weight of a point is not above 0"),
        ({"at": [[20, 30, 1, 2]]}, "two or three numbers"),
        ({"source": {"name": ""}}, "source without a name"),
        ({"source": {"name": "x", "sha256": "ab"}}, "64 hexadecimal"),
        ({"source": "census"}, "not an object"),
    ],
)
def test_points_that_make_no_sense_are_refused(changes: dict[str, Any], rule: str) -> None:
    document = ONE.to_json() | {"points": [{"place": "home", "at": [[20, 30]]} | changes]}
    with pytest.raises(DomainError, match=rule) as refused:
        Domain.from_json(document)
    assert refused.value.repair


def test_swapped_points_are_told_apart_from_points_elsewhere() -> None:
    narrow = replace(
        ONE, attributes=(replace(SIDES[0], high=30), replace(SIDES[1], low=40)), points=()
    )
    document = narrow.to_json() | {"points": [{"place": "home", "at": [[50, 20], [60, 25]]}]}
    with pytest.raises(DomainError, match="swapped"):
        Domain.from_json(document)


def test_two_places_with_points_share_no_column() -> None:
    odd = Place(name="odd", latitude="home_north", longitude="work_east")
    domain = replace(
        TWO, places=(HOME, odd), points=(TWO.points[0], PointSet(place="odd", at=TOWNS))
    )
    with pytest.raises(DomainError, match="share a column"):
        prefixes.hierarchy(domain, domain.names)
