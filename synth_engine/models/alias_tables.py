"""Drawing many rows fast: alias tables, and a generator that is a function of a counter.

A row's code takes one number of 64 bits, which depends on the seed, the table and the number of the row
alone. Blocks of rows may therefore be drawn in any order, by any number of threads, and are the same bytes.
Rows are independent of one another; the sampling error of a count is that of a binomial one.

Alias method: Walker (1977), tables as in Vose (1991). Generator: the output function of SplitMix64 (Steele,
Lea and Flood, 2014) of a key and the row's number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.jit import compiled
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.models import conditional
from synth_engine.models.network import Node, Table

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Of each group of a table's other columns, the distribution of its last one. thresholds, aliases: shape
    (groups · size,)."""

    parents: tuple[str, ...]
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    size: int
    thresholds: NDArray[np.uint32]
    aliases: NDArray[np.uint32]
    key: int

    @classmethod
    def of_node(cls, node: Node, table: Table, *, seed: str) -> AliasTable:
        """Of one column of a network, given its parents."""
        weights = conditional.with_sums(table.weights)
        return cls._of(weights, node.parents, (node.attribute,), weights.shape, seed=seed)

    @classmethod
    def of_cells(cls, table: Table, *, seed: str) -> AliasTable:
        """Of all columns of a table together."""
        weights = table.weights.reshape(1, -1)
        return cls._of(weights, (), table.clique, table.weights.shape, seed=seed)

    @classmethod
    def _of(
        cls,
        weights: NDArray[np.int64],
        parents: tuple[str, ...],
        columns: tuple[str, ...],
        shape: tuple[int, ...],
        *,
        seed: str,
    ) -> AliasTable:
        size = weights.shape[-1]
        rows = np.ascontiguousarray(weights.reshape(-1, size))
        thresholds = np.zeros(rows.size, dtype=np.uint32)
        aliases = np.zeros(rows.size, dtype=np.uint32)
        _build(rows, thresholds, aliases)
        key = _key(seed, (*parents, "|", *columns))
        return cls(parents, columns, shape, size, thresholds, aliases, key)

    def draw(self, codes: dict[str, Codes], start: int, stop: int) -> None:
        """Add the codes of its columns for these rows to those of its parents."""
        groups = np.zeros(stop - start, dtype=code_dtype(1))
        if len(self.parents) == 1:
            groups = codes[self.parents[0]]
        elif self.parents:
            shape = self.shape[: len(self.parents)]
            groups = np.ravel_multi_index([codes[name] for name in self.parents], shape)
        if len(self.columns) == 1:
            column = np.empty(stop - start, dtype=code_dtype(self.size))
            self._fill(groups, start, column)
            codes[self.columns[0]] = column
            return
        cells = np.empty(stop - start, dtype=np.uint32)
        self._fill(groups, start, cells)
        axes = np.unravel_index(cells, self.shape)
        for name, size, axis in zip(self.columns, self.shape, axes, strict=True):
            codes[name] = axis.astype(code_dtype(size))

    def _fill(self, groups: NDArray[Any], start: int, out: NDArray[Any]) -> None:
        first = np.uint64((self.key + start * _GOLDEN) % 2**64)
        _draw(groups, first, np.uint64(self.size), self.thresholds, self.aliases, out)


def tables(network: Sequence[Node], weights: Sequence[Table], *, seed: str) -> list[AliasTable]:
    """The alias tables of a network, or of independent tables."""
    if not network:
        return [AliasTable.of_cells(table, seed=seed) for table in weights]
    return [
        AliasTable.of_node(node, table, seed=seed)
        for node, table in zip(network, weights, strict=True)
    ]


def _key(seed: str, purpose: Sequence[str]) -> int:
    text = "\x00".join(["synth_engine/alias/1", *purpose, seed])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


@compiled(nogil=True)
def _build(
    weights: NDArray[np.int64], thresholds: NDArray[np.uint32], aliases: NDArray[np.uint32]
) -> None:
    """Fill the tables of every group. Whole numbers, and one division at the end: the same tables on every
    machine."""
    groups, size = weights.shape
    small = np.empty(size, dtype=np.int64)
    large = np.empty(size, dtype=np.int64)
    left = np.empty(size, dtype=np.int64)
    for group in range(groups):
        whole = weights[group].sum()
        smaller = larger = 0
        for code in range(size):
            left[code] = weights[group, code] * size
            thresholds[group * size + code] = np.uint32(0xFFFFFFFF)
            aliases[group * size + code] = code
            if left[code] < whole:
                small[smaller] = code
                smaller += 1
            else:
                large[larger] = code
                larger += 1
        while smaller > 0 and larger > 0:
            smaller -= 1
            poor, rich = small[smaller], large[larger - 1]
            thresholds[group * size + poor] = np.uint32(left[poor] / whole * 4294967296.0)
            aliases[group * size + poor] = rich
            left[rich] -= whole - left[poor]
            if left[rich] < whole:
                larger -= 1
                small[smaller] = rich
                smaller += 1


@compiled(nogil=True)
def _draw(
    groups: NDArray[Any],
    first: np.uint64,
    size: np.uint64,
    thresholds: NDArray[np.uint32],
    aliases: NDArray[np.uint32],
    out: NDArray[Any],
) -> None:
    """Draw one code for each row. first: the state of the first row; size: codes of a group."""
    state = first
    for row in range(groups.size):
        number = state
        number = (number ^ (number >> np.uint64(30))) * np.uint64(_FIRST)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(_SECOND)
        number = number ^ (number >> np.uint64(31))
        state += np.uint64(_GOLDEN)
        code = ((number >> np.uint64(32)) * size) >> np.uint64(32)
        place = np.uint64(groups[row]) * size + code
        low = number & np.uint64(0xFFFFFFFF)
        out[row] = code if low < thresholds[place] else aliases[place]
