"""Where the rows of a city lie, and which rows they refer to: areas by weights and totals, the nearest row,
an alike row, a flow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial import KDTree

from synth_engine.extras.cities import rounding
from synth_engine.extras.cities.geography import AreaTable, Indices
from synth_engine.extras.cities.rows import scaled
from synth_engine.extras.cities.specification import POPULATION, CityTable, Total

Mask = npt.NDArray[np.bool_]


def areas_by_weight(weights: Indices, rows: int, *, rng: np.random.Generator) -> Indices:
    """The area of each row in random order; neighbouring areas together have their share to less than one
    row."""
    chosen = np.repeat(np.arange(weights.size), rounding.spread(weights, rows, rng=rng))
    rng.shuffle(chosen)
    return chosen


def areas_by_total(
    table: CityTable,
    total: Total,
    geography: AreaTable,
    weights: Indices,
    sizes: Indices,
    *,
    rng: np.random.Generator,
) -> Indices:
    """The area of each row, such that the totals are met exactly. sizes: the persons of each row; ones where
    rows are counted. Errors: SpecError where whole rows cannot meet them."""
    wanted = scaled(total.counts, int(sizes.sum()))
    group = _groups(table, total, sizes, wanted.to_numpy(dtype=np.int64), rng=rng)
    texts = geography.table[total.by].to_numpy()
    areas = np.full(sizes.size, -1, dtype=np.int64)
    for index, value in enumerate(wanted.index):
        mine, theirs = np.flatnonzero(group == index), np.flatnonzero(texts == value)
        if mine.size:
            areas[mine] = theirs[areas_by_weight(weights[theirs], mine.size, rng=rng)]
    return areas


def _groups(
    table: CityTable,
    total: Total,
    sizes: Indices,
    wanted: Indices,
    *,
    rng: np.random.Generator,
) -> Indices:
    """The group of each row. Large rows choose first, in proportion to the room that is left, so that small
    ones fill what remains."""
    left = wanted.copy()
    group = np.full(sizes.size, -1, dtype=np.int64)
    for size in np.unique(sizes)[::-1].tolist():
        members = rng.permutation(np.flatnonzero(sizes == size))
        numbers = _within(left, members.size, most=left // size)
        if numbers is None:
            of = "persons" if total.of == POPULATION else "rows"
            raise table.error(
                f"its totals of {of} by {total.by!r} cannot be met with whole rows",
                repair="take larger areas, or a source with smaller rows",
            )
        group[members] = np.repeat(np.arange(left.size), numbers)
        left -= numbers * size
    return group


def _within(weights: Indices, total: int, *, most: Indices) -> Indices | None:
    """Whole numbers with that sum in proportion to the weights, none above its most; None where all together
    are less."""
    if most.sum() < total:
        return None
    numbers = np.minimum(rounding.shares(weights, total), most)
    while (missing := total - int(numbers.sum())) > 0:
        room = most - numbers
        # At least one more where there is room, so that this ends.
        more = np.minimum(rounding.shares(room, missing), room)
        numbers = numbers + more
    return numbers


def nearest(
    geography: AreaTable, areas: Indices, targets: Indices, *, rng: np.random.Generator
) -> Indices:
    """The index of the nearest target of each area; of several at one place, each by chance. targets: the
    area of each."""
    places, place_of = np.unique(targets, return_inverse=True)
    order = np.argsort(place_of, kind="stable")
    starts = np.searchsorted(place_of[order], np.arange(places.size))
    numbers = np.bincount(place_of, minlength=places.size)
    own, inverse = np.unique(areas, return_inverse=True)
    _, near = KDTree(geography.points[places]).query(geography.points[own])
    place = np.asarray(near, dtype=np.int64)[inverse]
    chosen: Indices = order[starts[place] + rng.integers(numbers[place])]
    return chosen


def matching(
    own: Sequence[pd.Series], others: Sequence[pd.Series], *, rng: np.random.Generator
) -> tuple[Indices, int]:
    """For each row a row of the other table with the same values; where none has them, with the same first
    ones.

    Returns the indices, and how many rows have another value in the last column or more."""
    rows = len(own[0])
    chosen = np.full(rows, -1, dtype=np.int64)
    fewer = 0
    for columns in range(len(own), -1, -1):
        waiting = np.flatnonzero(chosen < 0)
        if columns < len(own):
            fewer = max(fewer, waiting.size)
        if not waiting.size:
            break
        mine = _labels(own[:columns], rows)[waiting]
        theirs = _labels(others[:columns], len(others[0]))
        order = rng.permutation(theirs.size)
        sorted_labels = np.argsort(theirs[order], kind="stable")
        order, labels = order[sorted_labels], theirs[order][sorted_labels]
        start = np.searchsorted(labels, mine, side="left")
        number = np.searchsorted(labels, mine, side="right") - start
        some = number > 0
        # Each in turn, so that nobody is chosen twice before all are chosen once.
        turn = pd.Series(mine).groupby(mine).cumcount().to_numpy()
        picked = order[start[some] + turn[some] % number[some]]
        chosen[waiting[some]] = picked
    return chosen, fewer


def _labels(columns: Sequence[pd.Series], rows: int) -> npt.NDArray[np.object_]:
    """One text for the values of a row."""
    if not columns:
        return np.full(rows, "", dtype=object)
    parts = [column.astype(str).to_numpy(dtype=object) for column in columns]
    labels: npt.NDArray[np.object_] = np.array(
        ["\x1f".join(each) for each in zip(*parts, strict=True)], dtype=object
    )
    return labels


def paired(
    homes: Indices,
    works: Indices,
    flows: tuple[Indices, Indices, Indices],
    *,
    areas: int,
    rng: np.random.Generator,
) -> tuple[Indices, Indices]:
    """Pairs rows of two tables, each at most once and as many as the smaller table has, by the flows between
    their areas.

    homes, works: the area of each row; flows: origins, destinations and numbers. Returns the indices of both
    rows of each pair."""
    pairs = min(homes.size, works.size)
    first = np.sort(rng.permutation(homes.size)[:pairs])
    second = np.sort(rng.permutation(works.size)[:pairs])
    home_areas, home_of = np.unique(homes[first], return_inverse=True)
    work_areas, work_of = np.unique(works[second], return_inverse=True)
    origin, destination = _positions(home_areas, areas), _positions(work_areas, areas)
    rows, columns = origin[flows[0]], destination[flows[1]]
    known = (rows >= 0) & (columns >= 0)
    rows, columns, numbers = rows[known], columns[known], flows[2][known].astype(np.float64)
    table = rounding.RakedTable(
        rows=rows,
        columns=columns,
        row_totals=np.bincount(home_of, minlength=home_areas.size).astype(np.int64),
        column_totals=np.bincount(work_of, minlength=work_areas.size).astype(np.int64),
    )
    met = table.rounded(table.rake(numbers), rng=rng)
    if met is None:
        raise ValueError("a flow with detours meets all totals")
    at_home, at_work, number = met
    people = _in_groups(home_of, np.repeat(at_home, number), rng=rng)
    jobs = _in_groups(work_of, np.repeat(at_work, number), rng=rng)
    order = np.argsort(first[people], kind="stable")
    return first[people][order], second[jobs][order]


def _positions(chosen: Indices, size: int) -> Indices:
    """The position of each of `size` numbers among the chosen ones; -1 of those that are not chosen."""
    positions = np.full(size, -1, dtype=np.int64)
    positions[chosen] = np.arange(chosen.size)
    return positions


def _in_groups(groups: Indices, wanted: Indices, *, rng: np.random.Generator) -> Indices:
    """A member of the wanted group for each, every member once; both have each group equally often."""
    members = rng.permutation(groups.size)
    members = members[np.argsort(groups[members], kind="stable")]
    result = np.empty(wanted.size, dtype=np.int64)
    result[np.argsort(wanted, kind="stable")] = members
    return result
