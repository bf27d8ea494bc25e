"""Columns of a fit as numbers: groups of codes by which noisy answers count all that the fit needs, and the
number of each group.

A regression on noisy counts is one of the *binned table*: every record counts as the number of its group.
Groups follow from the bins of the answers and from noisy counts, so they are as public as these. Numbers and
days: neighbouring codes are joined until each group holds at least `RARE` of the records, and a group counts
as the mean of the middles of its codes, weighted by their noisy counts. Other columns have an indicator for
each group but the largest one, the *base*; rare values make one group.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Attribute, Domain
from synth_engine.errors import InputError
from synth_engine.measurement.paid_counts import PaidCounts

RARE = 0.02
"""Share of the records that a group holds at least, unless that leaves one group."""
NOISE = 10.0
"""Standard deviations of its noise that the count of a group is at least."""

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FitGroup:
    """Values that count as the same. number: what each of them counts as; None where indicators tell the
    groups apart."""

    values: str
    number: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class FitColumn:
    """A column as numbers.

    groups: the group of each code; numbers: what each group counts as in each term, shape (groups, terms);
    terms: the values that they indicate, "" for the number itself; labels: the codes of each group, as
    conditions of tables of counts name them; base: the group whose indicators are all 0, "" where there is
    none."""

    name: str
    groups: Places
    numbers: Floats
    terms: tuple[str, ...]
    labels: tuple[str, ...]
    base: str = ""

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def described(self) -> tuple[FitGroup, ...]:
        """The groups for people, in order."""
        first = self.numbers[:, 0]
        # A group that an indicator tells apart from numbers has no number of its own.
        without = np.asarray(self.numbers[:, 1:].any(axis=1))
        return tuple(
            FitGroup(values=label, number=float(number) if not (self.base or left) else None)
            for label, number, left in zip(self.labels, first, without, strict=True)
        )


def sources(tables: Sequence[PaidCounts], clique: Sequence[str]) -> list[PaidCounts]:
    """Tables from which counts of these columns follow, the finest there are; none where no table counts all
    columns."""
    candidates = [
        table
        for table in tables
        if set(clique) <= set(table.clique)
        and (not table.interaction or len(table.clique) == len(clique))
    ]
    for table in sorted(candidates, key=lambda each: (-_cells(each, clique), each.interaction)):
        if not table.interaction:
            return [table]
        # A contrast says what pairs add to columns, and so on: those are counted as well.
        parts = [
            sources(tables, part) for part in itertools.combinations(clique, len(clique) - 1)
        ]
        if all(parts):
            return [table, *itertools.chain.from_iterable(parts)]
    return []


def _cells(table: PaidCounts, clique: Sequence[str]) -> int:
    return math.prod(table.values.shape[table.clique.index(name)] for name in clique)


def described(
    domain: Domain, name: str, used: Sequence[PaidCounts], tables: Sequence[PaidCounts]
) -> FitColumn:
    """A column as numbers. used: the tables by which the fit counts it; tables: all. Errors: InputError where
    fewer than two groups are left."""
    attribute = attribute_of(domain, name)
    groups = np.arange(attribute.size)
    for table in used:
        if name in table.clique:
            groups = _joined(groups, table.bins[table.clique.index(name)])
    counts = _CodeCounts.of(name, tables)
    joined = _without_rare(groups, counts, attribute)
    if joined.max() == 0:
        # Nearly all records have one value: what the noise leaves of the others is asked for.
        joined = _without_rare(groups, dataclasses.replace(counts, share=0.0), attribute)
    groups = joined
    if groups.max() == 0:
        raise InputError(
            "too few records for the noise differ in it, by the bins of the answers",
            repair="leave it out of the fit",
            column=name,
        )
    labels = tuple(_labels(attribute, groups))
    if attribute.is_comparable:
        numbers, terms = _numbers(attribute, groups, counts)
        return FitColumn(name=name, groups=groups, numbers=numbers, terms=terms, labels=labels)
    base = int(np.bincount(groups, weights=counts.of_codes).argmax())
    others = [group for group in range(len(labels)) if group != base]
    return FitColumn(
        name=name,
        groups=groups,
        numbers=np.eye(len(labels))[:, others],
        terms=tuple(labels[group] for group in others),
        labels=labels,
        base=labels[base],
    )


def attribute_of(domain: Domain, name: str) -> Attribute:
    """Errors: InputError for a column that the release does not model."""
    for attribute in domain.modelled:
        if attribute.name == name:
            return attribute
    raise InputError(
        "the release has no such column to fit by",
        repair="take the names of columns from its dictionary",
        column=name,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _CodeCounts:
    """The noisy count of each code by the finest table of its column, shape (codes,), and the variance of the
    noise of one bin of it. share: of the records, that a group holds at least."""

    of_codes: Floats
    bins: Places
    variance: float
    share: float = RARE

    @classmethod
    def of(cls, name: str, tables: Sequence[PaidCounts]) -> _CodeCounts:
        # Of several as fine, the one with the least noise in a count of the column alone.
        table = min(
            (each for each in tables if name in each.clique and not each.interaction),
            key=lambda each: (-_cells(each, [name]), each.variance * _others(each, name)),
        )
        axis = table.clique.index(name)
        bins = table.bins[axis]
        away = tuple(other for other in range(table.values.ndim) if other != axis)
        counts = np.maximum(table.values.sum(axis=away), 0) / np.bincount(bins)
        return cls(
            of_codes=counts[bins], bins=bins, variance=table.variance * _others(table, name)
        )

    def enough(self, codes: Places) -> bool:
        """Whether these codes hold as many records as a group needs."""
        noise = math.sqrt(self.variance * np.unique(self.bins[codes]).size)
        least = max(self.share * float(self.of_codes.sum()), NOISE * noise)
        return float(self.of_codes[codes].sum()) >= least


def _others(table: PaidCounts, name: str) -> float:
    """How many cells of a table add up to a count of one column."""
    return table.values.size / _cells(table, [name])


def _joined(first: Places, second: Places) -> Places:
    """The finest groups of which the groups of both are parts."""
    # Slow to import
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    graph = coo_array((np.ones(first.size), (first, size + second)), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=False)
    return _renumbered(component[first])


def _renumbered(groups: npt.NDArray[np.integer]) -> Places:
    """Groups from 0 on, in the order of their first codes."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    place = np.empty(first.size, dtype=np.int64)
    place[np.argsort(first)] = np.arange(first.size)
    renumbered: Places = place[inverse]
    return renumbered


def _without_rare(groups: Places, counts: _CodeCounts, attribute: Attribute) -> Places:
    """Groups that hold enough records."""
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    if not attribute.is_comparable:
        frequent = [each for each in members if counts.enough(each)]
        rare = [each for each in members if not counts.enough(each)]
        together = np.concatenate(rare) if rare else np.zeros(0, dtype=np.int64)
        return _numbered([*frequent, together], counts, groups.size)
    # Codes of no value, of which missing is one, are no neighbours of numbers.
    without = [each for each in members if (each >= attribute.value_count).all()]
    joined: list[Places] = []
    for each in (each for each in members if (each < attribute.value_count).any()):
        if joined and not counts.enough(joined[-1]):
            joined[-1] = np.concatenate([joined[-1], each])
        else:
            joined.append(each)
    if len(joined) > 1 and not counts.enough(joined[-1]):
        last = joined.pop()
        joined[-1] = np.concatenate([joined[-1], last])
    return _numbered([*joined, *without], counts, groups.size)


def _numbered(members: Sequence[Places], counts: _CodeCounts, size: int) -> Places:
    """The group of each code; members that are too few join the largest group."""
    held = [float(counts.of_codes[each].sum()) for each in members]
    largest = int(np.argmax(held))
    groups = np.full(size, largest, dtype=np.int64)
    for number, each in enumerate(members):
        if each.size and counts.enough(each):
            groups[each] = number
    return _renumbered(groups)


def _numbers(
    attribute: Attribute, groups: Places, counts: _CodeCounts
) -> tuple[Floats, tuple[str, ...]]:
    """The number of each group, and an indicator of groups without a value, which count as the mean."""
    low, high = attribute.ladder().low, attribute.ladder().high
    valued = np.arange(attribute.size) < attribute.value_count
    middles = np.zeros(attribute.size)
    middles[valued] = (low[valued] + high[valued]) / 2
    # A little for every code, so that a group without any counted record has a number.
    weights = np.where(valued, counts.of_codes + 1e-9, 0.0)
    held = np.bincount(groups, weights=weights)
    summed = np.bincount(groups, weights=weights * middles)
    mean = summed.sum() / held.sum()
    numbers = np.where(held > 0, summed / np.where(held > 0, held, 1.0), mean)
    without = np.flatnonzero(held == 0)
    indicators = (np.arange(held.size)[:, None] == without[None, :]).astype(np.float64)
    labels = list(_labels(attribute, groups))
    return np.column_stack([numbers, indicators]), ("", *(labels[each] for each in without))


def _labels(attribute: Attribute, groups: Places) -> Iterator[str]:
    """The codes of each group: runs of codes as first..last, parted by |."""
    for group in range(int(groups.max()) + 1):
        codes = np.flatnonzero(groups == group)
        runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
        yield "|".join(
            attribute.labels[run[0]]
            if run.size == 1
            else f"{attribute.labels[run[0]]}..{attribute.labels[run[-1]]}"
            for run in runs
        )
