"""What a tree says by itself: depths, maps of a place, squares chosen in it, beginnings of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synth_engine.evaluation import tree_cells, tree_figures
from synth_engine.hierarchy import Hierarchy, SpatialHierarchy, StringHierarchy
from synth_engine.indexing import prefixes
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.models.weights import whole_weights

NAMES = ("north", "east", "far north", "far east")
HERE = tree_cells.PlaceAxes(name="a", north=0, east=1)
THERE = tree_cells.PlaceAxes(name="b", north=2, east=3)


@dataclass(frozen=True)
class Cells:
    hierarchy: Hierarchy
    levels: NDArray[np.int64]
    cells: NDArray[Any]
    weights: NDArray[np.int64]


def domain(bins: int = 8) -> Domain:
    edges = {"edges": [10 + place / bins for place in range(bins + 1)]}
    columns = [
        {"name": name, "kind": "number", "low": 10, "high": 11, "outside": "clamp", **edges}
        for name in NAMES
    ]
    places = [
        {"name": "a", "latitude": "north", "longitude": "east"},
        {"name": "b", "latitude": NAMES[2], "longitude": NAMES[3]},
    ]
    return Domain.from_json(
        {"schema": "synth_engine/domain/1", "attributes": columns, "places": places}
    )


def tree(described: Domain, *, seed: int = 0) -> Cells:
    """A tree opened at random, and weights at random: its leaves hold every point once."""
    points = prefixes.hierarchy(described, NAMES)
    assert isinstance(points, SpatialHierarchy)
    rng = np.random.default_rng(seed)
    nodes, levels, cells = points.root(), [], []
    for level in range(points.depth + 1):
        opened = (
            rng.random(nodes.size) < (1.0 if level == 0 else 0.2)
            if level < points.depth
            else nodes < 0
        )
        cells.append(nodes[~opened])
        levels.append(np.full(cells[-1].size, level))
        nodes = points.below(nodes[opened], level).ravel() if level < points.depth else nodes
    whole = np.concatenate(cells)
    return Cells(
        points, np.concatenate(levels).astype(np.int64), whole, rng.integers(1, 100, whole.size)
    )


def dense(found: Cells) -> NDArray[np.float64]:
    """The share of every smallest part of the box, cell by cell: a slow way of saying what a tree means."""
    points = found.hierarchy
    assert isinstance(points, SpatialHierarchy)
    table = np.zeros([points.parts] * 4)
    for level, cell, weight in zip(found.levels, found.cells, found.weights, strict=True):
        side = points.parts >> level
        corner = points.positions(np.array([cell]))[0]
        table[tuple(slice(start, start + side) for start in corner)] += weight / side**4
    return table / found.weights.sum()


def test_depths_hold_every_cell_and_record_once() -> None:
    found = tree(domain())
    depths = tree_cells.profile(found)
    assert sum(each.cells for each in depths) == found.levels.size
    assert sum(each.share for each in depths) == pytest.approx(1)
    for each in depths:
        assert each.share == pytest.approx(
            found.weights[found.levels == each.depth].sum() / found.weights.sum()
        )


@pytest.mark.parametrize("halvings", [1, 2, 3])
def test_a_map_is_the_projection_of_the_tree_at_any_fineness(halvings: int) -> None:
    described = domain()
    found = tree(described)
    shown = tree_cells.place_map(found, described, HERE, halvings=halvings)
    size, part = 1 << halvings, 8 >> halvings
    wanted = dense(found).sum(axis=(2, 3)).reshape(size, part, size, part).sum(axis=(1, 3))
    assert shown.shares == pytest.approx(wanted)
    assert shown.latitudes == pytest.approx(10 + np.arange(size + 1) / size)


def test_bins_that_are_no_power_of_two_keep_their_own_edges() -> None:
    described = domain(bins=5)
    found = tree(described)
    shown = tree_cells.place_map(found, described, HERE, halvings=2)
    assert shown.longitudes == pytest.approx(
        [10.0, 10.4, 10.6, 10.8, 11.0]
    )  # of four parts the first has two bins
    low, high = tree_cells.bounds(found, described)
    assert set(np.round(np.concatenate([low, high]).ravel(), 9)) <= {
        10.0,
        10.4,
        10.6,
        10.8,
        11.0,
    }
    assert (low < high).all()


@pytest.mark.parametrize("halvings", [1, 2, 3])
def test_of_records_in_a_square_the_other_place_is_that_part_of_the_tree(halvings: int) -> None:
    described = domain()
    found = tree(described, seed=4)
    chosen = tree_cells.square(found, described, HERE, at=(10.3, 10.8), halvings=halvings)
    side = 8 >> halvings
    assert (chosen.north, chosen.east) == (int(0.3 * 8) // side, int(0.8 * 8) // side)
    inside = tree_cells.within(found, HERE, chosen)
    shown = tree_cells.place_map(found, described, THERE, halvings=3, within=inside)
    rows, columns = (
        slice(number * side, (number + 1) * side) for number in (chosen.north, chosen.east)
    )
    assert shown.shares == pytest.approx(dense(found)[rows, columns].sum(axis=(0, 1)))


def test_a_point_outside_the_box_is_refused_by_the_side_it_is_outside_of() -> None:
    described = domain()
    found = tree(described)
    with pytest.raises(DomainError, match="degrees east outside 10 to 11") as refused:
        tree_cells.square(found, described, HERE, at=(10.5, 11.01), halvings=2)
    assert refused.value.column == "east"
    last = tree_cells.square(found, described, HERE, at=(11, 11), halvings=2)
    assert (last.north, last.east) == (3, 3)


def test_squares_get_smaller_towards_the_pole() -> None:
    shares = np.full((2, 2), 0.25)
    found = tree_cells.Map(
        shares=shares, latitudes=np.array([0.0, 60, 90]), longitudes=np.array([0.0, 1, 2])
    )
    areas = found.areas_km2
    assert areas[0, 0] > areas[1, 0] > 0
    assert areas.sum() == pytest.approx(2 * np.pi * tree_cells.EARTH_RADIUS_KM**2 * 2 / 360)


def test_a_map_and_its_table_say_the_same_and_no_empty_square_has_a_colour() -> None:
    described = domain()
    found = tree(described)
    shown = tree_cells.place_map(found, described, HERE, halvings=3)
    shown.shares[0, 0] = 0.0
    card = tree_figures.place_card(shown, name="a", key="place", rows=1000)
    assert card.figure is not None
    [heat] = card.figure["data"]
    assert heat["z"][0][0] is None and heat["text"][0][0] == ""
    assert (
        sum(cell is not None for row in heat["z"] for cell in row) == len(card.table.rows) == 63
    )
    nothing = tree_cells.Map(
        shares=0 * shown.shares, latitudes=shown.latitudes, longitudes=shown.longitudes
    )
    assert (
        "No record lies anywhere"
        in tree_figures.place_card(nothing, name="a", key="place", rows=1000).verdict
    )


# --- texts --------------------------------------------------------------------------------------------------
WORDS = StringHierarchy(columns=("word",), alphabet="ab", longest=3)


def texts(cells: dict[str, int], *, ended: tuple[str, ...] = ()) -> Cells:
    """A tree of these beginnings with these weights; those in `ended` are whole texts."""
    codes = WORDS.encode(list(cells))
    levels = np.array([len(text) + (text in ended) for text in cells])
    return Cells(WORDS, levels, codes, np.array(list(cells.values())))


FOUND = texts({"a": 10, "aa": 20, "ab": 30, "b": 40}, ended=("a",))


def test_a_level_of_beginnings_is_what_lies_below() -> None:
    top = tree_cells.node(FOUND, [])
    assert top.share == pytest.approx(1) and top.depth is None
    assert [(each.symbol, each.share, each.opened, each.cells) for each in top.children] == [
        (1, pytest.approx(0.6), True, 3),
        (2, pytest.approx(0.4), False, 1),
    ]
    below = tree_cells.node(FOUND, [1])
    assert [(each.symbol, each.share, each.ended) for each in below.children] == [
        (0, pytest.approx(0.1), True),
        (1, pytest.approx(0.2), False),
        (2, pytest.approx(0.3), False),
    ]


def test_below_an_unopened_node_the_tree_says_where_it_ended() -> None:
    closed = tree_cells.node(FOUND, [2, 1])
    assert (closed.share, closed.depth, closed.children) == (pytest.approx(0.4), 1, ())
    assert tree_cells.node(texts({"a": 1}), [2]) == tree_cells.PrefixNode(
        share=0.0, depth=None, children=()
    )


def test_a_tree_that_is_its_root_has_a_depth_and_no_children() -> None:
    root = Cells(WORDS, np.array([0]), WORDS.root(), np.array([5]))
    assert tree_cells.node(root, []) == tree_cells.PrefixNode(share=1.0, depth=0, children=())
    assert tree_cells.profile(root) == [tree_cells.Depth(depth=0, cells=1, share=1.0)]


# --- public points ------------------------------------------------------------------------------------------
AT = {
    f"block {number}": [41 + number**1.1 / 10, -71 - number**1.9 / 50, number + 1.0]
    for number in range(9)
}


@pytest.fixture(scope="module")
def gazetteered() -> tuple[Domain, SpatialTree]:
    columns = [
        {"name": name, "kind": "categorical", "values": list(AT), "outside": "clamp"}
        for name in ("home", "work")
    ]
    points = [{"column": name, "at": AT} for name in ("home", "work")]
    described = Domain.from_json(
        {"schema": "synth_engine/domain/1", "attributes": columns, "points": points}
    )
    found = prefixes.hierarchy(described, ("home", "work"))
    assert isinstance(found, SpatialHierarchy)
    top = found.below(found.root(), 0).ravel()
    top = top[found.exists(top, 1)]
    deeper = found.below(top[:1], 1).ravel()
    cells = np.concatenate([top[1:], deeper[found.exists(deeper, 2)]])
    levels = np.where(np.arange(cells.size) < top.size - 1, 1, 2).astype(np.int64)
    return described, SpatialTree(
        hierarchy=found,
        levels=levels,
        cells=cells,
        weights=whole_weights(np.arange(1.0, 1 + cells.size)),
    )


def test_columns_of_codes_are_places_and_their_records_are_at_their_points(
    gazetteered: tuple[Domain, SpatialTree],
) -> None:
    described, found = gazetteered
    home, work = tree_cells.sites(found.hierarchy, described)
    assert (home.name, work.name) == ("home", "work")
    drawn = found.sample(
        40_000, population=40_000, domain=described, rng=np.random.default_rng(1)
    )
    at = np.array(list(AT.values()))
    for site in (home, work):
        shown = tree_cells.place_map(found, described, site, halvings=5)
        assert shown.shares.sum() == pytest.approx(1)
        wanted, *_ = np.histogram2d(
            *at[drawn[site.name]].T[:2], bins=(shown.latitudes, shown.longitudes)
        )
        assert np.abs(shown.shares - wanted / 40_000).max() < 0.01
        assert ((shown.shares > 0) == (wanted > 0)).all()


def test_of_those_at_a_public_point_the_others_are_where_the_model_has_them(
    gazetteered: tuple[Domain, SpatialTree],
) -> None:
    described, found = gazetteered
    home, work = tree_cells.sites(found.hierarchy, described)
    drawn = found.sample(
        200_000, population=200_000, domain=described, rng=np.random.default_rng(2)
    )
    at = np.array(list(AT.values()))
    chosen = tree_cells.square(found, described, home, at=(at[7, 0], at[7, 1]), halvings=4)
    shown = tree_cells.place_map(
        found, described, work, halvings=4, within=tree_cells.within(found, home, chosen)
    )
    there = at[drawn["work"][drawn["home"] == 7]]
    wanted, *_ = np.histogram2d(*there.T[:2], bins=(shown.latitudes, shown.longitudes))
    assert shown.shares.sum() == pytest.approx(len(there) / 200_000, abs=0.005)
    assert np.abs(shown.shares - wanted / 200_000).max() < 0.005
