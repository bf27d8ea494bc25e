"""How large cells of a tree are on the ground, against distances between their corners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import cell_sizes, tree_cells, tree_figures
from synth_engine.evaluation.cell_sizes import Size
from synth_engine.evaluation.tree_cells import Depth
from synth_engine.hierarchy import ProductHierarchy, SpatialHierarchy
from synth_engine.indexing import places, prefixes

BOXES = {"home": (41.13, 42.05, -71.9, -71.1), "work": (10.0, 11.0, 20.0, 24.0)}


def domain(*, bins: int = 64, names: tuple[str, ...] = ("home", "work"), **more: Any) -> Domain:
    columns = []
    for name in names:
        south, north, west, east = BOXES[name]
        for side, low, high in (("north", south, north), ("east", west, east)):
            cuts = np.linspace(low, high, bins + 1).round(6).tolist()
            columns.append(
                {
                    "name": f"{name}_{side}",
                    "kind": "number",
                    "low": low,
                    "high": high,
                    "edges": cuts,
                    "outside": "clamp",
                }
            )
    placed = [
        {"name": name, "latitude": f"{name}_north", "longitude": f"{name}_east"}
        for name in names
    ]
    return Domain.from_json(
        {
            "attributes": [*columns, *more.get("beside", [])],
            "places": placed,
            **more.get("rest", {}),
        }
    )


@pytest.mark.parametrize("together", [True, False])
def test_a_side_is_as_long_as_a_great_circle_along_it(together: bool) -> None:
    described = domain()
    points = prefixes.hierarchy(described, described.names, together=together)
    assert isinstance(points, SpatialHierarchy)
    for depth in range(points.depth + 1):
        for size in cell_sizes.of_depth(points, described, depth):
            site = next(
                site for site in tree_cells.sites(points, described) if site.name == size.name
            )
            low, high = (
                corner[0][list(site.axes)] for corner in points.bounds(points.root(), depth)
            )
            south, north, *_ = BOXES[size.name]
            middle = (south + north) / 2
            up = places.great_circle(*map(np.float64, (low[0], low[1], high[0], low[1])))
            along = places.great_circle(*map(np.float64, (middle, low[1], middle, high[1])))
            assert size.north == pytest.approx(float(up), rel=1e-3)
            assert size.east == pytest.approx(float(along), rel=1e-3)


def test_beside_classes_points_are_halved_when_it_is_their_turn() -> None:
    beside = [
        {"name": "trade", "kind": "categorical", "values": list("abcdefgh"), "outside": "clamp"}
    ]
    halves = {
        "partitions": [
            {
                "name": "half",
                "column": "trade",
                "of": dict(zip("abcdefgh", "11112222", strict=True)),
            }
        ]
    }
    described = domain(names=("home",), beside=beside, rest=halves)
    product = prefixes.hierarchy(described, described.names)
    assert isinstance(product, ProductHierarchy)
    at = next(
        place
        for place, each in enumerate(product.components)
        if isinstance(each, SpatialHierarchy)
    )
    alone = prefixes.hierarchy(described, ("home_north", "home_east"))
    own = product.component_levels(at).tolist()
    assert len(set(own)) < len(own)
    for depth, level in enumerate(own):
        assert cell_sizes.of_depth(product, described, depth) == cell_sizes.of_depth(
            alone, described, level
        )


def test_a_tree_without_places_has_no_sizes() -> None:
    edges = [n / 8 for n in range(9)]
    plain = [
        {"name": n, "kind": "number", "low": 0, "high": 1, "edges": edges, "outside": "clamp"}
        for n in "ab"
    ]
    words = {"set": "strings", "alphabet": "ab", "min_length": 1, "max_length": 3}
    for columns in (plain, [{"name": "word", "kind": "weak", "values": words}]):
        described = Domain.from_json({"attributes": columns})
        hierarchy = prefixes.hierarchy(described, described.names)
        assert (
            cell_sizes.of_depth(hierarchy, described, 1) == ()
            and cell_sizes.describe_depths(hierarchy, described) == ""
        )


def test_columns_of_codes_are_as_large_as_the_box_around_their_points() -> None:
    at = {"a": [41.0, -71.0], "b": [42.0, -72.0]}
    column = {"name": "block", "kind": "categorical", "values": ["a", "b"], "outside": "clamp"}
    described = Domain.from_json(
        {"attributes": [column], "points": [{"column": "block", "at": at}]}
    )
    (size,) = cell_sizes.of_depth(prefixes.hierarchy(described, ("block",)), described, 1)
    assert (size.name, round(size.north, 1)) == ("block", 55.6)  # half a degree


@pytest.mark.parametrize(
    ("north", "east", "words"),
    [
        (1.42, 1.07, "1.4 × 1.1 km (0.88 × 0.66 miles)"),
        (102.4, 66.3, "100 × 66 km (64 × 41 miles)"),
        (9.96, 0.2, "10 × 0.20 km (6.2 × 0.12 miles)"),
        (0.18, 0.15, "180 × 150 m (0.11 × 0.093 miles)"),
        (0.0111, 0.0014, "11 × 1.4 m (36 × 4.6 ft)"),
        (12_345.0, 800.0, "12\u202f000 × 800 km (7\u202f700 × 500 miles)"),
    ],
)
def test_sizes_in_words(north: float, east: float, words: str) -> None:
    assert cell_sizes.describe([Size(name="home", north=north, east=east)]) == words
    same = Size(name="work", north=north, east=east)
    assert cell_sizes.describe([Size(name="home", north=north, east=east), same]) == words


def test_places_of_other_boxes_are_named_and_depths_are_listed() -> None:
    described = domain()
    points = prefixes.hierarchy(described, described.names)
    assert cell_sizes.describe(cell_sizes.of_depth(points, described, 3)) == (
        "home 13 × 8.3 km (7.9 × 5.2 miles) and work 14 × 55 km (8.6 × 34 miles)"
    )
    said = cell_sizes.describe_depths(points, described)
    assert said.startswith(
        "From south to north and from west to east a cell is about home 51 × 33 km"
    ) and said.endswith("at depth 6.")
    assert said.count("at depth") == 5


def test_the_profile_of_a_tree_says_how_large_cells_are() -> None:
    depths = [Depth(depth=1, cells=3, share=0.25), Depth(depth=2, cells=4, share=0.75)]
    sized = tree_figures.depth_card(depths, rows=100, sizes={1: "2 × 2 km", 2: "1 × 1 km"})
    assert "Half of the records lie at depth 2 or deeper, in cells of 1 × 1 km or smaller." in (
        sized.verdict or ""
    )
    assert sized.table.head[1] == "A cell about" and [row[1] for row in sized.table.rows] == [
        "2 × 2 km",
        "1 × 1 km",
    ]
    assert sized.figure is not None and sized.figure["data"][0]["customdata"] == [
        "2 × 2 km",
        "1 × 1 km",
    ]
    plain = tree_figures.depth_card(depths, rows=100)
    assert len(plain.table.head) == len(plain.table.rows[0]) == 5 and "cells of" not in (
        plain.verdict or ""
    )
    assert "One cell" not in (
        tree_figures.depth_card(depths[:1], rows=100, sizes={1: "2 × 2 km"}).verdict or ""
    )
