"""Exact counts of encoded records, for comparisons that are not private: never to be released."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_engine.constraints import counting
from synth_engine.domain import Weak
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Codes, Hierarchy
from synth_engine.indexing import occupied as cells_that_occur
from synth_engine.indexing import places
from synth_engine.indexing.commutes import Commute
from synth_engine.indexing.contingency import histogram
from synth_engine.room import counts
from synth_engine.room.rows import Rows


def occupied_cells(
    rows: Rows, clique: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells of a table that hold records, by their row-major number, and how many. Exact, and never to be
    released."""
    return cells_that_occur.occupied_cells(rows.codes, clique, rows.domain.shape(clique))


def distances(rows: Rows, pair: tuple[str, str]) -> NDArray[np.int64]:
    """Counts records by the distance of their two places, in public bins; last, those that lack
    a place. Exact like `contingency`, and never to be released."""
    return places.histogram(rows.codes, domain=rows.domain, pair=pair)


def commutes(rows: Rows, commute: Commute) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts records by origin and destination at public points: the cells that occur, and how
    many have each. Exact, and never to be released."""
    return commute.tally(rows.codes)


def occupied(rows: Rows, hierarchy: Hierarchy) -> tuple[Codes, NDArray[np.int64]]:
    """The smallest cells of a hierarchy that hold records, increasing, and how many. Exact, and never to be
    released."""
    codes, held = counts.by_leaf(rows, hierarchy)
    return (codes, held) if held is not None else np.unique(codes, return_counts=True)


def unread(rows: Rows, name: str) -> tuple[int, int]:
    """Counts the records of a weak attribute that have a value outside its public set, encoded
    as "other", and those that have none. Exact, and never to be released."""
    values, times = rows.ranked(name)
    attribute = rows.domain.attribute(name)
    if not isinstance(attribute, Weak):
        raise PrivacyError("only the values of a weak attribute are discovered")
    held = histogram(values, len(times)).tolist()
    ends = (attribute.values.size, attribute.values.size + attribute.has_other)
    other, missing = (
        sum(n for rank, n in zip(times, held, strict=True) if rank == end) for end in ends
    )
    return other, missing


def count_violations(rows: Rows) -> tuple[int, ...]:
    """Counts the records that break each declared constraint. Exact like `contingency`, and
    never to be released."""
    return counting.count_violations(rows.codes, domain=rows.domain)
