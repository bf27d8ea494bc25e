"""Counts of records that break each constraint, from codes: two values of one bin count as in
order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.relations import relation

_BLOCK = 1 << 18  # records at a time


def count_violations(
    codes: Callable[[str], NDArray[Any]], *, domain: Domain
) -> tuple[int, ...]:
    """One number for each constraint that is enforced, in order, and last, how many records break any.
    `codes` gives a column. Of a real table the numbers are confidential."""
    known = {attribute.name: attribute for attribute in domain.attributes}
    relations = [relation(constraint, known) for constraint in domain.enforcement.enforced]
    if not relations:
        return ()
    columns = {
        name: codes(name)
        for name in dict.fromkeys(name for relation_ in relations for name in relation_.columns)
    }
    broken_counts = np.zeros(len(relations) + 1, dtype=np.int64)
    for start in range(0, len(next(iter(columns.values()))), _BLOCK):
        part = {name: column[start : start + _BLOCK] for name, column in columns.items()}
        # A record is counted once in the last number, however many constraints it breaks.
        broken = [~relation_.holds(part) for relation_ in relations]
        broken_counts += [
            int(np.count_nonzero(flags)) for flags in (*broken, np.logical_or.reduce(broken))
        ]
    return tuple(broken_counts.tolist())
