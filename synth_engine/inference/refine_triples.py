"""The second phase of the finish: records that have their pairs are mended until tables of three attributes are smooth.

Records drawn from a model and mended towards pairs have in every finer table the chance of as many records. What the
pairs say of three attributes is known, though: their table of most entropy (`foreseen`). Towards these tables, of bins,
records are moved, one value of one record at a time, from records that are like it in the attributes that tell most of
that one. A change is made if and only if it lowers the sum, over all pairs and, with a smaller weight, all such tables
of three, of (count - target)² / (target + softness).

It is post-processing; the same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synth_engine.inference import bins as binning
from synth_engine.inference import cost_tables, donor_kernels, maxent_triples
from synth_engine.inference.bins import Bins
from synth_engine.inference.cost_tables import Axes, Codes, Floats, Truth
from synth_engine.inference.maxent_triples import Pair, Triple
from synth_engine.inference.swap_kernels import Costs, Places

LEVELS = (64, 32, 16, 8)
"""About how many bins an attribute has: the first of which the tables of three find room."""
CELLS = 8_000_000
"""Of all tables of three together: 64 MB."""
WEIGHT = 0.15
"""Of a table of three, where one of two has 1."""
MOST = 0.2
"""A change that costs more than that in pairs is not looked at any further."""
PASSES = 6
"""How often every cell of the records is offered another value; for many attributes fewer times."""
WIDE = 16
"""Attributes from which on there are fewer passes: each change then touches more tables."""
ENOUGH = 0.02
"""A pass that gains less than this part of all that was gained is the last."""
WINDOW = 200
"""How far from each other records may stand of which one takes a value from the other, sorted by what they share."""


def passes(attributes: int) -> int:
    """How many there are at most."""
    return max(1, -(-PASSES * WIDE // max(WIDE, attributes)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Wished:
    """Tables of three that follow from pairs: which, by bins of these attributes, and the pairs by these bins."""

    triples: Sequence[Triple]
    bins: Mapping[int, Bins]
    pairs: Mapping[Pair, Floats]

    def shape(self, one: Triple) -> tuple[int, ...]:
        return tuple(int(self.bins[axis].max()) + 1 for axis in one)

    def factors(self, one: Triple) -> maxent_triples.Factors:
        return maxent_triples.factors(
            [self.pairs[pair] for pair in maxent_triples.pairs_of(one)]
        )


def wished(
    targets: Sequence[tuple[Axes, Floats]],
    *,
    ordered: Sequence[bool],
    strengths: Mapping[Pair, float],
    rows: int,
    cells: int = CELLS,
) -> Wished:
    """What the pairs among the targets say of three attributes, in as many bins as there is room for, and then as many
    tables. Targets add up to `rows`, those of three attributes are not foreseen again."""
    pairs = _pairs(targets, rows=rows)
    known = {tuple(sorted(axes)) for axes, _ in targets}
    found = [
        one
        for one in maxent_triples.triples({pair: strengths[pair] for pair in pairs})
        if one not in known
    ]
    one_way = {
        axis: table.sum(axis=1 - place)
        for pair, table in pairs.items()
        for place, axis in enumerate(pair)
    }
    used = sorted({axis for one in found for axis in one})
    bins: dict[int, Bins] = {}
    for level in LEVELS:
        bins = {
            a: binning.nested(one_way[a], ordered=ordered[a], levels=(level,))[0] for a in used
        }
        sizes = [prod(int(bins[axis].max()) + 1 for axis in one) for one in found]
        if sum(sizes) <= cells:
            break
    fitting = np.cumsum(sizes if found else []) <= cells
    kept = [one for one, fits in zip(found, fitting, strict=True) if fits]
    sides = {pair for one in kept for pair in maxent_triples.pairs_of(one)}
    return Wished(
        triples=kept,
        bins=bins,
        pairs={
            pair: binning.summed(pairs[pair], [bins[axis] for axis in pair]) for pair in sides
        },
    )


def _pairs(targets: Sequence[tuple[Axes, Floats]], *, rows: int) -> dict[Pair, Floats]:
    """The tables of two attributes with something in them, the first attribute first, as counts of so many rows."""
    found: dict[Pair, Floats] = {}
    for axes, table in targets:
        total = float(table.sum())
        if len(axes) == 2 and total > 0:
            first, second = axes
            turned = (table if first < second else table.T) * (rows / total)
            found.setdefault((min(axes), max(axes)), turned)
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Layout:
    """Costs of all tables, each once, and what `donors` needs to find them. columns: codes of all attributes, then bins,
    shape (columns, rows); binned: the column of each attribute's bin; bounds: see `donors`, for each attribute."""

    columns: Codes
    binned: Sequence[int]
    costs: Costs
    lines: Places
    bounds: Places


def mended(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    strengths: Mapping[Pair, float],
    ordered: Sequence[bool],
    rng: np.random.Generator,
    weights: Sequence[float],
    softness: float,
    allowed: Sequence[tuple[Axes, Truth]] = (),
    tied: Sequence[Axes] = (),
) -> Codes:
    """Rows whose tables of three are nearer to what their pairs say; all as in `finish`. Attributes that are `tied` stay.

    strengths: the `ties` of the targets. ordered: of each attribute, whether neighbouring codes mean neighbouring values.
    """
    rows = codes.shape[1]
    found = wished(targets, ordered=ordered, strengths=strengths, rows=rows)
    kept = {axis for group in tied for axis in group}
    free = [
        axis
        for axis in sorted({axis for one in found.triples for axis in one})
        if axis not in kept
    ]
    if not free:
        return codes.copy()
    layout = _laid_out(
        codes, targets, found, allowed=allowed, weights=weights, softness=softness
    )
    near = {axis: cost_tables.nearest(axis, strengths) for axis in free}
    return _walked(layout, free, near, rng=rng, limit=passes(len(free)))[: len(codes)]


def _laid_out(
    codes: Codes,
    targets: Sequence[tuple[Axes, Floats]],
    found: Wished,
    *,
    allowed: Sequence[tuple[Axes, Truth]],
    weights: Sequence[float],
    softness: float,
) -> _Layout:
    columns, binned = _with_bins(codes, found.bins)
    tables = [*targets, *allowed]
    shapes = [table.shape for _, table in tables] + [found.shape(one) for one in found.triples]
    axes = [one for one, _ in tables] + [
        tuple(binned[axis] for axis in one) for one in found.triples
    ]
    starts = np.cumsum([0, *(prod(shape) for shape in shapes)]).tolist()
    costs = np.zeros((starts[-1], 2), dtype=np.float32)
    for (one, table), weight, start in zip(targets, weights, starts, strict=False):
        for column, part in enumerate(
            cost_tables.costs_of(codes, one, table, weight=weight, softness=softness)
        ):
            costs[start : start + part.size, column] = part.ravel()
    for (_, may), start in zip(allowed, starts[len(targets) :], strict=False):
        costs[start : start + may.size, 0] = np.where(may, 0.0, np.inf).ravel()
    for one, start, end in zip(
        found.triples, starts[len(tables) :], starts[len(tables) + 1 :], strict=False
    ):
        own = costs[start:end]
        places = np.array([binned[axis] for axis in one], dtype=np.int64)
        donor_kernels.counted(columns, places, np.array(found.shape(one), dtype=np.int64), own)
        donor_kernels.weighed(*found.factors(one), softness, WEIGHT, own)
    lines, bounds = _lines(axes, shapes, starts, binned=binned, coarse=len(tables))
    return _Layout(columns=columns, binned=binned, costs=costs, lines=lines, bounds=bounds)


def _with_bins(codes: Codes, bins: Mapping[int, Bins]) -> tuple[Codes, list[int]]:
    """The codes, and below them the bins of attributes whose bins are not their codes; and where each attribute's are."""
    columns, binned = list(codes), list(range(len(codes)))
    for axis, one in bins.items():
        if int(one.max()) + 1 < one.size:
            binned[axis] = len(columns)
            columns.append(one[codes[axis]].astype(np.uint16))
    return np.array(columns), binned


def _lines(
    axes: Sequence[Axes],
    shapes: Sequence[tuple[int, ...]],
    starts: Sequence[int],
    *,
    binned: Sequence[int],
    coarse: int,
) -> tuple[Places, Places]:
    """The lists of `donors` and where they begin and end; the tables from `coarse` on are of bins."""
    fine: list[list[list[int]]] = [[] for _ in range(max(binned, default=0) + 1)]
    of_bins: list[list[list[int]]] = [[] for _ in fine]
    for number, (one, shape) in enumerate(zip(axes, shapes, strict=True)):
        strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
        for place, axis in enumerate(one):
            others = [(one[k], strides[k]) for k in range(len(one)) if k != place]
            (first, step), (second, other) = (
                others if len(others) == 2 else (others[0], (others[0][0], 0))
            )
            line = [first, second, step, other, strides[place], starts[number]]
            (of_bins if number >= coarse else fine)[axis].append(line)
    lines: list[list[int]] = []
    bounds = []
    for axis, column in enumerate(binned):
        begin, middle = len(lines), len(lines) + len(fine[axis])
        lines += [*fine[axis], *of_bins[column]]
        bounds.append((begin, middle, len(lines)))
    return np.array(lines, dtype=np.int64), np.array(bounds, dtype=np.int64)


def _walked(
    layout: _Layout,
    free: Sequence[int],
    near: Mapping[int, Sequence[int]],
    *,
    rng: np.random.Generator,
    limit: int,
) -> Codes:
    """The columns when nothing much is left to gain. Records are sorted anew for every attribute, and put back in order."""
    records = np.ascontiguousarray(layout.columns.T)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    place, gained = np.arange(len(records)), 0.0
    for _ in range(limit):
        order, more = rng.permutation(len(records)), 0.0
        records, place = records[order], place[order]
        for axis in free:
            order = _sorted(records, near[axis])
            records, place = records[order], place[order]
            more += donor_kernels.taken_from_alike(
                records, axis, layout.binned[axis], layout.bounds[axis], layout.lines, layout.costs,
                MOST, WINDOW, state,
            )  # fmt: skip
        gained += more
        if more <= ENOUGH * gained:
            break
    found = np.empty_like(records)
    found[place] = records
    return np.ascontiguousarray(found.T)


def _sorted(records: Codes, keys: Sequence[int]) -> Places:
    """By the first key, then the second, and else as they stand."""
    order: Places = np.arange(len(records))
    for key in reversed(keys):
        order = order[np.argsort(records[order, key], kind="stable")]
    return order
