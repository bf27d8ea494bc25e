"""Records mended until their counts are near to wished ones: the last step from tables to rows.

After the gradual update of PrivSyn (Zhang et al. 2021), but from rows that a model gave, and one record at a time: a
change is made if and only if it lowers the sum, over all tables, of (count - target)² / (target + softness). First
records take what other records have, in one attribute or in several that belong together; these are values that go
together. Then each attribute of a record is offered the value that one of its tables lacks most: that finds the rare
cells of attributes which nearly determine one another, where what another record has seldom fits. A second phase may
follow, for tables of three attributes (`threes`).

All of it is post-processing; the same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synth_engine.inference import cost_tables, refine_triples, swap_kernels
from synth_engine.inference.cost_tables import Axes, Codes, Floats, Truth
from synth_engine.inference.swap_kernels import Places

SOFTNESS = 3.0
"""Added to each target where a difference is weighed, so that empty cells do not count for everything."""
TAKEN = 2
"""Changes tried for each cell of the records by taking what another record has."""
NARROW = 16
"""Of tables with more attributes fewer such changes are tried: each touches more tables, and offers do more there."""
PASSES = 8
"""How often at most every cell is then offered what is wanted most."""
ENOUGH = 0.004
"""A pass that gains less than this part of all that was gained is the last."""
WORK = 90_000_000
"""Tables looked at in one pass, up to which all records are finished: a few seconds."""
FEWEST = 20_000
"""Records that are finished however many attributes there are."""


def part(rows: int, attributes: int) -> int:
    """How many of so many records are finished one by one. The others are copies of these: that comes much nearer to the
    targets in the same time than a few changes to each of all."""
    return min(rows, max(FEWEST, WORK // max(1, attributes) ** 2))


def finish(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    proposals: int | None = None,
    allowed: Sequence[tuple[Axes, Truth]] = (),
    tied: Sequence[Axes] = (),
    weights: Sequence[float] | None = None,
    softness: float = SOFTNESS,
    ordered: Sequence[bool] | None = None,
) -> Codes:
    """Rows whose tables are nearer to the targets; shape (attributes, rows), uint16, as `codes`, which stay as they are.

    targets: (axes, wished counts) for any sets of two or three attributes, by their places in `codes`. The counts are
    not negative, have one axis for each of `axes`, in that order, as long as the attribute has values, and are scaled
    so that they add up to the number of rows. Attributes in no target keep their codes.
    allowed: for sets of two or three attributes, which cells may be entered; a row that is in none that may not stays so.
    tied: sets of attributes, no two with one in common, that a row takes from another row all together or not at all.
    weights: how much each target counts; absent: all alike. proposals: how many changes are tried in all rows; absent: as
    many as it takes, in `part` of the rows, the first ones, of which the others become copies.
    ordered: of each attribute, whether neighbouring codes mean neighbouring values. If given, tables of three attributes
    are mended too, as far as targets of two say what these are (`threes`).
    """
    rows = codes.shape[1]
    if not targets or rows < 2:
        return codes.copy()
    width = len({axis for axes, _ in targets for axis in axes})
    finished = rows if proposals is not None else part(rows, width)
    begun = codes[:, :finished]
    given = [1.0] * len(targets) if weights is None else weights
    found = cost_tables.laid_out(
        begun, targets, allowed=allowed, weights=given, softness=softness
    )
    strengths = cost_tables.ties(targets)
    sets = cost_tables.changed_together(targets, strengths, tied=tied)
    records = np.ascontiguousarray(begun.T)
    _mend(records, found, sets, rng=rng, proposals=proposals, width=width)
    del found
    mended = np.ascontiguousarray(records.T)
    if ordered is not None:
        mended = refine_triples.mended(
            mended,
            targets=targets,
            strengths=strengths,
            ordered=ordered,
            rng=rng,
            weights=given,
            softness=softness,
            allowed=allowed,
            tied=tied,
        )
    if finished < rows:
        mended = mended[
            :,
            np.concatenate([np.arange(finished), _copied(finished, rows - finished, rng=rng)]),
        ]
    return mended


def _mend(
    records: Codes,
    found: cost_tables.Board,
    sets: Sequence[Axes],
    *,
    rng: np.random.Generator,
    proposals: int | None,
    width: int,
) -> None:
    """Changes the records, shape (rows, attributes), where they stand."""
    rows = len(records)
    free = np.array([one[0] for one in sets if len(one) == 1], dtype=np.int64)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    taken = int(TAKEN * rows * width * min(1.0, NARROW / width) ** 2)
    left = PASSES * rows
    if proposals is not None:
        taken = min(taken, proposals // 2)
        left = (proposals - taken) // max(1, free.size)
    together: tuple[Any, ...] = (
        *found.arrays,
        *cost_tables.lists(sets),
        *cost_tables.tables_of(sets, found),
    )
    offers: tuple[Any, ...] = (*found.arrays, *found.own, found.chances)
    gained = swap_kernels.taken_together(records, taken, state, *together)
    while left and free.size:
        order = rng.permutation(rows)[:left]
        left -= order.size
        more = swap_kernels.most_wanted(records, order, free, found.sizes, state, *offers)
        gained += more
        if more <= ENOUGH * gained:
            break


def _copied(finished: int, lacking: int, *, rng: np.random.Generator) -> Places:
    """Which records are copied, in random order: each as often as any other, or once more."""
    whole, rest = divmod(lacking, finished)
    chosen = [*[np.arange(finished)] * whole, rng.permutation(finished)[:rest]]
    copied: Places = rng.permutation(np.concatenate(chosen))
    return copied
