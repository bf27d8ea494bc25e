"""The resolution of one column on a lattice, from noisy counts alone.

A column on a lattice has positions 0 … N-1, up to 2^64 of them. They are counted in rounds: each round counts
the cells of a partition of the positions, and the next round's partition splits the cells that hold clearly
more than noise. That is an adaptive histogram on a one-dimensional tree ("Synthetic Data via Differential
Privacy", with counts in place of thresholds), whose nodes begin on round numbers, so that one value (0, or a
marker such as -1) can be a leaf. All rounds are reconciled by generalised least squares on the tree (Hay et
al. 2010, with unequal variances).

Everything here is post-processing of noisy counts, and a function of them and of public facts alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from synth_engine.inference.clear_runs import (
    MIN_VARIANCE,
    NoisyCells,
    log_chance_each,
    log_chance_of,
    log_tail,
)
from synth_engine.inference.oneway import project_rows_to_simplex, project_to_simplex
from synth_engine.kinds.scale_bins import MAX_PIECES

Floats = npt.NDArray[np.float64]
Cuts = tuple[int, ...]
"""Increasing positions: cell i holds cuts[i] ≤ k < cuts[i+1]."""

MAX_CELLS = 1_024
"""Cells of a round, about: more would cost time and hold little but noise. Cuts on round numbers make up to
three times as many."""
ZOOM_CELLS = 4
"""A round that zooms in adds at most one in so many of the cells that are left: later rounds split again what
it splits."""
EVEN_CELLS = 16
"""Equal parts of the whole range in the first round, beside the powers of two around zero."""
RECORDS_TO_SPLIT, RECORDS_TO_ZOOM = 6.0, 4.0
"""Standard deviations of a count that each child of a split cell is expected to hold; of a cell that will be
split again. With fewer, most children would not be clear by themselves, and what they hold would be taken for
noise."""
LEAF_SHARE = 1 / 150
"""Share of the records that a child of a split cell may hold although it is less than RECORDS_TO_SPLIT, if it
is more than RECORDS_TO_ZOOM: a wide leaf with a frequent value in it is farther from the truth than noise
is."""
PEAK_DEVIATIONS, PEAK_RATIO = 2.5, 2.0
"""Standard deviations, and the ratio of densities, by which a cell exceeds both its neighbours if a few
values in it are frequent. Chance takes a few cells for peaks, which costs little."""
PEAK_PARTS = 16
"""Parts in which a peak is split at least."""
HEAVY_DEVIATIONS = 9.0
"""Standard deviations of a count that a cell exceeds which is worth one round more."""
FALSE_FIND = 5e-5
"""The chance at most that noise alone is taken for records somewhere on the lattice of a column: in equal
parts for the looks at the first partition, and for the runs of its cells (docs/proofs/intervals.md)."""
LONGEST_RUN = 8
"""Cells of the longest run that is looked at in the first partition: from x to 256 x."""
EXTEND_DEVIATIONS, SPIKE_DEVIATIONS = 5.0, 3.5
"""Standard deviations by which a run beside what was found exceeds noise: few runs are beside it. Beside a
single value it is less: a column with many zeros would lose all its other numbers, and a constant one gets
false ones near by in two releases of a thousand."""
END_DEVIATIONS = 3.0
"""The same of the last cell of such a run, by itself."""
FALSE_END = 1e-3
"""The chance at most that noise alone moves an end of what was found, in equal parts for all runs of cells of
the last round that are looked at there."""
DOUBT_DEVIATIONS = 2.0
"""Standard deviations by which a cell beside a lone one that was found may hold some of the records, too."""
TAIL_DEVIATIONS, FAR_TAIL_DEVIATIONS = 1.0, 4.5
"""The same of the cells next to the last clear one, which are taken for its tail: within the cells of the
first partition that were found, and beyond them."""
FIRST_SHARE, ZOOM_ROUND_SHARE, LAST_SHARE = (
    Fraction(10, 100),
    Fraction(10, 100),
    Fraction(40, 100),
)
"""Shares of a column's budget: for the first round, for each round that zooms in, and for the last round at
least."""
FURTHER_LOOKS = (Fraction(20, 100), Fraction(30, 100), Fraction(40, 100))
"""Shares for the first partition once more, as long as nothing is found in it."""
MIN_SPREAD = 0.5
"""Noise of a smaller spread is mostly 0 and sometimes 1."""
ZOOM_SHARE = 1 / 40
"""A cell of several positions with a larger share of the records is split before the last round."""
PIECES_PER_LEAF = 6
"""Pieces in which a density that falls within a leaf is stored."""
MAX_TILT, MAX_END_TILT = 5.0, 30.0
"""The natural logarithm of the largest ratio of densities at the two ends of a leaf, and of an outermost
one."""
MAX_NEIGHBOURS = 16
"""Leaves at most whose mean density is taken for that beside a leaf."""
_FIXED_POINT_ROUNDS = 60
_GRAIN = 16
"""Weights are whole numbers, in that part of a record."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedCells:
    """One answered round. cuts: of its cells. values: noisy counts, shape (cells,). variance: of the noise of
    one count. laplace: whether it is Laplace noise, which strays farther."""

    cuts: Cuts
    values: Floats
    variance: float
    laplace: bool = False


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """A piecewise constant density. starts: the first position of each piece, and the end of the last.
    weights: relative numbers of records, whole; one for each piece. leaf: which leaf of the tree each piece
    is a part of."""

    starts: Cuts
    weights: tuple[int, ...]
    leaf: tuple[int, ...]


def first_cuts(count: int, *, zero: int) -> Cuts:
    """The partition of the first round, from public facts: powers of two on both sides of zero, because most
    numbers that people record are skewed, and equal parts of the whole range, because some lie far from zero.

    count: positions. zero: the position of the number 0, which may lie outside of 0 … count-1."""
    cuts = {0, count} | {count * part // EVEN_CELLS for part in range(EVEN_CELLS)}
    for power in range(count.bit_length() + zero.bit_length() + 1):
        # 0 and 1 are cells by themselves, then 2 to 3, 4 to 7, …; and so on the other side.
        cuts |= {zero + 2**power, zero - 2**power + 1}
    cuts |= {zero}
    return tuple(sorted(cut for cut in cuts if 0 <= cut <= count))


def looks(most: Fraction) -> tuple[Fraction, ...]:
    """The shares of the column's budget for the first partition, as often as it may be counted. most: as in
    `next_share`."""
    shares = (FIRST_SHARE, *FURTHER_LOOKS)
    further = most - sum(shares) - LAST_SHARE
    return (*shares, further) if further >= FIRST_SHARE else shares


def next_share(
    rounds: Sequence[CountedCells], *, most: Fraction = Fraction(1)
) -> Fraction | None:
    """The share of the column's budget that the next round may cost; None after the last round.

    The first partition is counted until something is found in it. Then a round zooms in while some cell of
    several positions holds so many records that one more round could not split it enough. most: what all
    rounds may cost together, in terms of the column's budget; above 1 for a column that is not found for
    less."""
    shares = looks(most)
    place = _place_of_records(rounds, most=most)
    if place is None:
        return shares[len(rounds)] if len(rounds) < len(shares) else None
    spent = sum(shares[: place.looks], Fraction(0))
    left = min(max(1 - spent, LAST_SHARE), most - spent)
    for answered in range(place.looks, len(rounds)):
        if not _zooms(rounds[:answered], place, left=left, number=len(shares)):
            return None
        left -= ZOOM_ROUND_SHARE
    if _zooms(rounds, place, left=left, number=len(shares)):
        return ZOOM_ROUND_SHARE
    return left if left >= ZOOM_ROUND_SHARE else None


def _zooms(
    rounds: Sequence[CountedCells], place: _Found, *, left: Fraction, number: int
) -> bool:
    if left - ZOOM_ROUND_SHARE < LAST_SHARE:
        return False
    last = rounds[-1]
    spread = math.sqrt(last.variance)
    counts = _found_counts(rounds, _within(rounds, place, number=number))
    widths = _widths(last.cuts)
    heavy = (widths > 1) & _heavy(counts, spread=spread)
    # The last round finds a value among fewer positions.
    peaks = (widths > PEAK_PARTS**2) & _peaks(last.cuts, counts, spread=spread)
    large = counts > ZOOM_SHARE * max(float(counts.sum()), 1.0)
    return bool((heavy | (peaks & large)).any())


def _widths(cuts: Cuts) -> Floats:
    return np.array([float(end - start) for start, end in pairwise(cuts)])


def _peaks(cuts: Cuts, counts: Floats, *, spread: float) -> npt.NDArray[np.bool_]:
    """Which cells hold clearly more than a density could that is at most PEAK_RATIO times that of a
    neighbour: a few values that many records share. spread: the standard deviation of a count."""
    widths = _widths(cuts)
    padded = np.pad(counts / widths, 1)
    densest = np.maximum(padded[:-2], padded[2:])
    peaks: npt.NDArray[np.bool_] = (
        counts - PEAK_RATIO * densest * widths > PEAK_DEVIATIONS * spread
    )
    return peaks


def _heavy(counts: Floats, *, spread: float) -> npt.NDArray[np.bool_]:
    total = max(float(counts.sum()), 1.0)
    heavy: npt.NDArray[np.bool_] = (counts > ZOOM_SHARE * total) & (
        counts > HEAVY_DEVIATIONS * spread
    )
    return heavy


def next_cuts(
    rounds: Sequence[CountedCells],
    *,
    count: int,
    zero: int,
    spread: float,
    most: Fraction = Fraction(1),
) -> Cuts:
    """The partition of the next round: the first one until something is found in it. count: positions. zero:
    as in `first_cuts`. spread: the standard deviation of a count in the next round. most: as in
    `next_share`."""
    if not rounds:
        return first_cuts(count, zero=zero)
    place = _place_of_records(rounds, most=most)
    if place is None:
        return rounds[0].cuts
    within = _within(rounds, place, number=len(looks(most)))
    return _refined_cuts(rounds, within, zero=zero, spread=spread, most=most)


def _refined_cuts(
    rounds: Sequence[CountedCells],
    within: tuple[int, int],
    *,
    zero: int,
    spread: float,
    most: Fraction,
) -> Cuts:
    last = rounds[-1]
    counts = _found_counts(rounds, within)
    spread = max(spread, MIN_SPREAD)
    # A heavy cell is split again if need be, so its children may be lighter.
    heavy = _heavy(counts, spread=math.sqrt(last.variance))
    # Where noise leaves few leaves, they are taken with more of it rather than wider.
    fine = min(RECORDS_TO_SPLIT * spread, LEAF_SHARE * float(counts.sum()))
    least = np.where(heavy, RECORDS_TO_ZOOM * spread, max(RECORDS_TO_ZOOM * spread, fine))
    # One value among many positions takes as many parts as find it, however few records each would have.
    peaks = _peaks(last.cuts, counts, spread=math.sqrt(last.variance))
    least[peaks] = np.minimum(RECORDS_TO_ZOOM * spread, counts[peaks] / PEAK_PARTS)
    cells = list(pairwise(last.cuts))
    parts = [
        max(1, min(int(number), end - start))
        for (start, end), number in zip(cells, (counts / least).tolist(), strict=True)
    ]
    # With more records than a round has cells, every cell gets its part of them.
    added, room = sum(parts) - len(parts), max(0, MAX_CELLS - len(parts))
    if next_share(rounds, most=most) == ZOOM_ROUND_SHARE:
        room //= ZOOM_CELLS
    scale = min(1.0, room / added) if added else 1.0
    cuts = set(last.cuts)
    for (start, end), number in zip(cells, parts, strict=True):
        children = 1 + int((number - 1) * scale)
        if children > 1:
            cuts |= set(_round_cuts(start, end, parts=children, zero=zero))
    return tuple(sorted(cuts))


def _round_cuts(start: int, end: int, *, parts: int, zero: int) -> list[int]:
    """Cuts between two positions at multiples of 1, 2 or 5 times a power of ten, about as many as the
    parts."""
    step = _round_step(-(-(end - start) // parts))
    first = start + step - (start - zero) % step
    return list(range(first, end, step)) or [(start + end) // 2]


def _round_step(width: int) -> int:
    """The largest of 1, 2, 5, 10, 20, 50, … that is not above a width."""
    power: int = 10 ** (len(str(width)) - 1)
    return max(digit * power for digit in (1, 2, 5) if digit * power <= width)


def leaf_counts(
    rounds: Sequence[CountedCells], *, within: tuple[int, int] | None = None
) -> Floats:
    """Estimated counts of the cells of the last round, from all rounds; none is negative. Shape (cells of the
    last round,).

    Each partition refines the one before, so that the cells form a tree. within: the cells of the first
    partition outside of which there are no records: the sum of so many noisy counts says little."""
    parents = [_parents(coarse, fine) for coarse, fine in pairwise(rounds)]
    estimates, variances = _bottom_up(rounds, parents)
    top = estimates[0]
    if within is not None:
        outside = np.ones(top.size, dtype=np.bool_)
        outside[slice(*within)] = False
        top = np.where(outside, 0.0, top)
    counts = project_to_simplex(top, total=max(0.0, float(top.sum())))
    for parent, estimate, variance in zip(parents, estimates[1:], variances[1:], strict=True):
        counts = _share_out(counts, parent, estimate, variance)
    return counts


def _found_counts(rounds: Sequence[CountedCells], within: tuple[int, int]) -> Floats:
    """Estimated counts of the cells of the last round, none of them beyond what was found and the cell beside
    it, in which a tail may lie. within: the cells of the first partition that were found."""
    return leaf_counts(rounds, within=(max(within[0] - 1, 0), within[1] + 1))


def _parents(coarse: CountedCells, fine: CountedCells) -> npt.NDArray[np.intp]:
    """The cell of the coarse partition in which each cell of the fine one lies."""
    return np.array([bisect_right(coarse.cuts, start) - 1 for start in fine.cuts[:-1]])


def _bottom_up(
    rounds: Sequence[CountedCells], parents: Sequence[npt.NDArray[np.intp]]
) -> tuple[list[Floats], list[Floats]]:
    """The best estimate of each cell from its own count and those below it, and its variance (Hay et al.
    2010, Section 4)."""
    estimates = [rounds[-1].values]
    variances = [np.full(rounds[-1].values.size, rounds[-1].variance)]
    for coarse, parent in zip(rounds[-2::-1], parents[::-1], strict=True):
        size = coarse.values.size
        sums = np.bincount(parent, weights=estimates[0], minlength=size)
        sum_variances = np.bincount(parent, weights=variances[0], minlength=size)
        both = coarse.variance + sum_variances
        estimates.insert(0, (coarse.values * sum_variances + sums * coarse.variance) / both)
        variances.insert(0, coarse.variance * sum_variances / both)
    return estimates, variances


def _share_out(
    counts: Floats, parent: npt.NDArray[np.intp], estimate: Floats, variance: Floats
) -> Floats:
    """Counts of children that add up to those of their parents, none negative."""
    below = np.bincount(parent, weights=estimate, minlength=counts.size)
    spread = np.bincount(parent, weights=variance, minlength=counts.size)
    shifted = estimate + (counts - below)[parent] * variance / spread[parent]
    sizes = np.bincount(parent, minlength=counts.size)
    firsts = np.cumsum(sizes) - sizes
    shared = np.zeros(shifted.size)
    # Children of one parent are neighbours; parents with as many children are projected at once.
    for size in np.unique(sizes).tolist():
        parents = np.flatnonzero(sizes == size)
        children = firsts[parents][:, None] + np.arange(size)
        shared[children] = project_rows_to_simplex(shifted[children], totals=counts[parents])
    return shared


@dataclass(frozen=True, kw_only=True)
class _Found:
    """Cells of the first partition that hold records: from the first one on, before the last one. looks: at
    how many rounds."""

    first: int
    last: int
    looks: int


def _place_of_records(rounds: Sequence[CountedCells], *, most: Fraction) -> _Found | None:
    """What was found in the first partition when so much was found that it is refined; None as long as it is
    counted again."""
    number = len(looks(most))
    for answered in range(1, min(len(rounds), number) + 1):
        place = _look(rounds[:answered], number=number)
        if place is None:
            continue
        # Most numbers with many zeros have others, too, so that one value is not enough before the last look.
        if answered == number or not _is_spike(rounds[0].cuts, place.first, place.last):
            return place
    return None


def _look(rounds: Sequence[CountedCells], *, number: int) -> _Found | None:
    """What the answers of some rounds tell about the first partition. number: of looks at most, which share
    the chance of a false find."""
    cells = _first_cells(rounds)
    runs = cells.number_of_runs(longest=LONGEST_RUN)
    # One look more: at the answers of all rounds, when they are made into a density.
    chance = log_chance_each(FALSE_FIND / (number + 1), runs=runs)
    clear = cells.clear(chance, longest=LONGEST_RUN)
    if clear is None:
        return None
    return _Found(first=clear[0], last=clear[1], looks=len(rounds))


def is_found(rounds: Sequence[CountedCells], *, most: Fraction = Fraction(1)) -> bool:
    """Whether the answers of all rounds tell where values lie. most: as in `next_share`."""
    return _place_of_records(rounds, most=most) is not None


def pieces(
    rounds: Sequence[CountedCells], *, zero: int, most: Fraction = Fraction(1)
) -> Pieces | None:
    """The density that the answers of all rounds tell; None where they do not tell where values lie
    (`is_found`). Where cells of the last round are clear, they are leaves, and there may be one leaf more at
    either end: for a tail, if its cells hold more than noise. Elsewhere in what was found, leaves are cells
    of the first partition. most: as in `next_share`."""
    place = _place_of_records(rounds, most=most)
    if place is None:
        return None
    within = _within(rounds, place, number=len(looks(most)))
    cuts, counts = _leaves(rounds, within, zero=zero)
    cuts = _without_far_ends(_likely_half(rounds, within, cuts))
    if counts.sum() <= 0:
        # Beside what is clear lie cells far below zero, which noise alone makes.
        counts = np.ones(counts.size)
    tilts = _tilts(cuts, counts)
    starts, weights, leaves = [], [], []
    finest = PIECES_PER_LEAF if PIECES_PER_LEAF * len(tilts) <= MAX_PIECES else 1
    for leaf, (start, end) in enumerate(pairwise(cuts)):
        edges = _edges(start, end, tilts[leaf], parts=finest)
        shares = _shares(edges, tilts[leaf]) * counts[leaf]
        starts += edges[:-1]
        weights += [max(0, round(_GRAIN * share)) for share in shares.tolist()]
        leaves += [leaf] * (len(edges) - 1)
    return Pieces(starts=(*starts, cuts[-1]), weights=tuple(weights), leaf=tuple(leaves))


def _within(rounds: Sequence[CountedCells], place: _Found, *, number: int) -> tuple[int, int]:
    """The cells of the first partition that hold records, by the answers of all rounds: those that were
    found, without those at the ends that are not clear by themselves, and with clear runs beside them.
    number: of looks at most."""
    again = _look(rounds, number=number) or place
    first, last = min(place.first, again.first), max(place.last, again.last)
    is_spike = _is_spike(rounds[0].cuts, first, last)
    cells = _first_cells(rounds)
    deviations = cells.values / np.sqrt(np.maximum(cells.variances, MIN_VARIANCE))
    held = first + np.flatnonzero(deviations[first:last] > FAR_TAIL_DEVIATIONS)
    if held.size:
        first, last = int(held[0]), int(held[-1]) + 1
    else:
        first += int(np.argmax(deviations[first:last]))
        last = first + 1
    least = SPIKE_DEVIATIONS if is_spike else EXTEND_DEVIATIONS
    below, above = cells.extended(first, last, log_chance_of(least), longest=LONGEST_RUN)
    # What is found beside may end in a cell that noise alone added to it.
    while not is_spike and below < first and deviations[below] < END_DEVIATIONS:
        below += 1
    while not is_spike and above > last and deviations[above - 1] < END_DEVIATIONS:
        above -= 1
    return below, above


def _is_spike(cuts: Cuts, first: int, last: int) -> bool:
    """Whether these cells are one position."""
    return cuts[last] - cuts[first] == 1


def _first_cells(rounds: Sequence[CountedCells]) -> NoisyCells:
    """The cells of the first partition, by the answers of all rounds."""
    parents = [_parents(coarse, fine) for coarse, fine in pairwise(rounds)]
    estimates, variances = _bottom_up(rounds, parents)
    return NoisyCells(
        values=estimates[0],
        variances=variances[0],
        laplace=any(each.laplace for each in rounds),
    )


def _leaves(
    rounds: Sequence[CountedCells], within: tuple[int, int], *, zero: int
) -> tuple[Cuts, Floats]:
    """The leaves of the density, and their counts. within: the cells of the first partition that were
    found."""
    extent = rounds[0].cuts[within[0] : within[1] + 1]
    cuts = rounds[-1].cuts
    counts = _found_counts(rounds, within)
    ends = cuts.index(extent[0]), cuts.index(extent[-1])
    clear = _clear_ends(rounds, *ends)
    if clear is None:
        return extent, _sums(cuts, counts, extent)
    first, last = clear
    low, high = cuts[first], cuts[last]
    # A tail reaches as far again from zero as what is clear does: from 10,000 to 20,000; but no farther than
    # what is clear is wide, because days, years and prices of one kind lie far from zero and near to each
    # other.
    farthest = bisect_right(cuts, high + min(abs(high - zero), high - low)) - 1
    nearest = bisect_right(cuts, low - min(abs(low - zero), high - low))
    spread = math.sqrt(rounds[-1].variance)
    below = [cut for cut in extent if cut <= low]
    if len(below) < 2:
        tail = _tail(counts[:first][::-1], first - nearest, first - ends[0], spread=spread)
        below = [cuts[first - tail]]
    above = [cut for cut in extent if cut >= high]
    if len(above) < 2:
        tail = _tail(counts[last:], farthest - last, ends[1] - last, spread=spread)
        above = [cuts[last + tail]]
    leaves = tuple(sorted({*below, *cuts[first : last + 1], *above}))
    return leaves, _sums(cuts, counts, leaves)


def _likely_half(rounds: Sequence[CountedCells], within: tuple[int, int], leaves: Cuts) -> Cuts:
    """A lone cell of the first partition is cut to the half next to the one cell beside it that may hold
    records, too: all may lie around the cut. Anything else is left as it is. within: the cells of the first
    partition that were found."""
    first, last = within
    low, high = leaves[0], leaves[-1]
    if leaves != rounds[0].cuts[first : last + 1] or len(leaves) > 2 or high - low == 1:
        return leaves
    cells = _first_cells(rounds)
    deviations = cells.values / np.sqrt(np.maximum(cells.variances, MIN_VARIANCE))
    below, above = (
        0 <= cell < deviations.size and bool(deviations[cell] > DOUBT_DEVIATIONS)
        for cell in (first - 1, last)
    )
    # Records on both sides are spread wider than the cell.
    if below == above:
        return leaves
    middle = (low + high) // 2
    return (low, middle) if below else (middle, high)


def _without_far_ends(cuts: Cuts) -> Cuts:
    """Leaves of which neither the first nor the last one reaches farther than all others are wide together:
    nothing says how far the values in it reach, and the values of a column are about as wide as what is clear
    of them."""
    if len(cuts) < 3:
        return cuts
    low, *inner, high = cuts
    high = min(high, 2 * inner[-1] - low)
    low = max(low, 2 * inner[0] - high)
    return (low, *inner, high)


def _sums(cuts: Cuts, counts: Floats, leaves: Cuts) -> Floats:
    """The counts of leaves that are made of whole cells."""
    reached = np.append(0.0, np.cumsum(counts))
    sums: Floats = np.maximum(np.diff(reached[[bisect_left(cuts, cut) for cut in leaves]]), 0)
    return sums


def _tail(counts: Floats, reach: int, inside: int, *, spread: float) -> int:
    """Cells of a tail. A tail that is not clearly larger than the noise of its cells is taken for noise.

    counts: of cells, from the nearest one on. reach: how many cells a tail has at most. inside: how many of
    them lie within what was found. spread: the standard deviation of a count."""
    reach = max(reach, 0)
    beyond, held = float(counts[inside:reach].sum()), float(counts[:reach].sum())
    if reach > inside and beyond <= FAR_TAIL_DEVIATIONS * spread * math.sqrt(reach - inside):
        reach = max(inside, 0)
        held = float(counts[:reach].sum())
    return reach if held > TAIL_DEVIATIONS * spread * math.sqrt(reach) else 0


def _clear_ends(rounds: Sequence[CountedCells], low: int, high: int) -> tuple[int, int] | None:
    """The cells of the last round between which values clearly lie, among those from `low` to `high`. Outside
    of them no run of cells, of any length, holds clearly more than noise, nor any cell of an earlier round
    but those of the first partition, which are too wide. None if nothing does."""
    last_round = rounds[-1]
    if last_round.cuts == rounds[0].cuts:
        return None if high - low > 1 else (low, high)
    cells = NoisyCells(
        values=last_round.values[low:high],
        variances=np.full(high - low, last_round.variance),
        laplace=last_round.laplace,
    )
    chance = log_chance_each(FALSE_END, runs=cells.number_of_runs(longest=high - low))
    clear = cells.clear(chance, longest=high - low)
    first, last = (high, low) if clear is None else (low + clear[0], low + clear[1])
    # What a round before counted in one cell may be lost in the noise of many narrow ones.
    parents = [_parents(coarse, fine) for coarse, fine in pairwise(rounds)]
    estimates, variances = _bottom_up(rounds, parents)
    ancestor = np.arange(last_round.values.size)
    for level in range(len(rounds) - 2, 0, -1):
        ancestor = parents[level][ancestor]
        if rounds[level].cuts == rounds[0].cuts:
            break
        log_chances = log_tail(
            estimates[level],
            variances[level],
            largest=variances[level],
            laplace=rounds[level].laplace,
        )
        is_narrow = _is_split(rounds[0].cuts, rounds[level].cuts)
        held = low + np.flatnonzero(((log_chances <= chance) & is_narrow)[ancestor][low:high])
        if held.size:
            first, last = min(first, int(held[0])), max(last, int(held[-1]) + 1)
    return (first, last) if first < last else None


def _is_split(coarse: Cuts, fine: Cuts) -> npt.NDArray[np.bool_]:
    """Which cells of the fine partition are narrower than the cell of the coarse one in which they lie."""
    ends = set(coarse)
    return np.array([not {start, end} <= ends for start, end in pairwise(fine)])


def _tilts(cuts: Cuts, counts: Floats) -> list[float]:
    """The logarithm of the ratio of the densities at the start and at the end of each leaf: above 0 where it
    falls."""
    widths = _widths(cuts)
    densities = counts / widths
    # A single value is a spike, which says nothing of the density beside it.
    wide = [leaf for leaf in np.flatnonzero(widths > 1).tolist() if densities[leaf] > 0]
    tilts = [0.0] * counts.size
    for at, leaf in enumerate(wide):
        own = float(densities[leaf])
        lower = wide[max(0, at - MAX_NEIGHBOURS) : at][::-1]
        upper = wide[at + 1 : at + 1 + MAX_NEIGHBOURS]
        before = _neighbour_density(counts, widths, lower, least=float(widths[leaf]) / 2)
        after = _neighbour_density(counts, widths, upper, least=float(widths[leaf]) / 2)
        if before > own and not after:
            tilts[leaf] = _end_tilt(before / own)
        elif after > own and not before:
            tilts[leaf] = -_end_tilt(after / own)
        elif before > own > after or before < own < after:
            # At either end the density is between that of the leaf and that of its neighbour.
            tilts[leaf] = min(max(math.log(before / after) / 2, -MAX_TILT), MAX_TILT)
    return tilts


def _neighbour_density(
    counts: Floats, widths: Floats, leaves: Sequence[int], *, least: float
) -> float:
    """The mean density of the nearest of some leaves, as many as are so wide together: one narrow peak beside
    a leaf does not say how the density in it falls. 0 without a leaf.

    leaves: from the nearest one on. least: the width, in positions."""
    held, width = 0.0, 0.0
    for leaf in leaves:
        held, width = held + float(counts[leaf]), width + float(widths[leaf])
        if width >= least:
            break
    return held / width if width else 0.0


def _end_tilt(ratio: float) -> float:
    """The tilt of an outermost leaf, whose density falls from near that of its neighbour to that of a tail.

    ratio: the neighbour's mean density over that of the leaf, above 1. With a density that falls by e^-t over
    the leaf, its start is t / (1 - e^-t) times as dense as the leaf is on the mean."""
    start: float = ratio ** (2 / 3)
    tilt = start
    for _ in range(_FIXED_POINT_ROUNDS):
        tilt = start * -math.expm1(-tilt)
    return min(tilt, MAX_END_TILT)


def _edges(start: int, end: int, tilt: float, *, parts: int) -> list[int]:
    """Cuts of a leaf into pieces that hold about equally many records."""
    if tilt == 0:
        return [start, end]
    relative = [
        math.log1p(math.expm1(-tilt) * part / parts) / -tilt for part in range(1, parts)
    ]
    inner = {start + int((end - start) * share) for share in relative}
    return [start, *sorted(inner - {start, end}), end]


def _shares(edges: Sequence[int], tilt: float) -> Floats:
    """The part of a leaf's records in each of its pieces, where the density falls by e^-tilt over the
    leaf."""
    if tilt == 0:
        return np.ones(1)
    relative = np.array([(edge - edges[0]) / (edges[-1] - edges[0]) for edge in edges])
    reached = np.expm1(-tilt * relative) / math.expm1(-tilt)
    shares: Floats = np.diff(reached)
    return shares
