"""Count how uncoded values of two columns go together: rank correlations, and sums of one within groups of
the other.

Of real cells these are exact figures: for the report of the data steward alone, and never to be released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.codec.encoding import encode_column
from synth_engine.codec.ladder_cells import (
    is_on_ladder,
    on_declared_steps,
    read_cells,
)
from synth_engine.domain import Attribute, Domain
from synth_engine.formats import Marks

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_RECORDS = 2**17
"""Records that are retained. Of a larger table every second, fourth, … record is, so that at least half as
many remain."""
MAX_GROUPS = 60
"""Codes of a column within which means are taken."""
MAX_STEPS = 1_000
"""Groups of neighbouring values of a column of numbers: their ends are as fine as a thousandth of the
records."""
MAX_COLUMNS = 40
"""Columns of values that are compared pair by pair, the first ones of the description."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Rank correlations of two columns with midranks for ties: Spearman's rho, and Kendall's tau-b (1945).
    None where a side is constant. records: those that have both values."""

    records: int
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSums:
    """Records, sums and sums of squares of a number within each group of another column; all of shape
    (groups,).

    ends: the largest value of each group, ascending; None where groups are codes.
    """

    counts: Counts = field(repr=False)
    sums: Floats = field(repr=False)
    squares: Floats = field(repr=False)
    ends: Floats | None = field(default=None, repr=False)


Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class RawPairs:
    """What was counted of the uncoded values of pairs of columns.

    private: False for real cells. records: of the table. retained: those that were looked at. ranks: by pair,
    in the order of the description. means: by the grouping column and the column whose mean is taken.
    """

    private: bool
    records: int
    retained: int
    ranks: Mapping[Pair, RankCorrelation]
    means: Mapping[Pair, GroupSums]


class _Retained:
    """Values of the retained records, block by block."""

    def __init__(self, domain: Domain) -> None:
        attributes = [each for each in domain.attributes if each.size]
        self.scales = [each for each in attributes if is_on_ladder(each)][:MAX_COLUMNS]
        self.groupings: list[Attribute] = [
            each for each in attributes if each.lists_values and each.size <= MAX_GROUPS
        ]
        self._pieces: list[dict[str, NDArray[Any]]] = []
        self._stride = 1
        self._records = self._size = 0

    @property
    def wanted(self) -> list[Attribute]:
        """The columns of which values are retained."""
        return [*self.scales, *self.groupings]

    def add(self, values: Mapping[str, NDArray[Any]], times: Counts) -> None:
        """Retain records of a block. values: of each wanted column; times: records that each row stands
        for."""
        total = int(times.sum())
        while self._size + total // self._stride > MAX_RECORDS:
            self._halve()
        # The retained records are those whose number in the table is a multiple of the stride.
        first = -self._records % self._stride
        numbers = np.arange(first, total, self._stride)
        rows = np.searchsorted(np.cumsum(times), numbers, side="right")
        self._pieces.append({name: column[rows] for name, column in values.items()})
        self._records += total
        self._size += len(rows)

    def _halve(self) -> None:
        joined = self._joined()
        self._pieces = [{name: column[::2] for name, column in joined.items()}]
        self._stride *= 2
        self._size = -(-self._size // 2)

    def _joined(self) -> dict[str, NDArray[Any]]:
        names = [each.name for each in self.wanted]
        if not self._pieces:
            return {name: np.empty(0) for name in names}
        return {name: np.concatenate([piece[name] for piece in self._pieces]) for name in names}

    def finish(self, *, private: bool) -> RawPairs:
        columns = self._joined()
        return RawPairs(
            private=private,
            records=self._records,
            retained=self._size,
            ranks=dict(_ranks(self.scales, columns)),
            means=dict(_means(self.scales, self.groupings, columns)),
        )


class RawPairCounter:
    """Takes in real cells of all columns block by block."""

    def __init__(self, domain: Domain, *, marks: Marks | None = None) -> None:
        """marks: how the file writes numbers."""
        self._retained = _Retained(domain)
        self._marks = marks

    @property
    def names(self) -> list[str]:
        """The columns whose cells `add` takes."""
        return [each.name for each in self._retained.wanted]

    def add(self, block: Mapping[str, Any], *, times: Counts | None = None) -> None:
        """Count a block of cells (PyArrow texts, null is missing), each row as often as `times` says."""
        if not self.names:
            return
        values: dict[str, NDArray[Any]] = {
            each.name: self._values(each, block[each.name]) for each in self._retained.scales
        }
        for each in self._retained.groupings:
            values[each.name] = encode_column(each, block[each.name])
        rows = len(next(iter(values.values())))
        once = np.ones(rows, dtype=np.int64)
        self._retained.add(values, once if times is None else times)

    def _values(self, attribute: Attribute, cells: Any) -> Floats:
        """Cells as numbers of the ladder; NaN where one is missing or cannot be read as described."""
        if isinstance(cells, pa.ChunkedArray):
            cells = cells.combine_chunks()
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(pa.string())
        coded = cells.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        written = pa.array([text or "" for text in texts], type=pa.string())
        read = read_cells(attribute, attribute.plain(written, self._marks).to_pylist())
        values = np.full(len(texts), np.nan) if read is None else read.values
        markers = set(attribute.missing or ())
        values = np.where([text in markers for text in texts], np.nan, values)
        known = np.append(on_declared_steps(attribute, values), np.nan)
        indices = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        taken: Floats = known[indices]
        return np.where(np.isfinite(taken), taken, np.nan)

    def finish(self) -> RawPairs:
        """Return the figures of all real cells taken in."""
        return self._retained.finish(private=False)


class GeneratedPairCounter:
    """Takes in the values of a synthetic table block by block."""

    def __init__(self, domain: Domain) -> None:
        self._retained = _Retained(domain)

    def add(self, frame: pd.DataFrame) -> None:
        """Count a block of values in the natural types of their columns; NA is missing."""
        if not self._retained.wanted:
            return
        values: dict[str, NDArray[Any]] = {}
        for each in self._retained.scales:
            column = np.full(len(frame), np.nan)
            stated = frame[each.name].notna().to_numpy()
            column[stated] = each.comparable(frame[each.name][stated])
            values[each.name] = column
        for each in self._retained.groupings:
            values[each.name] = encode_column(each, each.write(frame[each.name]))
        self._retained.add(values, np.ones(len(frame), dtype=np.int64))

    def finish(self) -> RawPairs:
        """Return the figures of all values taken in: post-processing of a model."""
        return self._retained.finish(private=True)


def _ranks(
    scales: list[Attribute], columns: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[Pair, RankCorrelation]]:
    names = [each.name for each in scales]
    # A column without gaps has the same ranks beside every other one.
    ranked = {
        name: _midranks(columns[name]) for name in names if not np.isnan(columns[name]).any()
    }
    for first, second in combinations(names, 2):
        if first in ranked and second in ranked:
            yield (first, second), _correlation(ranked[first], ranked[second])
        else:
            yield (first, second), rank_correlation(columns[first], columns[second])


def rank_correlation(first: Floats, second: Floats) -> RankCorrelation:
    """The rank correlation of two columns, over the records that have both values; NaN is missing, shapes
    (n,)."""
    both = ~(np.isnan(first) | np.isnan(second))
    return _correlation(_midranks(first[both]), _midranks(second[both]))


def _correlation(first: Floats, second: Floats) -> RankCorrelation:
    """The rank correlation of two columns of midranks, shapes (n,)."""
    from scipy.stats import kendalltau  # slow to import

    ranks = first, second
    if any(not len(each) or not np.ptp(each) for each in ranks):
        return RankCorrelation(records=len(first), spearman=None, kendall=None)
    centred = [each - each.mean() for each in ranks]
    scale = np.sqrt((centred[0] @ centred[0]) * (centred[1] @ centred[1]))
    return RankCorrelation(
        records=len(first),
        spearman=float(centred[0] @ centred[1] / scale),
        kendall=float(kendalltau(*ranks, variant="b").statistic),
    )


def _midranks(values: Floats) -> Floats:
    """The mean rank of each value among all; equal ones share theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles: Floats = (ends - (counts - 1) / 2)[places]
    return middles


def _means(
    scales: list[Attribute], groupings: list[Attribute], columns: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[Pair, GroupSums]]:
    measured = [each for each in scales if each.holds_numbers]
    for grouping in groupings:
        for attribute in measured:
            yield (
                (grouping.name, attribute.name),
                _sums_by_code(
                    columns[grouping.name], columns[attribute.name], size=grouping.size
                ),
            )
    for by in scales:
        whole = _ValueGroups.of(columns[by.name])
        for attribute in measured:
            if attribute is not by:
                values = columns[attribute.name]
                yield (by.name, attribute.name), sums_by_value(columns[by.name], values, whole)


def _sums_by_code(
    codes: NDArray[Any], values: Floats, *, size: int, ends: Floats | None = None
) -> GroupSums:
    known = ~np.isnan(values)
    groups, numbers = codes[known].astype(np.int64), values[known]
    return GroupSums(
        counts=np.bincount(groups, minlength=size).astype(np.int64),
        sums=np.bincount(groups, weights=numbers, minlength=size).astype(np.float64),
        squares=np.bincount(groups, weights=numbers**2, minlength=size).astype(np.float64),
        ends=ends,
    )


@dataclass(frozen=True, eq=False)
class _ValueGroups:
    """Groups of neighbouring values of a column without gaps: that of each record, and the largest value of
    each."""

    groups: NDArray[np.int64]
    ends: Floats

    @classmethod
    def of(cls, by: Floats) -> _ValueGroups | None:
        """None for a column with gaps or without records. Values whose ranks begin within the same thousandth
        of the records are one group."""
        if not len(by) or np.isnan(by).any():
            return None
        different, places, counts = np.unique(by, return_inverse=True, return_counts=True)
        starts = np.cumsum(counts) - counts
        steps = starts * MAX_STEPS // len(by)
        groups = np.cumsum(np.append(0, np.diff(steps) > 0))
        last = np.append(np.flatnonzero(np.diff(groups)), len(different) - 1)
        return cls(groups[places], different[last])


def sums_by_value(by: Floats, values: Floats, whole: _ValueGroups | None = None) -> GroupSums:
    """Sums of `values` within groups of neighbouring values of `by`; NaN is missing, both of shape (n,).
    whole: the groups of all records, which serve every column without gaps."""
    both = ~(np.isnan(by) | np.isnan(values))
    grouped = whole if whole is not None and both.all() else _ValueGroups.of(by[both])
    if grouped is None:
        return _sums_by_code(np.empty(0, dtype=np.int64), values[both], size=0, ends=by[both])
    return _sums_by_code(
        grouped.groups, values[both], size=len(grouped.ends), ends=grouped.ends
    )
