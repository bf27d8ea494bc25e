"""Any marginal of a release with intervals, from its noisy answers and from records that its model generates.

A cell that answers count is *measured*: its value is the unbiased estimate from all of them, and its interval
holds the count of the real table in at least 95 % of releases, because the law of the noise is public. Any
other cell is the *model's alone*: its value is what the model generates, which no noise bounds. Its interval
says what the answers still rule out: a cell has no more records than any measured cell that contains it, and
at least those that its columns' counts leave no other room for (Fréchet 1951). Definitions and measured
coverage: docs/comparison.md and docs/benchmarks.md.
"""

from __future__ import annotations

import io
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine import watching
from synth_engine.domain import Attribute, Domain
from synth_engine.errors import InputError
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.evaluation.thousands import grouped
from synth_engine.inference import unbiased
from synth_engine.inference.unbiased import Groups, UnbiasedTable
from synth_engine.measurement import Answers
from synth_engine.measurement.paid_counts import PaidCounts, paid_counts
from synth_engine.models.model import Model
from synth_engine.plans.plan import Plan

VERSION = "marginals/1"
"""Of the stored form and of the computation: what has another one is made again."""
LEVEL = 0.95
MAX_COLUMNS = 8
MAX_CELLS = 100_000
MAX_GROUPED = 4_000_000
"""Values that are listed of a column times its codes: each listed value is a row of as many numbers in
memory."""
MAX_RECORDS = 200_000
"""Records that are generated to say what a model has; counts are scaled to the number of records of the
release."""
MAX_STORED = 32 * 2**20
"""Bytes of all counts that are counted."""
_SEED = VERSION

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedCounts:
    """What marginals are computed from: noisy tables of counts, and records of the model. tables: paid for;
    records: codes of each column, shape (generated,); rows: the number of records of the release."""

    domain: Domain
    rows: int
    tables: tuple[PaidCounts, ...]
    records: Mapping[str, npt.NDArray[np.integer[Any]]]

    @property
    def total(self) -> float | None:
        """The number of records where it is public."""
        return None if self.domain.rows is None else float(self.domain.rows)

    def to_bytes(self) -> bytes:
        """One .npz file without pickles."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        bins: dict[bytes, str] = {}
        tables = []
        for number, table in enumerate(self.tables):
            arrays[f"counts_{number}"] = table.values
            for each in table.bins:
                key = bins.setdefault(each.tobytes(), f"bins_{len(bins)}")
                arrays[key] = each
            tables.append(
                {
                    "clique": list(table.clique),
                    "bins": [bins[each.tobytes()] for each in table.bins],
                    "variance": table.variance,
                    "law": table.law,
                    "interaction": table.interaction,
                }
            )
        for number, name in enumerate(self.domain.sizes):
            codes = self.records[name]
            # The narrowest type: half of the file is records.
            arrays[f"codes_{number}"] = codes.astype(
                np.min_scalar_type(self.domain.sizes[name])
            )
        header = json.dumps({"version": VERSION, "rows": self.rows, "tables": tables})
        file = io.BytesIO()
        # Without pickles, which run code when they are read.
        np.savez_compressed(
            file,
            allow_pickle=False,
            header=np.frombuffer(header.encode(), dtype=np.uint8),
            **arrays,
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, *, domain: Domain) -> PublishedCounts:
        """Read what `to_bytes` wrote. domain: of the model of the release."""
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            tables = tuple(
                PaidCounts(
                    clique=tuple(entry["clique"]),
                    values=archive[f"counts_{number}"],
                    bins=tuple(archive[key] for key in entry["bins"]),
                    variance=entry["variance"],
                    law=entry["law"],
                    interaction=entry["interaction"],
                )
                for number, entry in enumerate(header["tables"])
            )
            records = {
                name: archive[f"codes_{number}"] for number, name in enumerate(domain.sizes)
            }
        return cls(domain=domain, rows=header["rows"], tables=tables, records=records)


def publish(
    model: Model,
    plan: Plan,
    answers: Answers,
    *,
    progress: Progress = lambda _step, _share: None,
) -> PublishedCounts:
    """Bring together what marginals are computed from. It asks the plan again and generates records: seconds,
    for a worker. progress: is told the step, "gather" and then "generate", and its share. Errors: InputError
    for answers of another plan."""
    tables, _ = paid_counts(
        plan, answers, domain=plan.domain, progress=lambda share: progress("gather", share)
    )
    progress("generate", 0.0)
    counted = [
        table for table in tables if all(name in model.domain.sizes for name in table.clique)
    ]
    room = MAX_STORED
    stored = []
    for table in counted:
        if table.values.nbytes <= room:
            room -= table.values.nbytes
            stored.append(table)
    with watching.watched(lambda share: progress("generate", share)):
        records = model.sample(min(model.rows, MAX_RECORDS), seed=_SEED)
    return PublishedCounts(
        domain=model.domain, rows=model.rows, tables=tuple(stored), records=records
    )


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A filter: records whose column has one of these labels. `first..last` stands for all codes between two
    labels."""

    column: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MarginalQuery:
    """Which marginal: the columns whose cells are listed, in order, of the records that meet all
    conditions."""

    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MarginalCell:
    """One cell. labels: of each column of the query; expected: the value with its interval; model: what the
    model generates; measured: whether answers count the cell, or the value is the model's alone."""

    labels: tuple[str, ...]
    expected: ExpectedRange
    model: ModelFigure
    measured: bool


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """Some cells of a marginal, in the order of codes, the last column fastest. number: of all its cells;
    first: the place of the first one here, from 0; measured: how many of all cells are measured."""

    columns: tuple[str, ...]
    number: int
    first: int
    measured: int
    cells: tuple[MarginalCell, ...]


def answer(
    published: PublishedCounts, query: MarginalQuery, *, first: int = 0, most: int = MAX_CELLS
) -> Marginal:
    """Estimate a marginal, and return `most` of its cells from `first` on. Errors: InputError that names the
    column, or the number of cells and what to change."""
    asked = asked_of(published.domain, query)
    estimates = table_of(published, asked)
    chosen = range(min(first, asked.number), min(first + most, asked.number))
    return Marginal(
        columns=query.columns,
        number=asked.number,
        first=chosen.start,
        measured=int(estimates.measured.sum()),
        cells=tuple(_cell(asked, estimates, index) for index in chosen),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedTable:
    """Arrays of one shape, an axis for each column that is listed or filtered: estimates, ends of intervals,
    what the model has, and whether a cell is measured."""

    values: Floats
    lower: Floats
    upper: Floats
    model: Floats
    measured: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class AskedCells:
    """A query as groups of codes. groups: of each column of the clique; listed: the labels of columns whose
    cells are listed, which come first."""

    clique: tuple[str, ...]
    groups: tuple[Groups, ...]
    listed: tuple[tuple[str, ...], ...]

    @property
    def number(self) -> int:
        return math.prod(len(each) for each in self.listed)


def asked_of(domain: Domain, query: MarginalQuery) -> AskedCells:
    """Return the cells that a query asks for. Errors: InputError."""
    allowed = _allowed(domain, query)
    names = [*query.columns, *(each for each in allowed if each not in query.columns)]
    _require_room(domain, query, allowed)
    groups, listed = [], []
    for name in names:
        codes = allowed.get(name, np.ones(domain.sizes[name], dtype=np.bool_))
        if name not in query.columns:
            groups.append(codes[None, :])
            continue
        chosen = np.flatnonzero(codes)
        each = np.zeros((chosen.size, codes.size), dtype=np.bool_)
        each[np.arange(chosen.size), chosen] = True
        groups.append(each)
        labels = labels_of(domain, name)
        listed.append(tuple(labels[code] for code in chosen))
    return AskedCells(clique=tuple(names), groups=tuple(groups), listed=tuple(listed))


def labels_of(domain: Domain, name: str) -> tuple[str, ...]:
    """The text of every code of a modelled column. Errors: InputError for a column that is not modelled."""
    return _attribute(domain, name).labels


def _attribute(domain: Domain, name: str) -> Attribute:
    for attribute in domain.modelled:
        if attribute.name == name and attribute.size > MAX_CELLS:
            raise InputError(
                f"the column has {grouped(attribute.size)} codes, and columns of up to "
                f"{grouped(MAX_CELLS)} are counted by",
                repair="leave it out",
                column=name,
            )
        if attribute.name == name:
            return attribute
    raise InputError(
        "the release has no such column to count by",
        repair="take the names of columns from its dictionary",
        column=name,
    )


def _allowed(domain: Domain, query: MarginalQuery) -> dict[str, npt.NDArray[np.bool_]]:
    """The codes that conditions leave of each column that has some."""
    if not query.columns and not query.where:
        raise InputError("no column is named", repair="name one to eight columns")
    named = [*query.columns, *(each.column for each in query.where)]
    if len(set(query.columns)) < len(query.columns):
        raise InputError("a column is named twice", repair="name each column once")
    if len(set(named)) > MAX_COLUMNS:
        raise InputError(
            f"{len(set(named))} columns are named, and a marginal has up to {MAX_COLUMNS}",
            repair="leave some out",
        )
    allowed: dict[str, npt.NDArray[np.bool_]] = {}
    for condition in query.where:
        codes = _codes_of(_attribute(domain, condition.column), condition)
        before = allowed.get(condition.column)
        allowed[condition.column] = codes if before is None else codes & before
    for name in query.columns:
        _attribute(domain, name)
    for name, codes in allowed.items():
        if not codes.any():
            raise InputError(
                "the conditions leave no value", repair="allow at least one", column=name
            )
    return allowed


def _require_room(
    domain: Domain, query: MarginalQuery, allowed: Mapping[str, npt.NDArray[np.bool_]]
) -> None:
    """Check that the cells to be listed are few enough. Errors: InputError with their number and what to
    change."""
    sizes = {
        name: int(allowed[name].sum()) if name in allowed else domain.sizes[name]
        for name in query.columns
    }
    cells = math.prod(sizes.values())
    if cells > MAX_CELLS:
        largest = max(sizes, key=lambda name: sizes[name])
        raise InputError(
            f"this table has {grouped(cells)} cells, and up to {grouped(MAX_CELLS)} are answered",
            repair=f"leave out the column {largest!r}, which has {grouped(sizes[largest])} values, or keep "
            "fewer of its values by a condition",
        )
    for name, listed in sizes.items():
        if listed * domain.sizes[name] > MAX_GROUPED:
            most = MAX_GROUPED // domain.sizes[name]
            raise InputError(
                f"{grouped(listed)} of {grouped(domain.sizes[name])} values would be listed, and up to "
                f"{grouped(most)} are",
                repair="keep fewer of its values by a condition, or leave it out",
                column=name,
            )


def _codes_of(attribute: Attribute, condition: Condition) -> npt.NDArray[np.bool_]:
    place = {label: code for code, label in reversed(list(enumerate(attribute.labels)))}
    codes = np.zeros(attribute.size, dtype=np.bool_)
    for label in condition.labels:
        if label in place:
            codes[place[label]] = True
            continue
        ends = label.split("..")
        if len(ends) != 2 or not all(end in place for end in ends):
            raise InputError(
                "a condition has a value that the column does not have",
                repair="write values as the release lists them, or the first and the last one as first..last",
                column=attribute.name,
            )
        codes[place[ends[0]] : place[ends[1]] + 1] = True
    return codes


def table_of(published: PublishedCounts, asked: AskedCells) -> EstimatedTable:
    """All cells of a query at once."""
    estimates = unbiased.estimate(
        published.tables, asked.clique, asked.groups, total=published.total
    )
    model = _model_counts(published, asked)
    measured = estimates.measured
    half = _deviations(estimates, (1 - LEVEL) / 2)
    values = np.where(measured, np.maximum(np.nan_to_num(estimates.values), 0.0), model)
    lower = np.maximum(np.where(measured, estimates.values - half, 0.0), 0.0)
    upper = np.maximum(np.where(measured, estimates.values + half, np.inf), 0.0)
    if not measured.all():
        low, high = _bounds(published, asked)
        lower = np.where(measured, lower, np.minimum(low, values))
        upper = np.where(measured, upper, np.maximum(high, values))
    if published.total is not None:
        values, lower, upper = (
            np.minimum(each, published.total) for each in (values, lower, upper)
        )
    return EstimatedTable(
        values=values, lower=lower, upper=upper, model=model, measured=measured
    )


def _deviations(estimates: UnbiasedTable, chance: float) -> Floats:
    """How far from the estimate the truth lies, on one side, with at most this chance; by the law of the
    noise."""
    gaussian = NormalDist().inv_cdf(1 - chance)
    # The tail of one Laplace value of this variance; sums of several have lighter ones at such chances.
    laplace = math.log(1 / (2 * chance)) / math.sqrt(2)
    factors = np.where(estimates.heavy, max(gaussian, laplace), gaussian).astype(np.float64)
    # Noise is whole: small noise lies within a continuous quantile less often than that says.
    deviations: Floats = np.ceil(factors * np.sqrt(estimates.variances))
    return deviations


def _model_counts(published: PublishedCounts, asked: AskedCells) -> Floats:
    """Counts of generated records, scaled to the number of records of the release."""
    shape = tuple(len(each) for each in asked.groups)
    generated = len(next(iter(published.records.values()), ()))
    if not generated:
        return np.zeros(shape)
    cell = np.zeros(generated, dtype=np.int64)
    inside = np.ones(generated, dtype=np.bool_)
    for name, groups in zip(asked.clique, asked.groups, strict=True):
        # Groups of one query are disjoint.
        group_of = np.where(groups.any(axis=0), groups.argmax(axis=0), -1)
        group = group_of[published.records[name]]
        inside &= group >= 0
        cell = cell * len(groups) + np.maximum(group, 0)
    counts = np.bincount(cell[inside], minlength=math.prod(shape)).reshape(shape)
    scaled: Floats = counts.astype(np.float64) * (published.rows / generated)
    return scaled


def _bounds(published: PublishedCounts, asked: AskedCells) -> tuple[Floats, Floats]:
    """Ends between which every cell lies, from measured cells that contain it. All of them hold together in
    at least 95 % of releases: each end has its part of the chance to err (Bonferroni)."""
    shape = tuple(len(each) for each in asked.groups)
    axes = range(len(asked.clique))
    parts = list(_containing(published, asked))
    singles = [_part(published, asked, (axis,)) for axis in axes]
    records = unbiased.estimate(published.tables, (), (), total=published.total)
    chance = (1 - LEVEL) / 2
    upper = np.full(shape, np.inf)
    for on, estimates in [
        *(((axis,), each) for axis, each in zip(axes, singles, strict=True)),
        *parts,
    ]:
        ends = estimates.values + _deviations(estimates, chance / (len(parts) + len(singles)))
        ends = np.where(estimates.measured, ends, np.inf)
        upper = np.minimum(upper, _along(ends, on, len(shape)))
    if not bool(records.measured):
        return np.zeros(shape), np.maximum(upper, 0.0)
    one = chance / (len(singles) + 1)
    all_records = float(records.values + _deviations(records, one))
    lower = np.full(shape, -(len(singles) - 1) * all_records)
    for axis, estimates in zip(axes, singles, strict=True):
        ends = np.nan_to_num(estimates.values) - np.where(
            estimates.measured, _deviations(estimates, one), 0.0
        )
        lower = lower + _along(np.where(estimates.measured, ends, 0.0), (axis,), len(shape))
    upper = np.minimum(upper, all_records)
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


def _containing(
    published: PublishedCounts, asked: AskedCells
) -> Iterator[tuple[tuple[int, ...], UnbiasedTable]]:
    """Measured tables of several columns of the query, whose groups are widened to whole bins."""
    seen = set()
    for table in published.tables:
        on = tuple(axis for axis, name in enumerate(asked.clique) if name in table.clique)
        if len(on) < 2 or (table.interaction and len(on) < len(table.clique)):
            continue
        bins = [table.bins[table.clique.index(asked.clique[axis])] for axis in on]
        key = (on, *(each.tobytes() for each in bins))
        if key in seen:
            continue
        seen.add(key)
        groups = [_widened(asked.groups[axis], by) for axis, by in zip(on, bins, strict=True)]
        clique = tuple(asked.clique[axis] for axis in on)
        yield (
            on,
            unbiased.estimate(published.tables, clique, groups, total=published.total),
        )


def _widened(groups: Groups, bins: npt.NDArray[np.int64]) -> Groups:
    """The smallest groups of whole bins that contain these."""
    touched = np.zeros((len(groups), int(bins.max()) + 1), dtype=np.bool_)
    for number, group in enumerate(groups):
        touched[number, bins[group]] = True
    return touched[:, bins]


def _part(published: PublishedCounts, asked: AskedCells, on: tuple[int, ...]) -> UnbiasedTable:
    return unbiased.estimate(
        published.tables,
        tuple(asked.clique[axis] for axis in on),
        [asked.groups[axis] for axis in on],
        total=published.total,
    )


def _along(values: Floats, on: Sequence[int], dimensions: int) -> Floats:
    """An array of some axes, to be broadcast over all of them."""
    shape = [1] * dimensions
    for axis, size in zip(on, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def _cell(asked: AskedCells, estimates: EstimatedTable, index: int) -> MarginalCell:
    sizes = [len(each) for each in asked.listed]
    places = [int(each) for each in np.unravel_index(index, sizes)] if sizes else []
    # Columns that are filtered alone come last, and have one group each.
    cell = (*places, *itertools.repeat(0, len(asked.clique) - len(places)))
    return MarginalCell(
        labels=tuple(labels[place] for labels, place in zip(asked.listed, places, strict=True)),
        expected=ExpectedRange(
            estimate=ModelFigure(value=float(estimates.values[cell])),
            low=float(estimates.lower[cell]),
            high=float(estimates.upper[cell]),
            level=LEVEL,
        ),
        model=ModelFigure(value=float(estimates.model[cell])),
        measured=bool(estimates.measured[cell]),
    )
