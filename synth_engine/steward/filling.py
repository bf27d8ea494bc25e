"""Counts of real records by groups, filled to a policy inside the room: exact where a group meets it, and
never private.

Nothing leaves but the filled count of each group. How many records were added to a group, and to which ones,
is forgotten here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from synth_engine import readers
from synth_engine.domain import Date
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Kind
from synth_engine.mixing.policy import FilledCounts, FillPlan
from synth_engine.readers import Progress
from synth_engine.sources import opening

Counts = NDArray[np.int64]
_BYTES = 16
"""Of a random number, whose remainder by fewer than 2⁶⁴ is uniform but for 2⁻⁶⁴."""


def require_columns(
    path: Path | str,
    *,
    plan: FillPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Raises TableError for a table without a column that the plan counts. Reads the header and no row."""
    header = readers.columns(path, kind=kind, dialect=dialect, mode="total")
    for name in (*plan.counted.names, *([plan.contributor] if plan.contributor else ())):
        if name not in header:
            raise TableError(
                "the table has no such column",
                repair="check header and description",
                column=name,
            )


def fill(
    path: Path | str,
    *,
    plan: FillPlan,
    kind: Kind | None = None,
    dialect: Dialect | None = None,
    progress: Progress = readers.silent,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> FilledCounts:
    """Counts all records by groups and adds records to the groups that do not meet the policy. A filled group
    gets a random number of further ones, up to as many as it needed, so that its count does not tell what was
    lacking. `random_bytes` is replaced by tests only. Errors: TableError."""
    contributor = plan.contributor
    read, texts = opening.open_with_keys(
        path,
        plan.counted,
        keys=[] if contributor is None else [contributor],
        kind=kind,
        dialect=dialect,
        progress=progress,
    )
    groups = np.ravel_multi_index(
        tuple(read.codes(name).astype(np.intp) for name in plan.by), plan.shape
    )
    records = np.bincount(groups, minlength=plan.groups)
    largest = np.minimum(records, 1)
    if contributor is not None:
        units = opening.units_of(texts[contributor], unit=plan.domain.unit)
        largest = _largest(groups, units, size=plan.groups)
    days = np.minimum(records, 1)
    if plan.day is not None:
        days = _different(groups, read.codes(plan.day), plan=plan)
    counts = [
        _filled(
            plan, records=int(n), largest=int(most), days=int(on), random_bytes=random_bytes
        )
        for n, most, on in zip(records, largest, days, strict=True)
    ]
    return FilledCounts(plan=plan, counts=np.array(counts, dtype=np.int64).reshape(plan.shape))


def _filled(
    plan: FillPlan,
    *,
    records: int,
    largest: int,
    days: int,
    random_bytes: Callable[[int], bytes],
) -> int:
    needed = plan.policy.needed(records=records, largest=largest, days=days)
    # Drawn for each group, so that the time of a draw does not tell which ones were filled.
    further = int.from_bytes(random_bytes(_BYTES), "big") % needed
    return records if needed <= records else needed + further


def _largest(groups: NDArray[np.intp], units: NDArray[np.int32], *, size: int) -> Counts:
    """Records of the largest contributor of each group."""
    most = np.zeros(size, dtype=np.int64)
    pairs, counts = np.unique(np.stack([groups, units]), axis=1, return_counts=True)
    np.maximum.at(most, pairs[0], counts)
    return most


def _different(
    groups: NDArray[np.intp], codes: NDArray[np.integer], *, plan: FillPlan
) -> Counts:
    """Different days on which each group has records; a missing day, or one out of its bounds, is none."""
    column = plan.domain.attribute(plan.day or "")
    declared = column.value_count if isinstance(column, Date) else 0
    known = codes < declared
    pairs = np.unique(np.stack([groups[known], codes[known].astype(np.intp)]), axis=1)
    return np.bincount(pairs[0], minlength=plan.groups)
