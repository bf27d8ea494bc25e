"""Cells of a column as they are written, each with the number of rows that it stands for: what a steward's
own description is held against. All different cells of a column with few of them, evenly spread ones of a
column with many.

Like a preview this is real data, for the steward alone, and no answer of a Session is made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypedDict

import pyarrow as pa

MAX_CELLS = 1_000
"""Different cells of a column that are handed over."""
MAX_CELLS_OF_TABLE = 100_000
"""The same for all columns of a table."""
MIN_CELLS = 40
TAKEN = 256
"""Cells of each further block, once there are many."""
MAX_CELL_LENGTH = 300  # characters


class CellsDocument(TypedDict):
    """Different cells, and how many rows each stands for; both of one length."""

    texts: list[str]
    counts: list[int]


class CellSample:
    """Takes in the blocks of a column of many different cells."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        """counts: the different cells so far, each with its rows."""
        self._counts: Counter[str] = Counter(counts)

    def add(self, texts: pa.Array) -> None:
        """The next block: some of its cells, which stand for all of its rows."""
        step = max(1, len(texts) // TAKEN)
        for start in range(0, len(texts), step):
            self._counts[texts[start].as_py() or ""] += min(step, len(texts) - start)

    def cells(self, most: int) -> CellsDocument:
        """See `thinned`."""
        return thinned(self._counts, most)


def thinned(counts: Mapping[str, int], most: int) -> CellsDocument:
    """So many cells at most, in the order of their texts: the frequent ones with their own rows, and of the
    others one in so many with the rows of its neighbours, so that shares stay about what they are."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    selected = dict(ranked)
    if len(ranked) > most:
        selected = dict(ranked[: most // 2])
        rest = sorted(ranked[most // 2 :])
        step = -(-len(rest) // (most - most // 2))
        for start in range(0, len(rest), step):
            group = rest[start : start + step]
            selected[group[len(group) // 2][0]] = sum(rows for _, rows in group)
    listed = sorted((text[:MAX_CELL_LENGTH], rows) for text, rows in selected.items())
    return {"texts": [text for text, _ in listed], "counts": [rows for _, rows in listed]}


def cells_of_each(columns: int) -> int:
    """How many cells each of so many columns hands over."""
    return min(MAX_CELLS, max(MIN_CELLS, MAX_CELLS_OF_TABLE // max(columns, 1)))
