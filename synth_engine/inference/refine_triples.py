"""Refinement of records towards tables of three attributes, after their tables of pairs are near the targets.

In tables of three attributes, records that were drawn and refined towards pairs have random errors as large
as those of a sample of as many records. But pairs imply a table of three attributes: the one with the largest
entropy among those with these pairs (`maxent_triples`). Records are refined towards these tables, by bins.
One value of one record is changed at a time, to the value of a record that is similar in the attributes on
which the changed one depends most. A change is made if and only if it lowers the sum, over all pairs and,
with a smaller weight, all such tables of three attributes, of (count - target)² / (target + softness).

It is post-processing; the same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np

from synth_engine import watching
from synth_engine.inference import bins as binning
from synth_engine.inference import cost_tables, donor_kernels, maxent_triples
from synth_engine.inference.bins import Bins
from synth_engine.inference.cost_tables import (
    SOFTNESS,
    AttributeFacts,
    Axes,
    Codes,
    Floats,
    Strided,
    Truth,
)
from synth_engine.inference.maxent_triples import Pair, Triple
from synth_engine.inference.swap_kernels import Costs, Further, Places
from synth_engine.inference.triple_start import TripleStart

_Line = tuple[list[int], list[Strided]]
"""A line of `donor_kernels`, and the other axes of its table with their strides."""
LEVELS = (64, 32, 16, 8)
"""About how many bins an attribute has: the first level at which all tables of three attributes have at most
`MAX_CELLS` together."""
MAX_CELLS = 8_000_000
"""Largest number of cells of all tables of three attributes together: 64 MB."""
WEIGHT = 0.6
"""Weight of a table of three attributes; a table of two has 1."""
MAX_PAIR_COST = 0.2
"""A change that costs more than that in tables of pairs is refused without a look at tables of three
attributes."""
MAX_PASSES = 20
"""Largest number of passes in which every cell of the records is offered another value; for many attributes
there are fewer. Single columns are rounded afterwards, which costs triples about as much as the last of these
passes gain."""
FULL_EFFORT_ATTRIBUTES = 16
"""Number of attributes above which there are fewer passes, by the cube of the number: each change then
touches more tables."""
MIN_GAIN = 0.002
"""A pass that gains less than this part of all that was gained is the last."""
WINDOW = 200
"""Largest distance, in places of the sorted records, between a record and the one whose value it is
offered."""


def passes(attributes: int) -> int:
    """Return the largest number of passes for so many attributes."""
    many = max(FULL_EFFORT_ATTRIBUTES, attributes)
    return max(1, -(-MAX_PASSES * FULL_EFFORT_ATTRIBUTES**3 // many**3))


@dataclass(frozen=True, kw_only=True, eq=False)
class ImpliedTriples:
    """Tables of three attributes that are implied by pairs. triples: which attributes; bins: of each
    attribute; pairs: the tables of pairs by these bins; start: where the fitting of triples starts, by the
    same bins, None for uniform tables."""

    triples: Sequence[Triple]
    bins: Mapping[int, Bins]
    pairs: Mapping[Pair, Floats]
    start: TripleStart | None = None

    def shape(self, triple: Triple) -> tuple[int, ...]:
        return tuple(int(self.bins[axis].max()) + 1 for axis in triple)

    def factors(self, triple: Triple) -> maxent_triples.Factors:
        return maxent_triples.factors(self._sides(triple))

    def costs(self, triple: Triple, softness: float, costs: Costs) -> None:
        """Turn counts into costs, in place, shape (cells, 2); the target counts are those of the triple."""
        if self.start is None:
            donor_kernels.counts_to_costs(*self.factors(triple), softness, WEIGHT, costs)
        else:
            wanted = self.start.fitted(triple, self._sides(triple)).ravel()
            donor_kernels.counts_to_costs_of_table(wanted, softness, WEIGHT, costs)

    def _sides(self, triple: Triple) -> list[Floats]:
        return [self.pairs[pair] for pair in maxent_triples.pairs_of(triple)]


def implied_triples(
    targets: Sequence[tuple[Axes, Floats]],
    *,
    ordered: Sequence[bool],
    strengths: Mapping[Pair, float],
    rows: int,
    cells: int = MAX_CELLS,
) -> ImpliedTriples:
    """Return the tables of three attributes that the pairs among the targets imply, by the finest bins with
    at most `cells` cells in all; at the coarsest bins, as many tables as have that many. Targets are scaled
    to `rows`. Triples that are targets themselves, or in one of more attributes, are left out: they are
    known."""
    pairs = _pairs(targets, rows=rows)
    known = {triple for axes, _ in targets for triple in combinations(sorted(axes), 3)}
    triples = [
        triple
        for triple in maxent_triples.triples({pair: strengths[pair] for pair in pairs})
        if triple not in known
    ]
    histograms = {
        axis: table.sum(axis=1 - position)
        for pair, table in pairs.items()
        for position, axis in enumerate(pair)
    }
    used = sorted({axis for triple in triples for axis in triple})
    bins: dict[int, Bins] = {}
    # The finest resolution at which all tables fit; each level is a coarser view of the one
    # before.
    for level in LEVELS:
        bins = {
            a: binning.nested_bins(histograms[a], ordered=ordered[a], levels=(level,))[0]
            for a in used
        }
        sizes = [prod(int(bins[axis].max()) + 1 for axis in triple) for triple in triples]
        if sum(sizes) <= cells:
            break
    # At the coarsest level tables may still be too many; the triples come in a fixed order,
    # so the cut is reproducible.
    fitting = np.cumsum(sizes if triples else []) <= cells
    chosen = [triple for triple, fits in zip(triples, fitting, strict=True) if fits]
    sides = {pair for triple in chosen for pair in maxent_triples.pairs_of(triple)}
    return ImpliedTriples(
        triples=chosen,
        bins=bins,
        pairs={
            pair: binning.sum_into_bins(pairs[pair], [bins[axis] for axis in pair])
            for pair in sides
        },
    )


def _pairs(targets: Sequence[tuple[Axes, Floats]], *, rows: int) -> dict[Pair, Floats]:
    """Return the tables of two attributes with a positive sum, the lower attribute first, as counts of so
    many rows."""
    pairs: dict[Pair, Floats] = {}
    for axes, table in targets:
        total = float(table.sum())
        if len(axes) == 2 and total > 0:
            first, second = axes
            turned = (table if first < second else table.T) * (rows / total)
            pairs.setdefault((min(axes), max(axes)), turned)
    return pairs


@dataclass(frozen=True, kw_only=True, eq=False)
class _Layout:
    """Costs of all tables, each once, and where `donor_kernels` finds them. columns: codes of all attributes,
    then bins, shape (columns, rows); binned: the column of each attribute's bin; lines, further, bounds: see
    `donor_kernels`; bounds are begin, middle and end of each attribute."""

    columns: Codes
    binned: Sequence[int]
    costs: Costs
    lines: Places
    further: Further
    bounds: Places


def refine(
    codes: Codes,
    *,
    fixed: int,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    facts: AttributeFacts,
) -> Codes:
    """Return the rows after the first `fixed` ones, changed so that tables of three attributes of all rows
    are nearer to those that their pairs imply. Tied attributes keep their codes. Arguments are those of
    `record_refinement.refine`.

    facts: of the attributes, with `ordered` and `strengths`.
    """
    prepared = _prepare(codes, targets=targets, facts=facts)
    if prepared is None:
        return codes[:, fixed:].copy()
    layout, free, near = prepared
    # Costs are those of all rows; only the later ones are changed.
    later = replace(layout, columns=layout.columns[:, fixed:])
    return _refine_layout(later, free, near, rng=rng)[: len(codes)]


def _prepare(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    facts: AttributeFacts,
) -> tuple[_Layout, list[int], dict[int, Sequence[int]]] | None:
    """Return the costs of all rows, the attributes that may change, and for each of these the attributes by
    which rows are sorted; None if no attribute may change."""
    if facts.ordered is None:
        raise TypeError("tables of three attributes need to know which attributes are ordered")
    rows = codes.shape[1]
    implied = implied_triples(
        targets, ordered=facts.ordered, strengths=facts.strengths, rows=rows
    )
    if facts.start is not None:
        implied = replace(implied, start=facts.start.by_bins(implied.bins))
    # Tied attributes change together only, and here one value is changed at a time.
    fixed = {axis for group in facts.tied for axis in group}
    free = [
        axis
        for axis in sorted({axis for triple in implied.triples for axis in triple})
        if axis not in fixed
    ]
    if not free:
        return None
    layout = _build_layout(codes, targets, implied, allowed=facts.allowed, softness=SOFTNESS)
    return layout, free, {axis: cost_tables.nearest(axis, facts.strengths) for axis in free}


def _build_layout(
    codes: Codes,
    targets: Sequence[tuple[Axes, Floats]],
    implied: ImpliedTriples,
    *,
    allowed: Sequence[tuple[Axes, Truth]],
    softness: float,
) -> _Layout:
    columns, binned = _with_bins(codes, implied.bins)
    tables = [*targets, *allowed]
    shapes = [table.shape for _, table in tables] + [
        implied.shape(target_axes) for target_axes in implied.triples
    ]
    axes = [target_axes for target_axes, _ in tables] + [
        tuple(binned[axis] for axis in target_axes) for target_axes in implied.triples
    ]
    starts = np.cumsum([0, *(prod(shape) for shape in shapes)]).tolist()
    costs = np.zeros((starts[-1], 2), dtype=np.float32)
    for (target_axes, table), start in zip(targets, starts, strict=False):
        for column, part in enumerate(
            cost_tables.costs_of(codes, target_axes, table, softness=softness)
        ):
            costs[start : start + part.size, column] = part.ravel()
    for (_, may), start in zip(allowed, starts[len(targets) :], strict=False):
        # A forbidden cell has an infinite cost, so that no change into it lowers the
        # total.
        costs[start : start + may.size, 0] = np.where(may, 0.0, np.inf).ravel()
    for target_axes, start, end in zip(
        implied.triples, starts[len(tables) :], starts[len(tables) + 1 :], strict=False
    ):
        own = costs[start:end]
        places = tuple(binned[axis] for axis in target_axes)
        own[:, 0] = cost_tables.ONCE.table(columns, places, implied.shape(target_axes)).ravel()
        implied.costs(target_axes, softness, own)
    lines, further, bounds = _lines(axes, shapes, starts, binned=binned, coarse=len(tables))
    return _Layout(
        columns=columns,
        binned=binned,
        costs=costs,
        lines=lines,
        further=further,
        bounds=bounds,
    )


def _with_bins(codes: Codes, bins: Mapping[int, Bins]) -> tuple[Codes, list[int]]:
    """Return the codes, followed by the bins of attributes whose bins are not their codes, and the column of
    each attribute's bins."""
    columns, binned = list(codes), list(range(len(codes)))
    for axis, of_code in bins.items():
        if int(of_code.max()) + 1 < of_code.size:
            binned[axis] = len(columns)
            columns.append(of_code[codes[axis]].astype(np.uint16))
    return np.array(columns), binned


def _lines(
    axes: Sequence[Axes],
    shapes: Sequence[tuple[int, ...]],
    starts: Sequence[int],
    *,
    binned: Sequence[int],
    coarse: int,
) -> tuple[Places, Further, Places]:
    """Return the lists of lines of `donor_kernels`, their further axes, and where each list begins and ends.
    Tables from number `coarse` on are of bins."""
    fine: list[list[_Line]] = [[] for _ in range(max(binned, default=0) + 1)]
    of_bins: list[list[_Line]] = [[] for _ in fine]
    for number, (table_axes, shape) in enumerate(zip(axes, shapes, strict=True)):
        strides = [prod(shape[position + 1 :]) for position in range(len(shape))]
        for position, axis in enumerate(table_axes):
            others = [
                (table_axes[k], strides[k]) for k in range(len(table_axes)) if k != position
            ]
            line = [*cost_tables.first_two(others), strides[position], starts[number]]
            (of_bins if number >= coarse else fine)[axis].append((line, others))
    lines: list[_Line] = []
    bounds = []
    for axis, column in enumerate(binned):
        begin, middle = len(lines), len(lines) + len(fine[axis])
        lines += [*fine[axis], *of_bins[column]]
        bounds.append((begin, middle, len(lines)))
    return (
        np.array([line for line, _ in lines], dtype=np.int64),
        cost_tables.after_two([others for _, others in lines]),
        np.array(bounds, dtype=np.int64),
    )


def _refine_layout(
    layout: _Layout,
    free: Sequence[int],
    near: Mapping[int, Sequence[int]],
    *,
    rng: np.random.Generator,
) -> Codes:
    """Return the columns after all passes. Records are sorted again for each attribute, and put back in their
    first order in the end."""
    records = np.ascontiguousarray(layout.columns.T)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    position, gained = np.arange(len(records)), 0.0
    for _ in watching.each(range(passes(len(free)))):
        order, more = rng.permutation(len(records)), 0.0
        records, position = records[order], position[order]
        for axis in watching.each(free):
            # Donors of a record are its neighbours in this order: records alike in the
            # attributes that matter for the axis.
            order = _sorted(records, near[axis])
            records, position = records[order], position[order]
            more += donor_kernels.take_from_neighbours(
                records, axis, layout.binned[axis], layout.bounds[axis], layout.lines, layout.further,
                layout.costs, MAX_PAIR_COST, WINDOW, state,
            )  # fmt: skip
        gained += more
        # Later passes gain less and less; what they would still gain is below the noise of
        # the counts.
        if more <= MIN_GAIN * gained:
            break
    columns = np.empty_like(records)
    # Back into the order in which the records came.
    columns[position] = records
    return np.ascontiguousarray(columns.T)


def _sorted(records: Codes, keys: Sequence[int]) -> Places:
    """Return the order of records by the first key, then the second and so on; records that agree in all keep
    their order."""
    order: Places = np.arange(len(records))
    for key in reversed(keys):
        order = order[np.argsort(records[order, key], kind="stable")]
    return order
