"""A tree as one of its columns, its points or its texts see it, and how many records each class of a column
has.

Functions of the model alone, as private as the release. Shares are of all records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.evaluation.tree_cells import Floats, TreeCells, shares
from synth_engine.hierarchy import (
    Hierarchy,
    ProductHierarchy,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
)
from synth_engine.hierarchy.taxonomy import Path


@dataclass(frozen=True, kw_only=True, eq=False)
class ComponentCells:
    """The cells of a tree over several hierarchies, as nodes of one of them: one may then lie in another, and
    shares still add up to all records."""

    hierarchy: Hierarchy
    levels: NDArray[np.int64]
    cells: NDArray[Any]
    weights: NDArray[np.int64]
    placed: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """One class, or value, of a column. `values`: that it holds. `apart`: the share of all records that the
    tree tells apart from its neighbours; the others of its `share` are an even part of a wider class in which
    the tree ended."""

    name: str
    values: int
    share: float
    resolved: float


@dataclass(frozen=True, kw_only=True)
class Class:
    """A class and its parts, as they are declared. The widest one has no name."""

    path: Path
    whole: Part
    parts: tuple[Part, ...]


def of_points(tree: TreeCells) -> TreeCells | None:
    """The tree as its points see it; None where it has none."""
    if isinstance(tree.hierarchy, SpatialHierarchy):
        return tree
    return next(
        (side for side in _sides(tree) if isinstance(side.hierarchy, SpatialHierarchy)), None
    )


def of_texts(tree: TreeCells) -> TreeCells | None:
    """The tree as its texts see it; None where it has none."""
    if isinstance(tree.hierarchy, StringHierarchy):
        return tree
    return next(
        (side for side in _sides(tree) if isinstance(side.hierarchy, StringHierarchy)), None
    )


def widest_classes(tree: TreeCells) -> tuple[tuple[str, str], ...]:
    """The widest classes of all columns of classes: column and name."""
    return tuple(
        (column, name)
        for column, side in of_classes(tree).items()
        for name in dict.fromkeys(path[0] for path in _taxonomy(side).paths)
    )


def texts_within(tree: TreeCells, column: str, name: str) -> tuple[TreeCells, float]:
    """The texts of a tree that has some, of one of the widest classes; and the share of all records that this
    class has. Of a cell that holds several of its values, an even part."""
    side, texts = of_classes(tree)[column], of_texts(tree)
    if texts is None:
        raise TypeError("the tree has no texts")
    classes = _taxonomy(side)
    # Values of a class are adjacent by code, so a prefix sum gives how many of a cell's values
    # are of this class.
    below = np.append(0, np.cumsum([path[0] == name for path in _paths_by_code(side)]))
    first, last = classes.inside(side.cells, side.levels)
    weights = (tree.weights * ((below[last] - below[first]) / (last - first))).astype(np.int64)
    occupied = np.flatnonzero(weights)
    texts_of_class = ComponentCells(
        hierarchy=texts.hierarchy,
        levels=texts.levels[occupied],
        cells=texts.cells[occupied],
        weights=weights[occupied],
        placed="density",
    )
    return texts_of_class, float(weights.sum() / tree.weights.sum())


def of_classes(tree: TreeCells) -> dict[str, TreeCells]:
    """The tree as each column with classes sees it, by name."""
    if isinstance(tree.hierarchy, TaxonomyHierarchy):
        return {tree.hierarchy.columns[0]: tree}
    return {
        side.hierarchy.columns[0]: side
        for side in _sides(tree)
        if isinstance(side.hierarchy, TaxonomyHierarchy)
    }


def _sides(tree: TreeCells) -> list[ComponentCells]:
    whole = tree.hierarchy
    if not isinstance(whole, ProductHierarchy):
        return []
    return [
        ComponentCells(
            hierarchy=component,
            levels=whole.component_levels(at)[tree.levels],
            cells=whole.component_prefixes(tree.cells, at),
            weights=tree.weights,
            placed=getattr(tree, "placed", "density"),
        )
        for at, component in enumerate(whole.components)
    ]


def explore_class(tree: TreeCells, path: Path) -> Class | None:
    """One class of the column of a tree of classes; None if it is not declared."""
    paths = _paths_by_code(tree)
    matching = [row for row, other in enumerate(paths) if other[: len(path)] == path]
    if not matching:
        return None
    depth = len(path)
    # A cell that ended above the class does not separate it from its neighbours, and its parts
    # are separated only one depth deeper.
    by_value, resolved, below = (_by_value(tree, least) for least in (0, depth, depth + 1))
    rows = range(matching[0], matching[-1] + 1)
    parts = tuple(
        _part(name, members, by_value, below)
        for name, members in _split_class(paths, rows, depth)
    )
    return Class(
        path=path, whole=_part(path[-1] if path else "", rows, by_value, resolved), parts=parts
    )


def all_classes(tree: TreeCells) -> Iterator[tuple[Path, Part]]:
    """Lists all classes and values, each before its parts."""
    paths = _paths_by_code(tree)
    by_value, *resolved = (_by_value(tree, least) for least in range(_taxonomy(tree).depth + 1))

    def walk(path: Path, rows: range) -> Iterator[tuple[Path, Part]]:
        for name, rows_of_part in _split_class(paths, rows, len(path)):
            yield (*path, name), _part(name, rows_of_part, by_value, resolved[len(path)])
            yield from walk((*path, name), rows_of_part)

    return walk((), range(len(paths)))


def _paths_by_code(tree: TreeCells) -> list[Path]:
    """The values in the order of their codes, in which those of a class stand side by side."""
    classes = _taxonomy(tree)
    return [classes.paths[code] for code in classes.order]


def _split_class(paths: list[Path], rows: range, depth: int) -> Iterator[tuple[str, range]]:
    """The parts of a class of this depth that is these rows."""
    deeper = (row for row in rows if len(paths[row]) > depth)
    for name, group in groupby(deeper, key=lambda row: paths[row][depth]):
        members = list(group)
        yield name, range(members[0], members[-1] + 1)


def _part(name: str, rows: range, by_value: Floats, resolved: Floats) -> Part:
    inside = slice(rows.start, rows.stop)
    return Part(
        name=name,
        values=len(rows),
        share=float(by_value[inside].sum()),
        resolved=float(resolved[inside].sum()),
    )


def _by_value(tree: TreeCells, least: int) -> Floats:
    """The shares of values, in the order of their codes, that cells of at least such a depth hold: of each of
    its values a cell holds as much as of another."""
    classes = _taxonomy(tree)
    deep = np.flatnonzero(tree.levels >= least)
    first, last = classes.inside(tree.cells[deep], tree.levels[deep])
    # In a product, many cells are one node of this column: each different node is spread once.
    nodes, index = np.unique(np.stack((first, last)), axis=1, return_inverse=True)
    mass = np.bincount(index.ravel(), weights=shares(tree)[deep], minlength=nodes.shape[1])
    by_value = np.zeros(len(classes.paths))
    for begin, end, mass_of_node in zip(*nodes.tolist(), mass.tolist(), strict=True):
        by_value[begin:end] += mass_of_node / (end - begin)
    return by_value


def _taxonomy(tree: TreeCells) -> TaxonomyHierarchy:
    classes = tree.hierarchy
    if not isinstance(classes, TaxonomyHierarchy):
        raise TypeError("the tree has no hierarchy of classes")
    return classes
