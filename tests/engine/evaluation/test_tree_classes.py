"""How many records classes have in a tree: alone and as one side of several, told apart or not."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.evaluation import tree_cells, tree_classes
from synth_engine.hierarchy import (
    Hierarchy,
    ProductHierarchy,
    SpatialHierarchy,
    TaxonomyHierarchy,
)
from tests.engine.evaluation.test_tree_cells import Cells

TRADES = TaxonomyHierarchy(
    columns=("trade",),
    paths=(
        ("farm", "corn"),
        ("farm", "wine"),
        ("shop", "toys"),
        ("shop", "tools"),
        ("shop", "tea"),
    ),
)
BOX = SpatialHierarchy(columns=("x", "y"), low=(0.0, 0.0), high=(1.0, 1.0), resolution=2)


def tree(hierarchy: Hierarchy, cells: list[tuple[tuple[int, ...], int]]) -> Cells:
    """Paths of symbols with weights."""
    width = hierarchy.depth
    codes = np.array([bytes(path) for path, _ in cells], dtype=f"S{width}")
    levels = np.array([len(path) for path, _ in cells])
    return Cells(hierarchy, levels, codes, np.array([weight for _, weight in cells]))


ALONE = tree(TRADES, [((1, 1), 30), ((1, 2), 10), ((2,), 60)])  # shops were not opened


def test_a_class_that_was_not_opened_shares_its_records_evenly_and_says_so() -> None:
    top = tree_classes.explore_class(ALONE, ())
    assert top is not None
    assert [(part.name, part.values, part.share, part.resolved) for part in top.parts] == [
        ("farm", 2, pytest.approx(0.4), pytest.approx(0.4)),
        ("shop", 3, pytest.approx(0.6), pytest.approx(0.6)),
    ]
    shop = tree_classes.explore_class(ALONE, ("shop",))
    assert shop is not None and shop.whole.resolved == pytest.approx(0.6)
    assert {part.name: (round(part.share, 6), part.resolved) for part in shop.parts} == {
        "toys": (0.2, 0.0),
        "tools": (0.2, 0.0),
        "tea": (0.2, 0.0),
    }
    farm = tree_classes.explore_class(ALONE, ("farm",))
    assert farm is not None and [part.share for part in farm.parts] == pytest.approx([0.3, 0.1])
    assert tree_classes.explore_class(ALONE, ("farm", "toys")) is None


def test_a_value_has_no_parts_and_every_class_comes_before_its_own() -> None:
    value = tree_classes.explore_class(ALONE, ("shop", "tea"))
    assert value is not None and value.parts == () and value.whole.values == 1
    assert [path for path, _ in tree_classes.all_classes(ALONE)] == [
        ("farm",),
        ("farm", "corn"),
        ("farm", "wine"),
        ("shop",),
        ("shop", "toys"),
        ("shop", "tools"),
        ("shop", "tea"),
    ]
    for path, part in tree_classes.all_classes(ALONE):
        here = tree_classes.explore_class(ALONE, path)
        assert here is not None and here.whole == part


def test_several_hierarchies_are_seen_one_by_one_and_each_has_all_records() -> None:
    both = ProductHierarchy(columns=("x", "y", "trade"), components=(BOX, TRADES))
    assert [at for at, _ in both.schedule] == [
        1,
        0,
        1,
        0,
    ]  # classes, with fewer parts, take their turn first
    found = tree(both, [((1, 1, 1), 10), ((1, 1, 2), 20), ((1, 4), 30), ((2,), 40)])
    points, trades = tree_classes.of_points(found), tree_classes.of_classes(found)["trade"]
    assert points is not None and points.hierarchy is BOX
    assert points.levels.tolist() == [1, 1, 1, 0] and trades.levels.tolist() == [2, 2, 1, 1]
    site = tree_cells.PlaceAxes(name="home", north=0, east=1)
    assert tree_cells.max_halvings(points, site) == 1
    top, farm = (
        tree_classes.explore_class(trades, ()),
        tree_classes.explore_class(trades, ("farm",)),
    )
    assert top is not None and [part.share for part in top.parts] == pytest.approx([0.6, 0.4])
    assert farm is not None and [part.share for part in farm.parts] == pytest.approx(
        [0.25, 0.35]
    )
    assert [part.resolved for part in farm.parts] == pytest.approx([0.1, 0.2])
    assert tree_classes.of_points(ALONE) is None and list(tree_classes.of_classes(ALONE)) == [
        "trade"
    ]
