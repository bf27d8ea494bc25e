"""Which rows of a model a table of a city takes: so many that they hold a population, have values at
positions, or meet totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd

from synth_engine.extras.cities import rounding
from synth_engine.extras.cities.city import require_sum
from synth_engine.extras.cities.geography import Indices
from synth_engine.extras.cities.sources import CitySource
from synth_engine.extras.cities.specification import CityTable, Join, Total
from synth_engine.models.weights import generator

POOL = 12
"""At most so many times as many rows are generated as a table has."""
MAX_POOL = 5_000_000
_TRIAL_ROWS = 2_000
_MOST_DROPPED = 50

Wanted = tuple[str, ...]
"""Values of which a row has one; without any, every row is right."""


def holding(
    source: CitySource, table: CityTable, population: int, *, seed: str
) -> tuple[pd.DataFrame, Indices]:
    """Rows whose columns of persons add up to the population exactly, and the persons of each. Rows without
    persons are left out. Errors: SpecError where no such rows are found."""
    trial = _persons(table, source.draw(_TRIAL_ROWS, seed=f"{seed}/trial"))
    mean = trial.mean()
    if not mean:
        raise table.error("its rows have no persons", repair="name columns that count them")
    # A sum of so many draws is below the population with negligible probability.
    rows = int(population / mean * 1.05 + 20 * np.sqrt(population) + _TRIAL_ROWS)
    frame = source.draw(min(rows, MAX_POOL), seed=seed)
    sizes = _persons(table, frame)
    used = np.flatnonzero(sizes)
    chosen = used[_filling(sizes[used], population, table)]
    return frame.iloc[chosen].reset_index(drop=True), sizes[chosen]


def _persons(table: CityTable, frame: pd.DataFrame) -> Indices:
    counts: Indices = frame[list(table.population)].to_numpy(dtype=np.int64).clip(0).sum(axis=1)
    return counts


def _filling(sizes: Indices, population: int, table: CityTable) -> Indices:
    """The first rows, as long as they fit, and a few later ones that make the sum exact."""
    reached = np.cumsum(sizes)
    fit = int(np.searchsorted(reached, population, side="right"))
    for first in range(fit, max(fit - _MOST_DROPPED, -1), -1):
        gap = population - (int(reached[first - 1]) if first else 0)
        later = _exactly(sizes[first:], gap)
        if later is not None:
            return np.concatenate([np.arange(first), first + later])
    raise table.error(
        f"its rows cannot hold exactly {population:,} persons",
        repair="ask for another population, or take a source with more sizes",
    )


def _exactly(sizes: Indices, gap: int) -> Indices | None:
    """The indices of a few rows whose sizes add up to the gap, none of them twice; None where none are
    found."""
    if not gap:
        return np.zeros(0, dtype=np.int64)
    values, counts = np.unique(sizes[sizes <= gap], return_counts=True)
    # The way to each sum that can be reached: the size that was added last. Each size is used as often as it
    # is there.
    last: dict[int, list[int]] = {0: []}
    for value, count in zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True):
        for total, way in list(last.items()):
            for times in range(1, min(count, (gap - total) // value) + 1):
                last.setdefault(total + times * value, [*way, *[value] * times])
        if gap in last:
            break
    if gap not in last:
        return None
    chosen: list[int] = []
    for value in set(last[gap]):
        chosen += np.flatnonzero(sizes == value)[: last[gap].count(value)].tolist()
    return np.array(sorted(chosen), dtype=np.int64)


def at_positions(
    source: CitySource, join: Join, wanted: Sequence[Wanted], *, seed: str
) -> tuple[pd.DataFrame, int]:
    """A row for each position, with one of its values. wanted: values of each position.

    Returns the rows in the order of the positions, and how many have another value because too few rows with
    theirs were generated."""
    of_class: dict[Wanted, list[int]] = {}
    for position, values in enumerate(wanted):
        of_class.setdefault(values, []).append(position)
    # The classes with fewest values choose first; those that take any row come last.
    classes = sorted(of_class, key=lambda values: (not values, len(values), values))
    taken = np.full(len(wanted), -1, dtype=np.int64)
    filled = dict.fromkeys(classes, 0)
    blocks: list[pd.DataFrame] = []
    spare: list[Indices] = []
    rows = 0
    limit = min(POOL * len(wanted), MAX_POOL)
    column = join.positions.column if join.positions is not None else ""
    while rows < limit and any(filled[each] < len(of_class[each]) for each in classes):
        block = source.draw(len(wanted), seed=f"{seed}/{len(blocks)}")
        texts = source.texts(block, column) if column else None
        free = np.ones(len(block), dtype=bool)
        for values in classes:
            gap = len(of_class[values]) - filled[values]
            right = (
                free if not values or texts is None else free & texts.isin(values).to_numpy()
            )
            chosen = np.flatnonzero(right)[:gap]
            start = filled[values]
            taken[of_class[values][start : start + chosen.size]] = rows + chosen
            filled[values] += chosen.size
            free[chosen] = False
        spare.append(rows + np.flatnonzero(free))
        blocks.append(block)
        rows += len(block)
    other = np.flatnonzero(taken < 0)
    taken[other] = np.concatenate([*spare, np.zeros(0, dtype=np.int64)])[: other.size]
    every = pd.concat(blocks, ignore_index=True)
    return every.iloc[taken].reset_index(drop=True), int(other.size)


def alike(
    frame: pd.DataFrame,
    join: Join,
    wanted: Sequence[Wanted],
    above: Indices,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The same rows, in an order in which those with one row above have near values of a column, within
    positions that want the same. above: the row above of each position."""
    if join.alike is None:
        return frame
    numbers = pd.to_numeric(frame[join.alike], errors="coerce").to_numpy(
        dtype=np.float64, na_value=0
    )
    ranks = rng.random(int(above.max(initial=0)) + 1)
    near = ranks[above] + _NEARNESS * rng.standard_normal(above.size)
    order = np.arange(len(frame))
    classes = pd.Series(pd.factorize(pd.Series(list(wanted), dtype=object))[0])
    for _, positions in classes.groupby(classes, sort=True):
        of_class = positions.index.to_numpy()
        ranked = of_class[np.argsort(near[of_class], kind="stable")]
        order[ranked] = of_class[np.argsort(numbers[of_class], kind="stable")]
    return frame.iloc[order].reset_index(drop=True)


_NEARNESS = 0.1
"""Of the noise on the rank of a row above: 0 would sort all rows by it."""


def with_totals(
    source: CitySource, table: CityTable, totals: Sequence[Total], rows: int, *, seed: str
) -> pd.DataFrame:
    """So many rows that meet the totals by their own columns exactly. Errors: SpecError where this model has
    too few rows for them."""
    if not totals:
        return source.draw(rows, seed=seed)
    counts = [_scaled(table, total, rows) for total in totals]
    frame = source.draw(min(4 * rows + _TRIAL_ROWS, max(rows, MAX_POOL)), seed=seed)
    columns = [source.texts(frame, total.by) for total in totals]
    cells = list(product(*(one.index for one in counts)))
    group = pd.MultiIndex.from_arrays(columns) if len(columns) > 1 else pd.Index(columns[0])
    names = (
        pd.MultiIndex.from_tuples(cells)
        if len(columns) > 1
        else pd.Index([c for (c,) in cells])
    )
    index = names.get_indexer(group)
    there = np.bincount(index[index >= 0], minlength=len(cells)).astype(np.int64)
    numbers = _numbers(counts, there, rng=generator(seed, purpose=("city", "totals")))
    if numbers is None:
        named = " and ".join(repr(total.by) for total in totals)
        raise table.error(
            f"its totals by {named} cannot be met: its source generates too few rows with these values",
            repair="leave out the totals of rare values, or take a source that has them",
        )
    # Rows are in random order, so the first ones of each cell are a random part.
    rank = pd.Series(index).groupby(index).cumcount().to_numpy()
    chosen = (index >= 0) & (rank < numbers[index])
    return frame[chosen].reset_index(drop=True)


def _numbers(
    counts: Sequence[pd.Series], there: Indices, *, rng: np.random.Generator
) -> Indices | None:
    """How many rows of each combination of values; None where there are too few."""
    if len(counts) == 1:
        wanted = counts[0].to_numpy(dtype=np.int64)
        return wanted if (wanted <= there).all() else None
    first, second = (one.to_numpy(dtype=np.int64) for one in counts)
    rows, columns = np.divmod(np.arange(there.size), second.size)
    table = rounding.RakedTable(
        rows=rows, columns=columns, row_totals=first, column_totals=second
    )
    met = table.rounded(table.rake(there.astype(np.float64)), most=there, rng=rng)
    return None if met is None else met[2]


def _scaled(table: CityTable, total: Total, rows: int) -> pd.Series:
    require_sum(table, total, rows)
    return scaled(total.counts, rows)


def scaled(counts: Mapping[str, int], rows: int) -> pd.Series:
    """Public counts as whole numbers that add up to the rows, by largest remainder."""
    numbers: npt.NDArray[np.int64] = np.array(list(counts.values()), dtype=np.int64)
    if numbers.sum() != rows:
        numbers = rounding.shares(numbers, rows)
    return pd.Series(numbers, index=list(counts))
