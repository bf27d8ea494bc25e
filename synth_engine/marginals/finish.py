"""Records mended, cell by cell, until their counts are near to wished ones: the last step from tables to rows.

After the gradual update of PrivSyn (Zhang et al. 2021), but from rows that a model gave, and one record at a time: a
change is made if and only if it lowers the sum, over all tables, of (count - target)² / (target + softness). All of it
is post-processing; the same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.marginals import moves

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]
Truth = npt.NDArray[np.bool_]
Axes = tuple[int, ...]

SOFTNESS = 3.0
"""Added to each target where a difference is weighed, so that empty cells do not count for everything."""
PROPOSALS = 9
"""For each cell of the records, where nobody says how many there are to be."""
_LANES = 8
"""Lines of costs are a multiple of this long."""


def finish(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    proposals: int | None = None,
    allowed: Sequence[tuple[Axes, Truth]] = (),
    weights: Sequence[float] | None = None,
    softness: float = SOFTNESS,
) -> Codes:
    """Rows whose tables are nearer to the targets; shape (attributes, rows), uint16, as `codes`, which stay as they are.

    targets: (axes, wished counts) for any sets of two or three attributes, by their places in `codes`. The counts are
    not negative, have one axis for each of `axes`, in that order, as long as the attribute has values, and are scaled
    so that they add up to the number of rows. Attributes in no target keep their codes.
    allowed: for sets of two or three attributes, which cells may be entered; a row that is in none that may not stays so.
    weights: how much each target counts; absent: all alike. proposals: how many changes are tried.
    """
    rows = codes.shape[1]
    if not targets or rows < 2:
        return codes.copy()
    sizes = _sizes(len(codes), [*targets, *allowed])
    board = _Board.of(codes, sizes, targets, allowed=allowed, weights=weights, softness=softness)
    free = np.array(sorted({axis for axes, _ in targets for axis in axes}), dtype=np.int64)
    records = np.ascontiguousarray(codes.T)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    tried = PROPOSALS * rows * free.size if proposals is None else proposals
    moves.random_moves(records, free, tried, state, *board.arrays)
    return np.ascontiguousarray(records.T)


def _sizes(attributes: int, tables: Sequence[tuple[Axes, npt.NDArray[np.generic]]]) -> list[int]:
    """How many values each attribute has, 0 where no table says; ValueError where they disagree."""
    sizes = [0] * attributes
    for axes, table in tables:
        if len(axes) not in (2, 3) or len(set(axes)) < len(axes) or table.ndim != len(axes):
            raise ValueError("a table of the finish is of two or three different attributes")
        for axis, size in zip(axes, table.shape, strict=True):
            if sizes[axis] not in (0, size):
                raise ValueError("tables of the finish disagree about the size of an attribute")
            sizes[axis] = size
    return sizes


@dataclass(frozen=True, kw_only=True)
class _Board:
    """The costs of all tables, each once for each axis; see `moves`."""

    up: moves.Costs
    back: moves.Costs
    copies: moves.Places
    own: tuple[moves.Places, moves.Places]
    touched: tuple[moves.Places, moves.Places]

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.up, self.back, self.copies, *self.own, *self.touched

    @classmethod
    def of(
        cls,
        codes: Codes,
        sizes: Sequence[int],
        targets: Sequence[tuple[Axes, Floats]],
        *,
        allowed: Sequence[tuple[Axes, Truth]],
        weights: Sequence[float] | None,
        softness: float,
    ) -> _Board:
        axes = [one for one, _ in (*targets, *allowed)]
        lines = [(a, last) for a in axes for last in range(len(a))]
        cells = [
            math.prod(sizes[b] for k, b in enumerate(a) if k != last) * _padded(sizes[a[last]]) for a, last in lines
        ]
        starts = np.cumsum([0, *cells])
        up, back = np.full(starts[-1], np.inf, dtype=np.float32), np.zeros(starts[-1], dtype=np.float32)
        copies = np.array(
            [_copy(a, last, sizes, int(start)) for (a, last), start in zip(lines, starts[:-1], strict=True)]
        )
        number = 0
        given = [1.0] * len(targets) if weights is None else weights
        parts = [
            *(_costs(codes, a, t, weight=w, softness=softness) for (a, t), w in zip(targets, given, strict=True)),
            *((np.where(t, 0.0, np.inf), np.zeros(t.shape)) for _, t in allowed),
        ]
        for a, (cost, undone) in zip(axes, parts, strict=True):
            for last in range(len(a)):
                at = slice(int(starts[number]), int(starts[number + 1]))
                size = sizes[a[last]]
                up[at].reshape(-1, _padded(size))[:, :size] = np.moveaxis(cost, last, -1).reshape(-1, size)
                back[at].reshape(-1, _padded(size))[:, :size] = np.moveaxis(undone, last, -1).reshape(-1, size)
                number += 1
        owners = [[m for m, (a, last) in enumerate(lines) if a[last] == one] for one in range(len(codes))]
        touching = [[m for m, (a, _) in enumerate(lines) if one in a] for one in range(len(codes))]
        return cls(up=up, back=back, copies=copies, own=_lists(owners), touched=_lists(touching))


def _padded(size: int) -> int:
    return -(-size // _LANES) * _LANES


def _copy(axes: Axes, last: int, sizes: Sequence[int], start: int) -> list[int]:
    others = [axis for k, axis in enumerate(axes) if k != last]
    line = _padded(sizes[axes[last]])
    if len(others) == 1:
        return [axes[last], others[0], others[0], line, 0, start]
    return [axes[last], *others, sizes[others[1]] * line, line, start]


def _costs(codes: Codes, axes: Axes, target: Floats, *, weight: float, softness: float) -> tuple[Floats, Floats]:
    """What one record more costs in each cell, and twice the weight of the cell."""
    rows, total = codes.shape[1], float(target.sum())
    wished = target * (rows / total) if total > 0 else target
    flat = np.ravel_multi_index([codes[axis] for axis in axes], target.shape)
    counts = np.bincount(flat, minlength=target.size).reshape(target.shape)
    steep = weight / (wished + softness)
    return (2 * (counts - wished) + 1) * steep, 2 * steep


def _lists(given: Sequence[Sequence[int]]) -> tuple[moves.Places, moves.Places]:
    """Lists one after another, and where each begins."""
    first = np.cumsum([0, *(len(one) for one in given)], dtype=np.int64)
    return first, np.array([number for one in given for number in one], dtype=np.int64)
