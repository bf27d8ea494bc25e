"""What all hierarchies share, and codes that are paths of symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from synth_engine.errors import DomainError

Codes = npt.NDArray[Any]
"""Of records, in an order in which those of every node stand together: uint64, or bytes of fixed width."""
Prefixes = npt.NDArray[Any]
"""Of nodes of one depth: the smallest code that may lie below each. The same type as codes."""
MAX_SYMBOLS = 255


@dataclass(frozen=True, kw_only=True)
class Hierarchy(ABC):
    """A public tree over the values of one or several columns; depth 0 is the root, which holds every record."""

    columns: tuple[str, ...]

    @property
    @abstractmethod
    def depth(self) -> int:
        """The depth of the deepest nodes."""

    @abstractmethod
    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        """The symbols of the children that a node of depth `level` has, increasing; for 0 <= level < depth."""

    @abstractmethod
    def root(self) -> Prefixes:
        """The one node of depth 0."""

    @abstractmethod
    def below(self, prefixes: Prefixes, level: int) -> Prefixes:
        """The children of nodes of depth `level`: shape (nodes, symbols), in the order of the symbols."""

    def opens(self, level: int) -> npt.NDArray[np.bool_]:
        """Of the children of a node of depth `level`, by symbol: whether they have children themselves."""
        return np.full(self.symbols(level).size, level + 1 < self.depth)

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002 - for those that have gaps
        """Whether public nodes of depth `level` are there at all, below a node that is."""
        return np.ones(prefixes.shape, dtype=np.bool_)

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002 - for those that know
        """Whether public nodes of depth `level` have anything to tell apart below them."""
        return np.ones(prefixes.shape, dtype=np.bool_)

    def branching(self, depth: int | None = None) -> tuple[int, ...]:
        """How many children a node has, by depth from 0 on."""
        return tuple(
            self.symbols(level).size for level in range(self.depth if depth is None else depth)
        )

    def cells(self, depth: int | None = None) -> int:
        """At most so many nodes has that depth; may be beyond all machine words."""
        return prod(self.branching(depth))

    def prefix(self, codes: Codes, level: int) -> Prefixes:
        """The node of depth `level` above each code."""
        raise NotImplementedError

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Kind and public parameters."""

    def refuse(self, rule: str, *, repair: str, column: str | None = None) -> NoReturn:
        raise DomainError(rule, repair=repair, column=column or ", ".join(self.columns))


@dataclass(frozen=True, kw_only=True)
class PathHierarchy(Hierarchy):
    """Codes that are sequences of symbols 1 … 255, a byte each; where one ends, the rest is 0."""

    @property
    def width(self) -> int:
        return self.depth

    def root(self) -> Prefixes:
        return np.zeros(1, dtype=f"S{self.width}")

    def below(self, prefixes: Prefixes, level: int) -> Prefixes:
        symbols = self.symbols(level)
        found = np.repeat(_bytes(prefixes, self.width)[:, None, :], symbols.size, axis=1)
        found[:, :, level] = symbols
        return _texts(found, self.width)

    def prefix(self, codes: Codes, level: int) -> Prefixes:
        found = _bytes(np.asarray(codes), self.width).copy()
        found[..., level:] = 0
        return _texts(found, self.width)

    def code(self, path: npt.NDArray[np.uint8]) -> Codes:
        """Codes of sequences of symbols, shape (…, width)."""
        return _texts(np.ascontiguousarray(path, dtype=np.uint8), self.width)

    def path(self, codes: Codes) -> npt.NDArray[np.uint8]:
        """The symbols of codes, shape (…, width), 0 where one has ended."""
        return _bytes(np.asarray(codes), self.width)


def _bytes(codes: Codes, width: int) -> npt.NDArray[np.uint8]:
    whole = np.ascontiguousarray(codes, dtype=f"S{width}")
    return whole.view(np.uint8).reshape(*whole.shape, width)


def _texts(symbols: npt.NDArray[np.uint8], width: int) -> Codes:
    return np.ascontiguousarray(symbols).view(f"S{width}").reshape(symbols.shape[:-1])
