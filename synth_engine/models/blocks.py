"""The blocks of rows in which a table is drawn: how large they are, their seeds, and the refined rows so
far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from synth_engine.inference import record_refinement
from synth_engine.kinds.reading import Codes as Column
from synth_engine.kinds.reading import code_dtype
from synth_engine.models.weights import generator
from synth_engine.threads import Pool

Codes = dict[str, Column]

# A change of any of these gives other rows for the same seed.
FIRST = 1 << 13
"""Rows of the first block: enough for refinement, and drawn in well under a second."""
LARGEST = 1 << 16
"""Rows of a block from the fourth on."""
MANY = 1_000_000
"""Rows from which on tables alone are drawn by alias tables, and only `FEW` rows are refined."""
FEW = (1 << 15) + FIRST
"""Rows that are refined of a table of `MANY` or more, of which the others are copies."""
MOST_LOOKUPS = 135_000_000
"""Number of table look-ups in one pass over the rows that are refined of smaller tables: about ten
seconds."""
_THREADS = 2


def in_threads(draw: Callable[[int], Codes], starts: Sequence[int]) -> Iterator[Codes]:
    """The blocks that begin at these rows, in order; a few are drawn at a time, each by itself."""
    with Pool(_THREADS) as pool:
        for first in range(0, len(starts), 2 * _THREADS):
            yield from pool.map(draw, starts[first : first + 2 * _THREADS])


def sizes(rows: int) -> list[int]:
    """Rows of each block: every one has twice as many as the one before, up to the largest. A last one that
    would be small is drawn with the one before it, because few rows cannot make up for what a table lacks."""
    planned: list[int] = []
    size, left = FIRST, rows
    while left > size + size // 2:
        planned.append(size)
        left -= size
        size = min(2 * size, LARGEST)
    return [*planned, left]


def copied_from(columns: int) -> int:
    """Rows from which on a table of so many columns has copies of rows, where a model refines its rows."""
    refined = record_refinement.rows_refined(MANY, columns, lookups=MOST_LOOKUPS)
    return min(MANY, refined + 1)


def early(rows: int) -> list[int]:
    """Rows of the blocks that are refined: a first one that is drawn early, and all others."""
    return [rows] if rows <= FIRST + FIRST // 2 else [FIRST, rows - FIRST]


def rows_refined(rows: int, columns: int) -> int:
    """How many rows are refined one by one: as many as is affordable, because copies of few rows cannot have
    the rare cells of a large table."""
    if rows >= MANY:
        return record_refinement.rows_refined(FEW, columns)
    return record_refinement.rows_refined(rows, columns, lookups=MOST_LOOKUPS)


def together(parts: Sequence[Codes]) -> Codes:
    """The codes of several blocks in one piece. parts: at least one."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def split(codes: Codes, rows: int) -> Iterator[Codes]:
    """Codes of all rows in blocks of these sizes."""
    start = 0
    for size in sizes(rows):
        yield {name: column[start : start + size] for name, column in codes.items()}
        start += size


def seed_of(seed: str, number: int) -> str:
    """The seed of one block of a table."""
    text = f"synth_engine/block/1\x00{number}\x00{seed}"
    return hashlib.sha256(text.encode()).hexdigest()


def turns(rows: int, *, base: int) -> tuple[int, int]:
    """How many whole turns of copies follow `base` refined rows, and how many rows after those: enough to
    make up for what whole turns do to a histogram, where there are so many."""
    whole, last = divmod(max(0, rows - base), max(base, 1))
    if whole and last < base // 2:
        whole, last = whole - 1, last + base
    return whole, last


class Refined:
    """The refined rows of the blocks so far, and copies of them once there are enough.

    sizes: codes of each column. rows: how many are refined one by one; the others are copies of these
    (`record_refinement.rows_refined`).
    """

    def __init__(self, sizes: Mapping[str, int], *, rows: int) -> None:
        self.codes: Codes = {
            name: np.empty(0, dtype=code_dtype(size)) for name, size in sizes.items()
        }
        self._wanted, self._have, self._copied = max(rows, 1), 0, 0

    @property
    def rows(self) -> int:
        """How many were refined so far."""
        return self._have

    @property
    def lacks_rows(self) -> bool:
        return self._have < self._wanted

    def add(self, codes: Codes) -> None:
        """Keep the rows of a block."""
        self.codes = {
            name: np.concatenate([column, codes[name]]) for name, column in self.codes.items()
        }
        self._have = len(next(iter(self.codes.values())))

    def copies(self, rows: int, *, seed: str) -> Codes:
        """The next so many copies. Every refined row is copied once, in random order, before any of them is
        copied again."""
        parts = []
        while rows > 0:
            turn, place = divmod(self._copied, self._have)
            order = generator(seed, purpose=("copies", str(turn))).permutation(self._have)
            parts.append(order[place : place + rows])
            self._copied += parts[-1].size
            rows -= parts[-1].size
        chosen = np.concatenate(parts)
        return {name: column[chosen] for name, column in self.codes.items()}


def copies(base: Refined, rows: int, *, seed: str) -> Iterator[Codes]:
    """The next so many copies, in blocks."""
    for start in range(0, rows, LARGEST):
        yield base.copies(min(LARGEST, rows - start), seed=seed)
