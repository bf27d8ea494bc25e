"""Several hierarchies as one: a node is one node of each, and they go deeper by turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import MAX_SYMBOLS, Codes, Hierarchy, PathHierarchy, Prefixes
from synth_engine.hierarchy.points import SpatialHierarchy
from synth_engine.hierarchy.taxonomy import TaxonomyHierarchy
from synth_engine.hierarchy.words import StringHierarchy


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductHierarchy(PathHierarchy):
    """Points, classifications and texts of different columns. In each round every component that has a further depth goes one
    deeper, the one with the fewest children first, so that what is coarse comes before what is fine; one that has ended is
    passed over. A symbol is that of the component whose turn it is; of points and texts, one more than there. A text that has
    ended has one child where its turn comes, which is its end again."""

    components: tuple[SpatialHierarchy | TaxonomyHierarchy | StringHierarchy, ...]

    def __post_init__(self) -> None:
        named = [name for component in self.components for name in component.columns]
        if (
            not named
            or sorted(named) != sorted(set(self.columns))
            or len(named) != len(self.columns)
        ):
            self.refuse(
                "a product in which a column has no component, or two",
                repair="name each column once",
            )
        for component in self.components:
            if (
                isinstance(component, SpatialHierarchy)
                and component.branching(1)[0] > MAX_SYMBOLS
            ):
                component.refuse(
                    f"cells with more than {MAX_SYMBOLS} parts beside classes",
                    repair="halve one side after another",
                )
            if (
                isinstance(component, StringHierarchy)
                and len(component.alphabet) >= MAX_SYMBOLS
            ):
                component.refuse(
                    f"an alphabet of {MAX_SYMBOLS} signs beside other columns",
                    repair="leave the rare ones out",
                )
            if isinstance(component, TaxonomyHierarchy) and any(
                component.symbols(level)[0] == 0 for level in range(component.depth)
            ):
                component.refuse(
                    "a class that is a value itself, beside other columns",
                    repair="put a value below it",
                )

    @cached_property
    def schedule(self) -> tuple[tuple[int, int], ...]:
        """Of each depth of the product, which component goes deeper, and from which depth of its own."""
        found: list[tuple[int, int]] = []
        for own in range(max(component.depth for component in self.components)):
            turns = [
                (each.symbols(own).size, at)
                for at, each in enumerate(self.components)
                if own < each.depth
            ]
            found += [(at, own) for _, at in sorted(turns)]
        return tuple(found)

    @property
    def depth(self) -> int:
        return sum(component.depth for component in self.components)

    @property
    def together(self) -> bool:
        """Whether points are halved along all coordinates at once."""
        return all(
            component.together
            for component in self.components
            if isinstance(component, SpatialHierarchy)
        )

    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        at, own = self.schedule[level]
        component = self.components[at]
        return component.symbols(own) + (not isinstance(component, TaxonomyHierarchy))

    def opens(self, level: int) -> npt.NDArray[np.bool_]:
        return Hierarchy.opens(self, level)

    def own_levels(self, at: int) -> npt.NDArray[np.int64]:
        """How deep a component is at each depth of the product, from 0 on."""
        mine = [turn == at for turn, _ in self.schedule]
        return np.append(0, np.cumsum(mine)).astype(np.int64)

    def own(self, prefixes: Prefixes, at: int) -> Prefixes:
        """Of nodes in a row: the node of one component."""
        component, path = self.components[at], self.path(prefixes)[:, self._turns(at)]
        if isinstance(component, TaxonomyHierarchy):
            return component.code(path)
        if isinstance(component, StringHierarchy):
            return component.code(np.maximum(path, 1) - np.uint8(1))
        found = np.zeros(len(path), dtype=np.uint64)
        for level, shift in enumerate(_shifts(component)):
            found |= np.maximum(path[:, level], 1).astype(np.uint64) - np.uint64(1) << shift
        return found

    def joined(self, codes: Sequence[Codes]) -> Codes:
        """Codes of records from the codes that they have in each component."""
        found = np.zeros((len(codes[0]), self.width), dtype=np.uint8)
        for at, (component, own) in enumerate(zip(self.components, codes, strict=True)):
            turns = self._turns(at)
            if isinstance(component, TaxonomyHierarchy | StringHierarchy):
                found[:, turns] = component.path(own) + np.uint8(
                    isinstance(component, StringHierarchy)
                )
                continue
            last = np.uint64(component.branching(1)[0] - 1)
            for level, shift in enumerate(_shifts(component)):
                found[:, turns[level]] = (own >> shift & last).astype(np.uint8) + 1
        return self.code(found)

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        flat = np.asarray(prefixes).reshape(-1)
        found = np.ones(flat.size, dtype=np.bool_)
        for at, component in enumerate(self.components):
            if type(component) is not SpatialHierarchy:
                found &= component.exists(self.own(flat, at), int(self.own_levels(at)[level]))
        return found.reshape(np.shape(prefixes))

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        flat = np.asarray(prefixes).reshape(-1)
        found = np.zeros(flat.size, dtype=np.bool_)
        for at, component in enumerate(self.components):
            own = int(self.own_levels(at)[level])
            if own < component.depth:
                found |= component.divides(self.own(flat, at), own)
        return found.reshape(np.shape(prefixes))

    def _turns(self, at: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero([turn == at for turn, _ in self.schedule])

    def to_json(self) -> dict[str, Any]:
        components = [component.to_json() for component in self.components]
        return {"kind": "product", "columns": list(self.columns), "components": components}


def words_of(hierarchy: Hierarchy) -> StringHierarchy | None:
    """What reads texts in a hierarchy, alone or beside others, if it has any."""
    parts = hierarchy.components if isinstance(hierarchy, ProductHierarchy) else (hierarchy,)
    return next((each for each in parts if isinstance(each, StringHierarchy)), None)


def _shifts(points: SpatialHierarchy) -> list[np.uint64]:
    """How far the bits of each symbol of a code are from its end."""
    step = points.branching(1)[0].bit_length() - 1
    return [np.uint64((points.depth - level - 1) * step) for level in range(points.depth)]
