"""A declared classification: every value is a path from the widest class to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import MAX_SYMBOLS, Codes, PathHierarchy, Prefixes
from synth_engine.strict_json import JsonObject

Path = tuple[str, ...]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class TaxonomyHierarchy(PathHierarchy):
    """Values as paths of class names, such as ("Rhode Island", "Newport", "Middletown"). A value may end
    above another: it is then a child of its own, symbol 0, of the class that it names."""

    kind: ClassVar[str] = "taxonomy"

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        if len(self.columns) != 1:
            self.refuse("a classification of more than one column", repair="name one")
        if not self.paths or len(set(self.paths)) != len(self.paths):
            self.refuse(
                "a classification that is empty or has a value twice",
                repair="list each value once",
            )
        if not all(
            path and all(isinstance(name, str) and name for name in path) for path in self.paths
        ):
            self.refuse(
                "a value without a class",
                repair="give the way to each value, the widest class first",
            )
        if max(self._widths) > MAX_SYMBOLS:
            self.refuse(
                f"a class with more than {MAX_SYMBOLS} parts", repair="put a level between"
            )

    def require_component(self) -> None:
        # Symbol 0 would be taken for a path that has ended.
        if any(self.symbols(level)[0] == 0 for level in range(self.depth)):
            self.refuse(
                "a class that is a value itself, beside other columns",
                repair="put a value below it",
            )

    def node_count(self, depth: int) -> float:
        return float(np.unique(self.prefix(self.codes, depth)).size)

    @property
    def depth(self) -> int:
        return max(map(len, self.paths))

    @cached_property
    def _children(self) -> dict[Path, dict[str, int]]:
        """Returns the parts of each class and their symbols, in the order in which they are
        declared."""
        children: dict[Path, dict[str, int]] = {}
        for path in self.paths:
            for level, name in enumerate(path):
                parts = children.setdefault(path[:level], {})
                parts.setdefault(name, len(parts) + 1)
        return children

    @cached_property
    def _widths(self) -> list[int]:
        widths = [0] * self.depth
        for path, parts in self._children.items():
            # All nodes of a depth get the same symbols; those that a class lacks are sorted out
            # by `exists`.
            widths[len(path)] = max(widths[len(path)], len(parts))
        return widths

    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        ends = any(len(path) == level for path in self.paths)
        return np.arange(0 if ends else 1, self._widths[level] + 1)

    def opens(self, level: int) -> npt.NDArray[np.bool_]:
        return (self.symbols(level) > 0) & (level + 1 < self.depth)

    @cached_property
    def codes(self) -> Codes:
        """Returns the codes of the values, in the order in which they are declared."""
        symbols = np.zeros((len(self.paths), self.width), dtype=np.uint8)
        for row, path in enumerate(self.paths):
            symbols[row, : len(path)] = [
                self._children[path[:level]][name] for level, name in enumerate(path)
            ]
        return self.code(symbols)

    @cached_property
    def _rows(self) -> dict[Path, int]:
        return {path: row for row, path in enumerate(self.paths)}

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The values in the order of their codes, by their places among those declared."""
        return np.argsort(self.codes, kind="stable")

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        """Returns whether a value is declared there. A child with symbol 0 is there where its
        class is a value itself."""
        flat = np.asarray(prefixes).reshape(-1)
        first, last = self.inside(flat, np.full(flat.size, level))
        return (first < last).reshape(np.shape(prefixes))

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        flat = np.asarray(prefixes).reshape(-1)
        first, last = self.inside(flat, np.full(flat.size, level))
        return (last - first > 1).reshape(np.shape(prefixes))

    def inside(
        self, prefixes: Prefixes, levels: npt.NDArray[np.int64]
    ) -> tuple[Places, Places]:
        """Finds the values that lie in nodes of these depths: in `order`, from the first on
        below the last."""
        codes, ends = self.codes[self.order], self.path(prefixes).copy()
        ends[np.arange(self.width) >= np.asarray(levels)[:, None]] = MAX_SYMBOLS
        return np.searchsorted(codes, prefixes), np.searchsorted(
            codes, self.code(ends), side="right"
        )

    def member(self, path: Path) -> bool:
        return path in self._rows

    def encode(self, paths: Sequence[Path]) -> Codes:
        """Errors: DomainError for a value that is not declared."""
        if not all(path in self._rows for path in paths):
            self.refuse(
                "a value that the classification does not have",
                repair="declare it, or leave such records out",
            )
        return self.codes[[self._rows[path] for path in paths]]

    def decode(self, codes: Codes) -> list[Path]:
        """The values of codes, or the classes of nodes."""
        names = {path: list(parts) for path, parts in self._children.items()}
        values = []
        for row in self.path(codes).tolist():
            path: Path = ()
            for symbol in row:
                if symbol:
                    path = (*path, names[path][symbol - 1])
            values.append(path)
        return values

    def to_json(self) -> JsonObject:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "paths": [list(path) for path in self.paths],
        }
