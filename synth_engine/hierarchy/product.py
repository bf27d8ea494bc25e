"""Several hierarchies as one: a node is one node of each, and they go deeper by turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synth_engine.hierarchy.base import Codes, Hierarchy, PathHierarchy, Prefixes
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductHierarchy(PathHierarchy):
    """Points, classifications and texts of different columns. In each round every component that has a
    further depth goes one deeper, the one with the fewest children first, so that what is coarse comes before
    what is fine; one that has ended is passed over. A symbol is that of the component whose turn it is; of
    points and texts, one more than there. A text that has ended has one child where its turn comes, which is
    its end again."""

    kind: ClassVar[str] = "product"
    components: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        named = [name for component in self.components for name in component.columns]
        if not named or len(set(named)) < len(named) or sorted(named) != sorted(self.columns):
            self.refuse(
                "a product in which a column has no component, or two",
                repair="name each column once",
            )
        for component in self.components:
            component.require_component()

    @cached_property
    def schedule(self) -> tuple[tuple[int, int], ...]:
        """Returns for each depth of the product the component that goes deeper, and from which
        of its own depths."""
        schedule: list[tuple[int, int]] = []
        for level in range(max(component.depth for component in self.components)):
            # Coarse before fine: the components with the fewest children have the first turns of a round.
            turns = sorted(
                (component.symbols(level).size, index)
                for index, component in enumerate(self.components)
                if level < component.depth
            )
            schedule += [(index, level) for _, index in turns]
        return tuple(schedule)

    @property
    def depth(self) -> int:
        return sum(component.depth for component in self.components)

    @property
    def joint_halving(self) -> bool:
        return all(component.joint_halving for component in self.components)

    def node_count(self, depth: int) -> float:
        return prod(
            component.node_count(int(self.component_levels(index)[depth]))
            for index, component in enumerate(self.components)
        )

    def divides_beyond(self, prefixes: Prefixes) -> npt.NDArray[np.bool_]:
        return np.full(prefixes.shape, any(part.is_complete for part in self.components))

    def symbols(self, level: int) -> npt.NDArray[np.int64]:
        index, own_level = self.schedule[level]
        component = self.components[index]
        return component.symbols(own_level) + component.component_offset

    def component_levels(self, index: int) -> npt.NDArray[np.int64]:
        turns = [turn == index for turn, _ in self.schedule]
        return np.append(0, np.cumsum(turns)).astype(np.int64)

    def component_prefixes(self, prefixes: Prefixes, index: int) -> Prefixes:
        return self.components[index].component_code(self.path(prefixes)[:, self._turns(index)])

    def join(self, codes: Sequence[Codes]) -> Codes:
        path = np.zeros((len(codes[0]), self.width), dtype=np.uint8)
        for index, component in enumerate(self.components):
            path[:, self._turns(index)] = component.component_path(codes[index])
        return self.code(path)

    def exists(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        flat = np.asarray(prefixes).reshape(-1)
        present = np.ones(flat.size, dtype=np.bool_)
        for index, component in enumerate(self.components):
            # Decoding the nodes of a component without gaps would be for nothing.
            if not component.is_complete:
                own_level = int(self.component_levels(index)[level])
                present &= component.exists(self.component_prefixes(flat, index), own_level)
        return present.reshape(np.shape(prefixes))

    def divides(self, prefixes: Prefixes, level: int) -> npt.NDArray[np.bool_]:
        flat = np.asarray(prefixes).reshape(-1)
        divided = np.zeros(flat.size, dtype=np.bool_)
        for index, component in enumerate(self.components):
            own_level = int(self.component_levels(index)[level])
            if own_level < component.depth:
                # One component that can still be divided is enough, even if its turn comes
                # later.
                divided |= component.divides(self.component_prefixes(flat, index), own_level)
        return divided.reshape(np.shape(prefixes))

    def _turns(self, index: int) -> npt.NDArray[np.intp]:
        return np.flatnonzero([turn == index for turn, _ in self.schedule])

    def to_json(self) -> JsonObject:
        components = [component.to_json() for component in self.components]
        return {"kind": self.kind, "columns": list(self.columns), "components": components}
