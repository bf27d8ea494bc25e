"""Refinement of rows until their counts are close to target counts: the last step from tables to rows.

It follows the gradual update of PrivSyn (Zhang et al. 2021), but starts from rows that a model has drawn and
changes one record at a time. A change is made if and only if it lowers the sum, over all tables, of (count -
target)² / (target + softness). In the first phase records take over values of other records, in one attribute
or in several that depend on each other. In the second phase each attribute of a record takes its best value
by all tables: this reaches rare cells of attributes that nearly determine each other, where the value of
another record seldom fits. A third phase follows for tables of three attributes (`refine_triples`), and a
last one for single columns (`column_counts`).

All of it is post-processing. The same rows, targets and generator give the same rows on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synth_engine.inference import (
    column_counts,
    cost_tables,
    refine_triples,
    swap_kernels,
)
from synth_engine.inference.cost_tables import SOFTNESS, AttributeFacts, Axes, Codes, Floats

EXCHANGES_PER_CELL = 0.5
"""Number of exchanges with another record that are tried for each cell of the records. More of them leave
tables no nearer once columns are rounded."""
FULL_EFFORT_ATTRIBUTES = 16
"""Number of attributes above which fewer exchanges are tried: each of them touches more tables there, and
best values gain more."""
MAX_TABLE_LOOKUPS = 90_000_000
"""Number of table look-ups in one pass up to which all records are refined: a few seconds."""
MIN_ROWS_REFINED = 20_000
"""Number of records that are refined however many attributes there are."""
NOTHING_KNOWN = AttributeFacts()


def rows_refined(rows: int, attributes: int, *, lookups: int | None = None) -> int:
    """Return how many records are refined one by one. The others become copies of these, which in the same
    time comes much closer to the targets than a few changes to every record. lookups: the most table look-ups
    in one pass over them, absent `MAX_TABLE_LOOKUPS`."""
    most = MAX_TABLE_LOOKUPS if lookups is None else lookups
    return min(rows, max(MIN_ROWS_REFINED, most // max(1, attributes) ** 2))


def refine(
    codes: Codes,
    *,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    fixed: int = 0,
    facts: AttributeFacts = NOTHING_KNOWN,
) -> Codes:
    """Return the rows after the first `fixed` ones, changed so that the tables of all rows together are
    closer to the targets, shape (attributes, rows - fixed), uint16, and that all rows together have the
    histograms of the targets in the end (`column_counts`). The fixed rows, which were given to somebody
    already, count and stay. `codes`, shape (attributes, rows), is not changed.

    targets: (axes, target counts) for any sets of two attributes or more, by their places in `codes`. The
    counts are not negative, have one axis for each of `axes`, in that order, as long as the attribute has
    values, and are scaled so that they add up to the number of rows. Attributes in no target keep their
    codes. facts: of the attributes. If it says which are ordered, tables of three attributes are refined too,
    as far as targets of two say what these are (`refine_triples`).
    """
    if not targets or codes.shape[1] - fixed < 2:
        return codes[:, fixed:].copy()
    refined = _towards_tables(codes, fixed=fixed, targets=targets, rng=rng, facts=facts)
    # Columns come last: every step before trades them for tables of two and three.
    return column_counts.match(
        np.concatenate([codes[:, :fixed], refined], axis=1),
        fixed=fixed,
        targets=targets,
        rng=rng,
        facts=facts,
    )


def _towards_tables(
    codes: Codes,
    *,
    fixed: int,
    targets: Sequence[tuple[Axes, Floats]],
    rng: np.random.Generator,
    facts: AttributeFacts,
) -> Codes:
    """Return the rows after the fixed ones with tables of two and three attributes that are near to the
    targets."""
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
    width = len({axis for axes, _ in targets for axis in axes})
    _refine_in_place(records, tables, sets, rng=rng, width=width)
    del tables
    if facts.ordered is None:
        return np.ascontiguousarray(records.T)
    return refine_triples.refine(
        np.concatenate([codes[:, :fixed], records.T], axis=1),
        fixed=fixed,
        targets=targets,
        rng=rng,
        facts=replace(facts, strengths=strengths),
    )


def _refine_in_place(
    records: Codes,
    tables: cost_tables.CostTables,
    sets: Sequence[Axes],
    *,
    rng: np.random.Generator,
    width: int,
) -> None:
    """Change the records, shape (rows, attributes), in place. width: how many attributes have targets."""
    # Only attributes that may change alone take single values.
    free = np.array([members[0] for members in sets if len(members) == 1], dtype=np.int64)
    state = rng.integers(0, 2**64, size=1, dtype=np.uint64)
    # The effort falls with the square of the width, because each exchange then touches more
    # tables.
    effort = min(1.0, FULL_EFFORT_ATTRIBUTES / width) ** 2
    proposals = int(EXCHANGES_PER_CELL * len(records) * width * effort)
    together = swap_kernels.Sets(
        *cost_tables.flatten_lists(sets), *cost_tables.tables_of(sets, tables)
    )
    swap_kernels.exchange_sets(records, proposals, state, tables.arrays, together)
    if free.size:
        order = rng.permutation(len(records))
        swap_kernels.take_best_by_column(records, order, free, *tables.views())
