"""Placement: which generated row of a child table goes to which parent.

Rows are generated with the columns of the parent that they would like to have. Parents are generated as well,
and each has a number of places. Rows are first placed by sorting both by the columns above. Then pairs of
places exchange their rows as long as that brings the tables of counts of columns above × columns of the row,
and of one sibling × the other, nearer to their targets. Exchanges move whole rows, so that all counts within
the child table stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from synth_engine.inference.swap_kernels import State, below
from synth_engine.jit import compiled

Codes = Mapping[str, npt.NDArray[np.integer[Any]]]
Whole = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]

SWEEPS = 30
"""How often the row of every place is tried at a random other one, at most."""
LEAST_GAIN = 50
"""Exchanges end with a sweep that gains less than this part of all that was gained: the rest is mostly what
no placement can reach."""
MAX_TRIES = 20_000_000
MAX_CELLS = 250_000
"""Cells of the largest table that exchanges keep to; rows are placed by sorting alone for larger ones."""
_BEYOND_CHANCE = 1.5
"""Factor on the distance that chance makes between a table and the product of its columns, up to which the
two columns count as independent: then any placement is as good."""
_FORBIDDEN = 50
"""How many records one record in a cell that a constraint forbids counts for, on either side."""
_FAR = 2**40
_ROUNDS = 20
_EMPTY = 1e-6
"""What a cell without records counts for when a table is scaled, so that no margin is empty."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairing:
    """Target of the counts of pairs of siblings: generated pairs, as codes of the later row and of the
    earlier one.

    first: whether each row is paired with the first of its parent, instead of with the one before it."""

    later: Codes
    earlier: Codes
    first: bool


class _JoinTables(NamedTuple):
    """Tables of counts less their targets, one after another in `excess`. above, own: the columns of each, by
    number; sizes: of its last axis; offsets: where it begins; weights: of a record in it."""

    above: Whole
    own: Whole
    sizes: Whole
    offsets: Whole
    weights: Whole
    excess: Whole


class _Work(NamedTuple):
    """What exchanges work on. assigned: the row of each place; rows, places: codes of own columns and of
    those above, a line for each; begins, ends: where the places of the same parent begin and end; first: as
    of a pairing."""

    assigned: Whole
    rows: Small
    places: Small
    begins: Whole
    ends: Whole
    first: bool
    above: _JoinTables
    pairs: _JoinTables


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """The rows and the places of a child table.

    rows: codes of as many generated rows as there are places, of `own` columns and of those above. places:
    codes of the columns above, as they are. parents: of each place, in increasing order. sizes: the number of
    codes of each column. forbidden: a column above and an own one, and which pairs of their codes a
    constraint rules out."""

    rows: Codes
    places: Codes
    parents: Whole
    sizes: Mapping[str, int]
    own: Sequence[str]
    pairing: Pairing | None = None
    forbidden: Mapping[tuple[str, str], npt.NDArray[np.bool_]] = field(default_factory=dict)

    def assign(self, *, rng: np.random.Generator) -> Whole:
        """Returns the row of each place, shape (places,)."""
        related = {
            (one, other): table
            for one in self.places
            for other in self.own
            if (table := self._related(one, other)) is not None
        }
        assigned = self._sorted(related, rng=rng)
        above = self._above_tables(assigned, related)
        pairs = (
            _joined([]) if self.pairing is None else self._pair_tables(assigned, self.pairing)
        )
        number = self.parents.size
        if number < 2 or not (above.own.size or pairs.own.size):
            return assigned
        begins = np.flatnonzero(self._starts)
        family = np.cumsum(self._starts) - 1
        work = _Work(
            assigned=assigned,
            rows=_lines([self.rows[name] for name in self.own], number),
            places=_lines(list(self.places.values()), number),
            begins=begins[family],
            ends=np.append(begins[1:], number)[family],
            first=self.pairing is not None and self.pairing.first,
            above=above,
            pairs=pairs,
        )
        state = np.array([rng.integers(0, 2**63)], dtype=np.uint64)
        gained = 0
        for _ in range(min(SWEEPS, max(1, MAX_TRIES // number))):
            gain = _exchange(work, state)
            gained += gain
            if gain * LEAST_GAIN <= gained:
                break
        return assigned

    @property
    def _starts(self) -> npt.NDArray[np.bool_]:
        """Whether each place is the first one of its parent."""
        return np.append(True, self.parents[1:] != self.parents[:-1])[: self.parents.size]

    def _related(self, one: str, other: str) -> Whole | None:
        """The counts of a column above and an own one among generated rows; None where they are independent,
        or too large."""
        shape = (self.sizes[one], self.sizes[other])
        if shape[0] * shape[1] > MAX_CELLS:
            return None
        table = _counts(self.rows[one], self.rows[other], shape)
        return table if _distance_beyond_chance(table) > 0 else None

    def _sorted(
        self, related: Mapping[tuple[str, str], Whole], *, rng: np.random.Generator
    ) -> Whole:
        """Places rows by sorting both by the columns above, those first on which the rows depend most. Before
        these come the columns of constraints: of all placements, that of two sorted columns breaks an order
        between them for the fewest rows."""
        strength = dict.fromkeys(self.places, 0.0)
        for (one, _), table in related.items():
            strength[one] += _distance_beyond_chance(table)
        keys = sorted((name for name in strength if strength[name]), key=strength.__getitem__)
        number = self.parents.size
        # Random among equals: rows of one parent must not be alike because they were generated together.
        of_rows = np.lexsort(
            [
                rng.permutation(number),
                *(self.rows[name] for name in keys),
                *(self.rows[own] for _, own in self.forbidden),
            ]
        )
        of_places = np.lexsort(
            [
                rng.permutation(number),
                *(self.places[name] for name in keys),
                *(self.places[above] for above, _ in self.forbidden),
            ]
        )
        assigned = np.empty(number, dtype=np.int64)
        assigned[of_places] = of_rows
        return assigned

    def _above_tables(
        self, assigned: Whole, related: Mapping[tuple[str, str], Whole]
    ) -> _JoinTables:
        """Counts of places as they are placed, less those of the generated rows; and the records that break
        constraints."""
        above, entries = list(self.places), []
        for (one, other), target in related.items():
            shape = (self.sizes[one], self.sizes[other])
            counted = _counts(self.places[one], self.rows[other][assigned], shape)
            # The columns above are what they are, and noise in their counts must not pull at the rows.
            fitted = _with_margins(target, counted.sum(axis=1), counted.sum(axis=0))
            entries.append((above.index(one), self.own.index(other), 1, counted - fitted))
        for (one, other), wrong in self.forbidden.items():
            # So far from its target that every record in a forbidden cell costs, and every one in an allowed
            # cell gains, the same.
            excess = np.where(wrong, _FAR, -_FAR).astype(np.int64)
            entries.append((above.index(one), self.own.index(other), _FORBIDDEN, excess))
        return _joined(entries)

    def _pair_tables(self, assigned: Whole, pairing: Pairing) -> _JoinTables:
        """Counts of pairs of siblings as they are placed, less their targets."""
        starts = self._starts
        later = np.flatnonzero(~starts)
        first_of = np.maximum.accumulate(np.where(starts, np.arange(starts.size), 0))
        before = first_of[later] if pairing.first else later - 1
        entries = []
        known = [name for name in self.own if name in pairing.later]
        for one, other in product(known, known):
            shape = (self.sizes[one], self.sizes[other])
            if shape[0] * shape[1] > MAX_CELLS:
                continue
            target = _counts(pairing.earlier[one], pairing.later[other], shape)
            if not _distance_beyond_chance(target):
                continue
            rows, others = self.rows[one][assigned], self.rows[other][assigned]
            counted = _counts(rows[before], others[later], shape)
            entries.append((self.own.index(one), self.own.index(other), 1, counted - target))
        return _joined(entries)


def _lines(columns: Sequence[npt.NDArray[np.integer[Any]]], number: int) -> Small:
    """Columns as lines, shape (number, columns)."""
    lines = np.stack(columns, axis=1) if columns else np.zeros((number, 1))
    return np.ascontiguousarray(lines, dtype=np.int32)


def _counts(
    one: npt.NDArray[np.integer[Any]],
    other: npt.NDArray[np.integer[Any]],
    shape: tuple[int, int],
) -> Whole:
    cells = one.astype(np.int64) * shape[1] + other
    return np.bincount(cells, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape)


def _with_margins(table: Whole, ones: Whole, others: Whole) -> Whole:
    """The table scaled to these margins by iterative proportional fitting, rounded."""
    fitted = table.astype(np.float64) + _EMPTY
    for _ in range(_ROUNDS):
        fitted *= (ones / np.maximum(fitted.sum(axis=1), _EMPTY))[:, None]
        fitted *= others / np.maximum(fitted.sum(axis=0), _EMPTY)
    return np.rint(fitted).astype(np.int64)


def _distance_beyond_chance(table: Whole) -> float:
    """Half the L1 distance of a table from the product of its columns, less what chance makes of it; 0 at
    least."""
    total = max(1, int(table.sum()))
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    distance = np.abs(table - expected).sum()
    chance = np.sqrt(2 * expected / np.pi).sum()
    return max(0.0, float(distance - _BEYOND_CHANCE * chance)) / 2


def _joined(entries: Sequence[tuple[int, int, int, Whole]]) -> _JoinTables:
    widths = np.array([table.size for *_, table in entries], dtype=np.int64)
    return _JoinTables(
        above=np.array([above for above, *_ in entries], dtype=np.int64),
        own=np.array([own for _, own, *_ in entries], dtype=np.int64),
        sizes=np.array([table.shape[1] for *_, table in entries], dtype=np.int64),
        offsets=np.cumsum(widths) - widths,
        weights=np.array([weight for _, _, weight, _ in entries], dtype=np.int64),
        excess=np.concatenate([table.ravel() for *_, table in entries])
        if entries
        else np.zeros(1, dtype=np.int64),
    )


@compiled
def _change(excess: Whole, cell: int, sign: int) -> int:
    """Adds a record to a cell, or takes one away, and returns by how much the distance from the targets
    grows."""
    before: int = excess[cell]
    excess[cell] = before + sign
    return abs(before + sign) - abs(before)


@compiled
def _count_pair(one: int, other: int, sign: int, work: _Work) -> int:
    """Counts a pair of siblings, the earlier row first, or takes it out; returns by how much the distance
    grows."""
    pairs = work.pairs
    delta = 0
    for table in range(pairs.own.size):
        cell = (
            pairs.offsets[table]
            + work.rows[one, pairs.above[table]] * pairs.sizes[table]
            + work.rows[other, pairs.own[table]]
        )
        delta += _change(pairs.excess, cell, sign)
    return delta


@compiled
def _count(slot: int, sign: int, work: _Work) -> int:
    """Counts the row of a place, or takes it out, in all tables; returns by how much the distance grows."""
    above, row = work.above, work.assigned[slot]
    delta = 0
    for table in range(above.own.size):
        cell = (
            above.offsets[table]
            + work.places[slot, above.above[table]] * above.sizes[table]
            + work.rows[row, above.own[table]]
        )
        delta += above.weights[table] * _change(above.excess, cell, sign)
    if work.pairs.own.size == 0:
        return delta
    begin, end = work.begins[slot], work.ends[slot]
    # A place without a row is counted in no pair, so that two siblings can exchange their rows as well.
    if slot > begin:
        before = work.assigned[begin if work.first else slot - 1]
        if before >= 0:
            delta += _count_pair(before, row, sign, work)
    if not work.first:
        end = min(end, slot + 2)
    elif slot > begin:
        end = slot + 1
    for other in range(slot + 1, end):
        after = work.assigned[other]
        if after >= 0:
            delta += _count_pair(row, after, sign, work)
    return delta


@compiled
def _swap(one: int, other: int, work: _Work) -> int:
    """Exchanges the rows of two places; returns by how much the distance grows."""
    first, second = work.assigned[one], work.assigned[other]
    delta = _count(one, -1, work)
    work.assigned[one] = -1
    delta += _count(other, -1, work)
    work.assigned[other] = first
    delta += _count(other, 1, work)
    work.assigned[one] = second
    delta += _count(one, 1, work)
    return delta


@compiled
def _exchange(work: _Work, state: State) -> int:
    """Exchanges the row of each place with that of a random one wherever that brings the tables no farther
    from their targets; returns by how much nearer they are."""
    number = work.assigned.size
    total = 0
    for one in range(number):
        other = below(state, number)
        if one == other:
            continue
        delta = _swap(one, other, work)
        if delta > 0:
            _swap(one, other, work)
        else:
            total -= delta
    return total
