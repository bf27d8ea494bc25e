"""Numbers, days or moments in learned bins, with the learned distribution inside the bins."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.kinds.attribute import TableSchemaField
from synth_engine.kinds.bounds import nullable
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import MAX_EXACT, TEXT, Schema, optional
from synth_engine.kinds.ladders import DecimalSteps, Even, Floats, Ladder, padded
from synth_engine.kinds.lattice import (
    BOUND,
    SCALES,
    Bound,
    Lattice,
    Of,
    Positions,
    bound_json,
    is_missing,
    read_bound,
)
from synth_engine.kinds.on_lattice import OnLattice
from synth_engine.kinds.reading import Codes, code_dtype

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAX_PIECES = 10_000
"""Pieces of the distribution of one column."""
_SHARES = 1 << 20
_POSITIONS: Schema = {
    "type": "array",
    "items": {"type": ["integer", "string"]},
    "minItems": 2,
    "maxItems": MAX_PIECES + 1,
}
_WEIGHTS: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}


@dataclass(frozen=True, kw_only=True)
class ScaleBins(OnLattice):
    """Numbers, days or moments on a lattice, as a run learned them. Bin i holds the positions cuts[i] ≤ k <
    cuts[i+1]; the outermost bins also count what lies beyond them. `pieces` are finer positions at which the
    density changes, and `weights` the relative numbers of records between them. `round_shares` says how many
    values are multiples of round numbers."""

    kind: ClassVar[str] = "scale-bins"
    schema_position: ClassVar[int] = 86
    is_comparable: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "bounds", "missing")

    of: Of
    low: Bound
    high: Bound
    step: int | float = 1
    format: str | None = None
    cuts: tuple[int, ...]
    pieces: tuple[int, ...]
    weights: tuple[int, ...]
    regions: tuple[int, ...] = ()
    round_shares: tuple[tuple[int, ...], ...] = ()
    ordered: bool = True

    def check(self) -> None:
        problem = self.lattice.problem()
        if problem is not None:
            raise self.error(problem.rule, repair=problem.repair, field=problem.field)
        for name in ("cuts", "pieces", "weights", "regions"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "round_shares", tuple(map(tuple, self.round_shares)))
        if not self._is_consistent():
            raise self.error(
                "bins and pieces do not fit each other",
                repair="use the description of the release",
                field="cuts",
            )

    def _is_consistent(self) -> bool:
        rising = all(
            a < b for cuts in (self.cuts, self.pieces, self.regions) for a, b in pairwise(cuts)
        )
        inside = self.pieces[0] >= 0 and self.pieces[-1] <= self.lattice.count
        nested = set(self.cuts) <= set(self.pieces)
        ends = (self.cuts[0], self.cuts[-1]) == (self.pieces[0], self.pieces[-1])
        sizes = len(self.cuts) >= 2 and len(self.weights) == len(self.pieces) - 1 <= MAX_PIECES
        divisors = len(self.lattice.divisors)
        shares = len(self.round_shares) == max(len(self.regions) - 1, 0) and all(
            len(row) == divisors and min(row) >= 0 and sum(row) > 0 for row in self.round_shares
        )
        return (
            rising
            and inside
            and nested
            and ends
            and sizes
            and shares
            and min(self.weights) >= 0
        )

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(
            of=self.of, low=self.low, high=self.high, step=self.step, form=self.format
        )

    @property
    def value_count(self) -> int:
        return len(self.cuts) - 1

    @property
    def value_labels(self) -> tuple[str, ...]:
        label = self.lattice.label
        return tuple(
            label(start) if end == start + 1 else f"{label(start)} to {label(end - 1)}"
            for start, end in pairwise(self.cuts)
        )

    def codes_at(self, positions: Positions, missing: NDArray[np.bool_]) -> Codes:
        """The bins of positions; the outermost bins count what lies beyond them."""
        inner = np.array(self.cuts[1:-1], dtype=np.uint64)
        codes: Codes = np.searchsorted(inner, positions, side="right").astype(
            code_dtype(self.size)
        )
        if self.missing_code is not None:
            codes[missing] = self.missing_code
        return codes

    def encode(self, texts: list[str]) -> Codes:
        positions, sides = self.lattice.positions(texts, self)
        return self.codes_at(positions, is_missing(sides, self))

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
        import pandas as pd

        missing = codes == self.missing_code
        bins = np.where(missing, 0, codes)
        piece = self._sample_pieces(bins, rng)
        positions = self._not_like_markers(self._sample_positions(piece, rng))
        values = self.lattice.values(positions)
        if self.of in ("date", "datetime"):
            return pd.Series(values).mask(missing)
        return nullable(values, missing, self, "Int64" if self.of == "integer" else "Float64")

    def _not_like_markers(self, positions: Positions) -> Positions:
        """Positions, moved by one where the value would be read as missing, because it is written like a
        marker."""
        markers, outside = self.lattice.positions(list(self.missing or ()), self)
        # In order, so that what one marker moves is moved again by the next one.
        for position in sorted(markers[outside == 0].tolist()):
            shift = 1 if position + 1 < self.lattice.count else -1
            positions[positions == position] = position + shift
        return positions

    def _sample_pieces(
        self, bins: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """A piece of each bin, by its weight; each piece equally often in a bin without weight."""
        first = np.searchsorted(
            np.array(self.pieces, dtype=np.uint64), np.array(self.cuts, dtype=np.uint64)
        )
        weights = np.array(self.weights, dtype=np.int64)
        of_bin = np.add.reduceat(weights, first[:-1])
        for bin_ in np.flatnonzero(of_bin == 0).tolist():
            weights[first[bin_] : first[bin_ + 1]] = 1
        reached = np.append(0, np.cumsum(weights))
        below, above = reached[first[:-1]], reached[first[1:]]
        ticket = rng.integers(below[bins], above[bins])
        pieces: NDArray[np.intp] = np.searchsorted(reached, ticket, side="right") - 1
        return pieces

    def _sample_positions(self, piece: NDArray[np.intp], rng: np.random.Generator) -> Positions:
        """A position of each piece, uniform among all, or among the multiples of a round number."""
        starts = np.array(self.pieces[:-1], dtype=np.uint64)
        lasts = np.array([end - 1 for end in self.pieces[1:]], dtype=np.uint64)
        if not self.round_shares:
            return _uniform(starts[piece], lasts[piece], rng)
        divisors = np.array(self.lattice.divisors, dtype=np.uint64)
        remainders = np.uint64(self.lattice.remainder) % divisors
        # The distance from the start of each piece to the first multiple of each divisor; shape (pieces,
        # divisors).
        gaps = (divisors - (starts[:, None] % divisors + remainders) % divisors) % divisors
        widths = (lasts - starts)[:, None]
        has_one = gaps <= widths
        further: Positions = np.where(has_one, widths - gaps, 0).astype(np.uint64) // divisors
        multiples = ((further + 1.0) * has_one).astype(np.float64)
        chosen = self._sample_divisors(piece, starts, multiples, rng)
        # A piece without a multiple of that number has any of its positions.
        chosen[~has_one[piece, chosen]] = 0
        multiple = _uniform(np.zeros_like(starts[piece]), further[piece, chosen], rng)
        positions: Positions = starts[piece] + gaps[piece, chosen] + multiple * divisors[chosen]
        return positions

    def _sample_divisors(
        self,
        piece: NDArray[np.intp],
        starts: Positions,
        multiples: Floats,
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """The index of a divisor for each value, which shall be a multiple of it. multiples: how many of each
        divisor a piece holds, shape (pieces, divisors).

        The part of the values that are multiples of d lies on one position in d, so that a piece has d times
        the number of multiples in it of that part, in terms of its width: a narrow piece around a round
        number has little else."""
        inner = np.array(self.regions[1:-1], dtype=np.uint64)
        region = np.searchsorted(inner, starts, side="right")
        shares = np.array(self.round_shares, dtype=np.float64)[region]
        weights = shares * np.array(self.lattice.divisors, dtype=np.float64) * multiples
        weights[weights.sum(axis=1) == 0, 0] = 1.0
        reached = np.cumsum(weights, axis=1)
        # One row of numbers that rise by 1 from piece to piece.
        rising = (reached / reached[:, -1:] + np.arange(len(starts))[:, None]).ravel()
        entry = np.searchsorted(rising, piece + rng.random(piece.size), side="right")
        chosen: NDArray[np.intp] = np.minimum(
            entry - piece * weights.shape[1], weights.shape[1] - 1
        )
        return chosen

    def first_position(self, bound: float, *, above: bool) -> int:
        """The first position whose value is not below a number of the ladder, or, if `above`, above it; one
        after the last where there is none."""
        import pandas as pd

        # Both kinds of days and moments count from another day than the ladder does.
        zero = self.comparable(pd.Series(self.lattice.values(np.zeros(1, dtype=np.uint64))))
        shift = 0 if self.holds_numbers else int(zero[0]) - self.lattice.number(0)
        steps = (Fraction(Decimal(repr(bound))) - shift - self.lattice.number(0)) / (
            self.lattice.number(1) - self.lattice.number(0)
        )
        first = math.floor(steps) + 1 if above else math.ceil(steps)
        return min(max(first, 0), self.lattice.count)

    def with_cuts(self, positions: Iterable[int]) -> ScaleBins:
        """The same column with bins that begin at these positions as well. Pieces that this cuts share their
        weight by their lengths."""
        new = sorted(
            {k for k in positions if self.cuts[0] < k < self.cuts[-1]}.difference(self.cuts)
        )
        if not new:
            return self
        # Weights are relative: a common factor leaves room for shares of them.
        factor = max(1, min(_SHARES, MAX_EXACT // max(sum(self.weights), 1)))
        pieces, weights = [self.pieces[0]], []
        for (start, end), weight in zip(pairwise(self.pieces), self.weights, strict=True):
            ends = [*new[bisect_right(new, start) : bisect_left(new, end)], end]
            reached = [weight * factor * (each - start) // (end - start) for each in ends]
            pieces += ends
            weights += [now - before for before, now in pairwise([0, *reached])]
        cuts = tuple(sorted({*self.cuts, *new}))
        return replace(self, cuts=cuts, pieces=tuple(pieces), weights=tuple(weights))

    def write(self, column: pd.Series) -> pd.Series:
        return self.reader.write(column)

    @property
    def arrow_type(self) -> pa.DataType:
        return self.reader.arrow_type

    def ladder(self) -> Ladder:
        low, high, step = self._ladder_numbers()
        ends = {"low": padded(low, self.size), "high": padded(high, self.size)}
        if self.of == "number":
            first, whole, scale = self.lattice.whole_numbers
            return DecimalSteps(
                **ends, missing_code=self.missing_code, first=first, step=whole, scale=scale
            )
        return Even(**ends, missing_code=self.missing_code, start=float(low[0]), step=step)

    def _ladder_numbers(self) -> tuple[Floats, Floats, float]:
        """First and last value of each bin, as the kind of the same values compares them, and the step."""
        import pandas as pd

        ends = [end - 1 for end in self.cuts[1:]]
        firsts, lasts = (
            self.reader.comparable(
                pd.Series(self.lattice.values(np.array(cuts, dtype=np.uint64)))
            )
            for cuts in (self.cuts[:-1], ends)
        )
        return firsts, lasts, float(self.step)

    def range_end(self, end: float | str, *, last: bool) -> float:
        return self.reader.range_end(end, last=last)

    def comparable(self, column: pd.Series) -> Floats:
        return self.reader.comparable(column)

    def natural(self, values: Floats) -> pd.Series:
        return self.reader.natural(values)

    def table_schema(self) -> TableSchemaField:
        """The type alone: the table shows where values lie, and the description which bounds were
        declared."""
        field = self.reader.table_schema()
        return TableSchemaField(field.type, field.properties)

    def details(self) -> dict[str, object]:
        own: dict[str, object] = {
            "of": self.of,
            "low": bound_json(self.low),
            "high": bound_json(self.high),
            "step": self.step,
            "cuts": _json(self.cuts),
            "pieces": _json(self.pieces),
            "weights": list(self.weights),
        }
        if self.format is not None:
            own["format"] = self.format
        if self.round_shares:
            own["regions"] = _json(self.regions)
            own["round_shares"] = [list(row) for row in self.round_shares]
        return own

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        own: Schema = {
            "of": {"enum": list(SCALES)},
            "low": BOUND,
            "high": BOUND,
            "step": {"type": "number", "exclusiveMinimum": 0},
            "format": optional(TEXT),
            "cuts": _POSITIONS,
            "pieces": _POSITIONS,
            "weights": _WEIGHTS,
            "regions": _POSITIONS,
            "round_shares": {"type": "array", "items": _WEIGHTS},
        }
        return own, ("of", "low", "high", "cuts", "pieces", "weights")

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, Any]:
        needed = fields.needed(
            of=fields.text("of", default=None),
            low=read_bound(fields, "low"),
            high=read_bound(fields, "high"),
            cuts=_positions(fields, "cuts"),
            pieces=_positions(fields, "pieces"),
            weights=fields.numbers("weights", whole=True),
        )
        return needed | {
            "step": fields.number("step"),
            "format": fields.text("format", default=None),
            "regions": _positions(fields, "regions"),
            "round_shares": _rows(fields, "round_shares"),
        }


def _uniform(firsts: Positions, lasts: Positions, rng: np.random.Generator) -> Positions:
    """A position from each first one to its last one, both included."""
    chosen: Positions = rng.integers(firsts, lasts, dtype=np.uint64, endpoint=True)
    return chosen


def _json(positions: tuple[int, ...]) -> list[int | str]:
    """Positions as JSON: those beyond 2^53, which not every reader of JSON tells apart, as texts of
    digits."""
    return [k if k <= MAX_EXACT else str(k) for k in positions]


def _positions(fields: Fields, key: str) -> tuple[int, ...] | None:
    if fields.document.get(key) is None:
        return None
    try:
        return tuple(int(k) for k in fields.list(key) if isinstance(k, int | str))
    except ValueError:
        raise fields.wrong(key, "a list of positions") from None


def _rows(fields: Fields, key: str) -> tuple[tuple[int, ...], ...] | None:
    if fields.document.get(key) is None:
        return None
    rows = fields.list(key)
    if not all(isinstance(row, list) and all(type(n) is int for n in row) for row in rows):
        raise fields.wrong(key, "lists of whole numbers")
    return tuple(map(tuple, rows))
