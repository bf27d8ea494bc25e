"""Refinement of rows until their counts are close to target counts: the last step from tables to rows.

It follows the gradual update of PrivSyn (Zhang et al. 2021), but starts from rows that a model has drawn and changes one
record at a time. A change is made if and only if it lowers the sum, over all tables, of (count - target)² / (target +
softness). In the first phase records take over values of other records, in one attribute or in several that depend on each
other. In the second phase each attribute of a record is offered the value that one of its tables lacks most: this reaches
rare cells of attributes that nearly determine each other, where the value of another record seldom fits. A third phase may
follow for tables of three attributes (`refine_triples`), and a last one for single columns (`column_counts`).

All of it is post-processing. The same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from synth_engine import watching
from synth_engine.inference import (
    column_counts,
    cost_tables,
    refine_triples,
    swap_kernels,
)
from synth_engine.inference.cost_tables import SOFTNESS, AttributeFacts, Axes, Codes, Floats
from synth_engine.inference.swap_kernels import Places

EXCHANGES_PER_CELL = 2
"""Number of exchanges with another record that are tried for each cell of the records."""
FULL_EFFORT_ATTRIBUTES = 16
"""Number of attributes above which fewer exchanges are tried: each of them touches more tables there, and offers gain more."""
MAX_PASSES = 8
"""Largest number of passes in which every cell is offered the value that is lacking most."""
MIN_GAIN = 0.004
"""A pass that gains less than this part of all that was gained is the last."""
MAX_TABLE_LOOKUPS = 90_000_000
"""Number of table look-ups in one pass up to which all records are refined: a few seconds."""
MIN_ROWS_REFINED = 20_000
"""Number of records that are refined however many attributes there are."""
MIN_GAIN_OF_BEST = 0.1
"""The same where each cell takes its best value: two passes gain more than eight of those in which one value is offered."""
EXCHANGES_BEFORE_ROUNDING, PASSES_BEFORE_ROUNDING = 0.5, 1
"""Exchanges for each cell and passes of best values of the samplers that round columns: more of them leave tables no nearer."""
NOTHING_KNOWN = AttributeFacts()

Offers = Literal[
    "lacking by rows", "lacking by columns", "best by columns", "best, columns to rounding"
]
"""Which values records are offered in the second phase, in the order of the list: the value that one table lacks most, to one record after the other
(samplers 1 to 3) or to some thousands of records in one attribute after the other (sampler 4); the best value by all tables (sampler 5); the same, and
records change afterwards until single columns agree with their histograms to rounding (samplers 6 and 7)."""
PRESENT_OFFERS: Offers = "best, columns to rounding"
"""Those of the sampler that draws tables now, for forecasts of time. Each sampler names its own, because it draws the same rows for ever."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How records are changed. width: how many attributes have targets; proposals: how many changes are tried, None for as many as
    it takes; offers: see `refine_after`."""

    width: int
    proposals: int | None = None
    offers: Offers = "lacking by rows"

    @property
    def exchanges_per_cell(self) -> float:
        return EXCHANGES_BEFORE_ROUNDING if self.rounds_columns else EXCHANGES_PER_CELL

    @property
    def passes_of_best(self) -> int:
        """In how many passes every cell takes its best value, at most."""
        return PASSES_BEFORE_ROUNDING if self.rounds_columns else MAX_PASSES

    @property
    def of_triples(self) -> refine_triples.TripleEffort:
        return refine_triples.THOROUGH if self.rounds_columns else refine_triples.USUAL

    @property
    def rounds_columns(self) -> bool:
        """Whether single columns get their rounded counts in the end."""
        return self.offers == "best, columns to rounding"


def rows_refined(rows: int, attributes: int, *, lookups: int | None = None) -> int:
    """Return how many records are refined one by one. The others become copies of these, which in the same time comes much
    closer to the targets than a few changes to every record. lookups: the most table look-ups in one pass over them, absent `MAX_TABLE_LOOKUPS`."""
    most = MAX_TABLE_LOOKUPS if lookups is None else lookups
    return min(rows, max(MIN_ROWS_REFINED, most // max(1, attributes) ** 2))


def refine(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    proposals: int | None = None,
    weights: Sequence[float] | None = None,
    facts: AttributeFacts = NOTHING_KNOWN,
) -> Codes:
    """Return rows whose tables are closer to the targets, shape (attributes, rows), uint16. `codes`, of the same shape, is not
    changed.

    targets: (axes, target counts) for any sets of two attributes or more, by their places in `codes`. The counts are
    not negative, have one axis for each of `axes`, in that order, as long as the attribute has values, and are scaled
    so that they add up to the number of rows. Attributes in no target keep their codes.
    weights: how much each target counts; absent: all alike. proposals: how many changes are tried in all rows; absent: as
    many as it takes, in `part` of the rows, the first ones, of which the others become copies.
    facts: of the attributes. If it says which are ordered, tables of three attributes are refined too, as far as targets
    of two say what these are (`refine_triples`).
    """
    rows = codes.shape[1]
    if not targets or rows < 2:
        return codes.copy()
    width = len({axis for axes, _ in targets for axis in axes})
    finished = rows if proposals is not None else rows_refined(rows, width)
    begun = codes[:, :finished]
    given = [1.0] * len(targets) if weights is None else weights
    tables = cost_tables.build(
        begun, targets, allowed=facts.allowed, weights=given, softness=SOFTNESS
    )
    strengths = cost_tables.dependence_strengths(targets)
    sets = cost_tables.attribute_sets(targets, strengths, tied=facts.tied)
    records = np.array(begun.T, order="C")
    with watching.part(0.0, 0.6):
        effort = Effort(width=width, proposals=proposals)
        _refine_in_place(records, tables, sets, rng=rng, effort=effort)
    del tables
    refined = np.ascontiguousarray(records.T)
    if facts.ordered is not None:
        # Triples come last: their targets are implied by the pairs, so the pairs have to be
        # right first.
        with watching.part(0.6, 1.0):
            refined = refine_triples.refine(
                refined,
                targets=targets,
                rng=rng,
                weights=given,
                facts=replace(facts, strengths=strengths),
            )
    if finished < rows:
        refined = refined[
            :,
            np.concatenate(
                [np.arange(finished), _copy_order(finished, rows - finished, rng=rng)]
            ),
        ]
    return refined


def refine_after(
    codes: Codes,
    *,
    fixed: int,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    facts: AttributeFacts = NOTHING_KNOWN,
    offers: Offers = "lacking by rows",
) -> Codes:
    """Return the rows after the first `fixed` ones, changed so that the tables of all rows together are closer to the
    targets, shape (attributes, rows - fixed). The fixed rows, which were given to somebody already, count and stay. Other
    arguments are those of `refine`; every row after the fixed ones is refined. offers: each gives other rows; the best by
    columns take a sixth of the time of those by rows where there are many attributes. With columns to rounding, all rows together have the
    histograms of the targets in the end (`column_counts`).
    """
    if not targets or codes.shape[1] - fixed < 2:
        return codes[:, fixed:].copy()
    effort = Effort(width=len({axis for axes, _ in targets for axis in axes}), offers=offers)
    refined = _refined_after(
        codes,
        fixed=fixed,
        targets=targets,
        rng=rng,
        facts=facts,
        effort=effort,
    )
    if not effort.rounds_columns:
        return refined
    # Columns come last: every step before trades them for tables of two and three.
    return column_counts.match(
        np.concatenate([codes[:, :fixed], refined], axis=1),
        fixed=fixed,
        targets=targets,
        rng=rng,
        facts=facts,
    )


def _refined_after(
    codes: Codes,
    *,
    fixed: int,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    facts: AttributeFacts,
    effort: Effort,
) -> Codes:
    """Return the rows after the fixed ones with tables of two and three attributes that are near to the targets."""
    tables = cost_tables.build(
        codes,
        targets,
        allowed=facts.allowed,
        weights=[1.0] * len(targets),
        softness=SOFTNESS,
    )
    strengths = cost_tables.dependence_strengths(targets)
    sets = cost_tables.attribute_sets(targets, strengths, tied=facts.tied)
    records = np.array(codes[:, fixed:].T, order="C")
    _refine_in_place(records, tables, sets, rng=rng, effort=effort)
    del tables
    if facts.ordered is None:
        return np.ascontiguousarray(records.T)
    return refine_triples.refine_after(
        np.concatenate([codes[:, :fixed], records.T], axis=1),
        fixed=fixed,
        targets=targets,
        rng=rng,
        facts=replace(facts, strengths=strengths),
        effort=effort.of_triples,
    )


def _refine_in_place(
    records: Codes,
    tables: cost_tables.CostTables,
    sets: Sequence[Axes],
    *,
    rng: np.random.Generator,
    effort: Effort,
) -> None:
    """Change the records, shape (rows, attributes), in place."""
    rows, width, proposals = len(records), effort.width, effort.proposals
    # Only attributes that may change alone are offered single values.
    free = np.array([members[0] for members in sets if len(members) == 1], dtype=np.int64)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    # The effort falls with the square of the width, because each exchange then touches more
    # tables.
    taken = int(
        effort.exchanges_per_cell * rows * width * min(1.0, FULL_EFFORT_ATTRIBUTES / width) ** 2
    )
    passes_left = MAX_PASSES * rows
    if proposals is not None:
        taken = min(taken, proposals // 2)
        passes_left = (proposals - taken) // max(1, free.size)
    arrays = tables.arrays
    together = swap_kernels.Sets(
        *cost_tables.flatten_lists(sets), *cost_tables.tables_of(sets, tables)
    )
    gained = swap_kernels.exchange_sets(records, taken, state, arrays, together)
    if effort.rounds_columns or effort.offers == "best by columns":
        _take_best(
            records,
            free,
            tables.views(),
            gained=gained,
            passes=effort.passes_of_best,
            rng=rng,
        )
        return
    take = (
        swap_kernels.take_most_lacking_by_column
        if effort.offers == "lacking by columns"
        else swap_kernels.take_most_lacking
    )
    offers = swap_kernels.Offers(*tables.values, tables.chances)
    all_passes = max(1, passes_left)
    while passes_left and free.size:
        watching.tell(1 - passes_left / all_passes)
        order = rng.permutation(rows)[:passes_left]
        passes_left -= order.size
        more = take(records, order, free, state, arrays, offers)
        gained += more
        if more <= MIN_GAIN * gained:
            break


def _take_best(
    records: Codes,
    free: Places,
    views: swap_kernels.Views,
    *,
    gained: float,
    passes: int,
    rng: np.random.Generator,
) -> None:
    """Give every cell of the records its best value, pass after pass. gained: by how much the cost fell before;
    passes: at most so many."""
    if not free.size:
        return
    for _ in watching.each(range(passes)):
        more = swap_kernels.take_best_by_column(
            records, rng.permutation(len(records)), free, *views
        )
        gained += more
        if more <= MIN_GAIN_OF_BEST * gained:
            break


def _copy_order(finished: int, missing: int, *, rng: np.random.Generator) -> Places:
    """Return which records are copied, in random order: all equally often, some of them once more."""
    whole, rest = divmod(missing, finished)
    # Every refined record is copied equally often, so that copies have the same tables as
    # the originals.
    chosen = [*[np.arange(finished)] * whole, rng.permutation(finished)[:rest]]
    copied: Places = rng.permutation(np.concatenate(chosen))
    return copied
