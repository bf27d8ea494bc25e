"""Repair of a synthetic table: its rows are weighted, or repeated and left out, until public totals are met.

Post-processing of synthetic rows and public numbers, so that it costs no privacy. Raking is iterative
proportional fitting: weights are scaled to each total in turn (Deming and Stephan 1940).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from synth_engine.errors import InputError, SpecError
from synth_engine.models.weights import round_to_total, whole_weights

COUNT = "count"
"""The column of a file of totals that says how many."""
WEIGHT = "weight"
MAX_TOTALS, MAX_CELLS, MAX_TOTAL = 20, 10**6, 10**9
STEPS, TOLERANCE = 2_000, 1e-9
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PublicTotals:
    """How many records have each combination of values of some columns, as a public table says. name: of the
    file, for messages."""

    name: str
    columns: tuple[str, ...]
    counts: Mapping[tuple[str, ...], int]

    @property
    def sum(self) -> int:
        return sum(self.counts.values())


def read_totals(path: Path) -> PublicTotals:
    """Totals from a CSV with one column or more and `count`. Errors: InputError."""
    name = path.name
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        raise InputError(
            f"the totals {name!r} cannot be read as CSV", repair="check path and encoding"
        ) from None
    if COUNT not in table or len(table.columns) < 2 or not 0 < len(table) <= MAX_CELLS:
        raise InputError(
            f"the totals {name!r} have no column {COUNT!r} beside columns of the table",
            repair="write one line for each combination of values, with its count",
        )
    columns = tuple(str(column) for column in table.columns if column != COUNT)
    if not all(
        text.isascii() and text.isdigit() and int(text) <= MAX_TOTAL for text in table[COUNT]
    ):
        raise InputError(
            f"a count of the totals {name!r} is not a whole number of 0 or more",
            repair="write digits alone",
            column=COUNT,
        )
    keys = list(zip(*(table[column] for column in columns), strict=True))
    if len(set(keys)) != len(keys):
        raise InputError(
            f"the totals {name!r} have a combination of values twice", repair="add both counts"
        )
    counts = dict(zip(keys, map(int, table[COUNT]), strict=True))
    return PublicTotals(name=name, columns=columns, counts=counts)


def require_one_population(totals: Sequence[PublicTotals]) -> None:
    """Errors: SpecError where totals are none, too many, all 0, or of different numbers of records."""
    if not 1 <= len(totals) <= MAX_TOTALS:
        raise SpecError(f"give 1 to {MAX_TOTALS} totals", repair="name a file of each")
    if len({each.sum for each in totals}) > 1:
        raise SpecError(
            "the totals are of different numbers of records: "
            + ", ".join(f"{each.name} {each.sum:,}" for each in totals),
            repair="use totals of one population",
        )
    if not totals[0].sum:
        raise SpecError("all totals are 0", repair="check the files")


def weights(table: pd.DataFrame, totals: Sequence[PublicTotals]) -> Floats:
    """A weight of each row with which the table meets all totals. table: texts. Errors: SpecError naming the
    totals that it cannot meet."""
    require_one_population(totals)
    margins = [(_cells(table, each), _targets(each)) for each in totals]
    for each, (cells, targets) in zip(totals, margins, strict=True):
        empty = int(((np.bincount(cells, minlength=targets.size) == 0) & (targets > 0)).sum())
        if empty:
            raise SpecError(
                f"no row of the table is in {empty:,} combination{'s' if empty > 1 else ''} of the totals "
                f"{each.name!r}",
                repair="generate more rows, or use totals of fewer values",
            )
    fitted = np.full(len(table), totals[0].sum / len(table))
    for _step in range(STEPS):
        off = 0.0
        for cells, targets in margins:
            sums = np.bincount(cells, weights=fitted, minlength=targets.size)
            off = max(off, float(np.abs(sums - targets).max()))
            scale = np.divide(targets, sums, out=np.zeros(targets.size), where=sums > 0)
            fitted *= scale[cells]
        if off <= TOLERANCE * totals[0].sum:
            return fitted
    raise SpecError(
        "no weights of these rows meet all totals at once: they contradict each other where the table has "
        "no rows",
        repair="generate more rows, or leave one of the totals out",
    )


def repaired(table: pd.DataFrame, totals: PublicTotals) -> pd.DataFrame:
    """The rows of a table, some of them repeated and some left out, so that one table of totals is met
    exactly. Errors: as `weights`."""
    times = repetitions(table, totals)
    return table.loc[table.index.repeat(times)].reset_index(drop=True)


def repetitions(table: pd.DataFrame, totals: PublicTotals) -> npt.NDArray[np.int64]:
    """How often each row is taken so that one table of totals is met exactly, shape (rows,). Errors: as
    `weights`."""
    fitted = weights(table, [totals])
    cells, targets = _cells(table, totals), _targets(totals)
    order = np.argsort(cells, kind="stable")
    times = np.zeros(len(table), dtype=np.int64)
    for rows in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        whole = whole_weights(fitted[rows])
        target = int(targets[cells[rows[0]]])
        times[rows] = round_to_total(whole, target) if target else 0
    return times


def _targets(totals: PublicTotals) -> Floats:
    return np.array(list(totals.counts.values()), dtype=np.float64)


def _cells(table: pd.DataFrame, totals: PublicTotals) -> npt.NDArray[np.intp]:
    """In which combination of the totals each row is."""
    for column in totals.columns:
        if column not in table:
            raise SpecError(
                f"the totals {totals.name!r} are by a column that the table has not",
                repair="name the column as the table does",
                column=column,
            )
    numbers = {key: number for number, key in enumerate(totals.counts)}
    keys = zip(*(table[column] for column in totals.columns), strict=True)
    cells = np.array([numbers.get(key, -1) for key in keys], dtype=np.intp)
    unknown = int((cells < 0).sum())
    if unknown:
        raise SpecError(
            f"{unknown:,} rows of the table are in no combination of the totals {totals.name!r}",
            repair="add these combinations with their counts, which may be 0",
        )
    return cells
