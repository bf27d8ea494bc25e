"""The interface of all hierarchies, and hierarchies whose codes are paths of symbols.

Every hierarchy is a product of components. One that is not a `ProductHierarchy` is the product of itself
alone, so that callers loop over `components` and never ask for a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject

Codes = npt.NDArray[Any]
"""Codes of records, in an order in which those of every node are adjacent: uint64, or bytes of
fixed width."""
Prefixes = npt.NDArray[Any]
"""Nodes of one depth: the smallest code that may lie below each. The same type as codes."""
MAX_SYMBOLS = 255
"""Children of a node of a `PathHierarchy`: a symbol is a byte, and 0 marks the end of a path."""
MAX_CELLS = 2**512
"""Nodes of the finest depth, which the receipt of a tree states: the largest number that a verifier reads."""
Kind = TypeVar("Kind", bound="Hierarchy")


@dataclass(frozen=True, kw_only=True)
class Hierarchy(ABC):
    """A public tree over the values of one or several columns; depth 0 is the root, which holds every
    record."""

    columns: tuple[str, ...]
    kind: ClassVar[str]
    """The name of the class in JSON."""
    is_uniform: ClassVar[bool] = False
    """Whether all nodes, ends of strings apart, have the same number of children."""
    is_complete: ClassVar[bool] = False
    """Whether every node exists and can be divided."""
    component_offset: ClassVar[int] = 0
    """Number that a product adds to a symbol, because 0 stands there for a path that has ended:
    1 where 0 is a symbol."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """The depth of the deepest nodes."""

    @abstractmethod
    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        """The symbols of the children that a node of depth `level` has, increasing; for 0 <= level <
        depth."""

    @abstractmethod
    def root(self) -> Prefixes:
        """The one node of depth 0."""

    @abstractmethod
    def below(self, prefixes: Prefixes, level: int) -> Prefixes:
        """The children of nodes of depth `level`: shape (nodes, symbols), in the order of the symbols."""

    # ---- components ----------------------------------------------------------------------

    # No property: a field of `ProductHierarchy` takes its place.
    @cached_property
    def components(self) -> tuple[Hierarchy, ...]:
        return (self,)

    def component(self, kind: type[Kind]) -> Kind | None:
        """The first component of that class, if there is one."""
        return next((part for part in self.components if isinstance(part, kind)), None)

    def component_levels(self, index: int) -> npt.NDArray[np.int64]:  # noqa: ARG002 - for products
        """The depth of component `index` at each depth of the whole, from 0 on."""
        return np.arange(self.depth + 1)

    def component_prefixes(self, prefixes: Prefixes, index: int) -> Prefixes:  # noqa: ARG002 - for products
        """The nodes of component `index` in which nodes of the whole, shape (n,), lie."""
        return prefixes

    def join(self, codes: Sequence[Codes]) -> Codes:
        """Codes of records from their codes in each component."""
        return codes[0]

    def require_component(self) -> None:  # noqa: B027 - most can
        """Errors: DomainError where this hierarchy cannot be a component beside others."""

    def component_path(self, codes: Codes) -> npt.NDArray[np.uint8]:
        """The symbols 1 … 255 by which codes stand in a product, shape (n, depth); 0 beyond an end."""
        raise NotImplementedError

    def component_code(self, path: npt.NDArray[np.uint8]) -> Codes:
        """The inverse of `component_path`; symbols that a shallow node of the product lacks are 0."""
        raise NotImplementedError

    # ---- shape ---------------------------------------------------------------------------

    @property
    def joint_halving(self) -> bool:
        """Returns whether points are halved along all coordinates at once."""
        return True

    @property
    def levels_per_halving(self) -> int:
        """The number of depths that halve every side once."""
        return 1

    @property
    def max_branching(self) -> int:
        """The largest number of children at any depth; most of them may be empty."""
        return max(self.branching())

    def node_count(self, depth: int) -> float:
        """The number of nodes of that depth that exist, whoever is in them."""
        return float(min(self.cells(depth), 2**1000))

    def nodes_per_value(self, depth: int, *, values: int) -> float:
        """About how many nodes of that depth add up to one value of a column that has so many `values`."""
        return max(1.0, float(min(self.cells(depth), 2**64)) / values)

    def divides_beyond(self, prefixes: Prefixes) -> npt.NDArray[np.bool_]:
        """Returns whether the deepest nodes would be divided, were there a further depth."""
        return np.zeros(prefixes.shape, dtype=np.bool_)

    # ---- nodes ---------------------------------------------------------------------------

    def opens(self, level: int) -> npt.NDArray[np.bool_]:
        """Returns for the children of a node of depth `level`, by symbol, whether they have
        children themselves."""
        return np.full(self.symbols(level).size, level + 1 < self.depth)

    # For those that have gaps
    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        """Returns whether public nodes of depth `level` are there at all, below a node that is."""
        return np.ones(prefixes.shape, dtype=np.bool_)

    # For those that know
    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        """Returns whether public nodes of depth `level` have anything to tell apart below them."""
        return np.ones(prefixes.shape, dtype=np.bool_)

    def branching(self, depth: int | None = None) -> tuple[int, ...]:
        """Returns the number of children of a node, by depth from 0 on."""
        return tuple(
            self.symbols(level).size for level in range(self.depth if depth is None else depth)
        )

    def cells(self, depth: int | None = None) -> int:
        """Returns an upper bound on the number of nodes of that depth; may be beyond all
        machine words."""
        return prod(self.branching(depth))

    def prefix(self, codes: Codes, level: int) -> Prefixes:
        """The node of depth `level` above each code."""
        raise NotImplementedError

    @abstractmethod
    def to_json(self) -> JsonObject:
        """Kind and public parameters."""

    def refuse(self, rule: str, *, repair: str, column: str | None = None) -> NoReturn:
        raise DomainError(rule, repair=repair, column=column or ", ".join(self.columns))


@dataclass(frozen=True, kw_only=True)
class PathHierarchy(Hierarchy):
    """Codes that are sequences of symbols 1 … 255, a byte each; where one ends, the rest is 0."""

    @property
    def width(self) -> int:
        return self.depth

    def component_path(self, codes: Codes) -> npt.NDArray[np.uint8]:
        return self.path(codes) + np.uint8(self.component_offset)

    def component_code(self, path: npt.NDArray[np.uint8]) -> Codes:
        offset = np.uint8(self.component_offset)
        return self.code(np.maximum(path, offset) - offset)

    def root(self) -> Prefixes:
        return np.zeros(1, dtype=f"S{self.width}")

    def below(self, prefixes: Prefixes, level: int) -> Prefixes:
        symbols = self.symbols(level)
        paths = np.repeat(self.path(prefixes)[:, None, :], symbols.size, axis=1)
        paths[:, :, level] = symbols
        return self.code(paths)

    def prefix(self, codes: Codes, level: int) -> Prefixes:
        path = self.path(codes).copy()
        # 0 is below every symbol, so the padded path is the smallest code below the node.
        path[..., level:] = 0
        return self.code(path)

    def code(self, path: npt.NDArray[np.uint8]) -> Codes:
        """Codes of sequences of symbols, shape (…, width)."""
        symbols = np.ascontiguousarray(path, dtype=np.uint8)
        return symbols.view(f"S{self.width}").reshape(symbols.shape[:-1])

    def path(self, codes: Codes) -> npt.NDArray[np.uint8]:
        """The symbols of codes, shape (…, width), 0 where one has ended."""
        whole = np.ascontiguousarray(codes, dtype=f"S{self.width}")
        return whole.view(np.uint8).reshape(*whole.shape, self.width)
