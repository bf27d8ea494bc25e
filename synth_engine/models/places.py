"""Places of a model that counts each by its cells: where in its cell a record lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.hierarchy import NodeSet, SpatialHierarchy
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.kinds.reading import Codes
from synth_engine.models.trees.spatial import SpatialTree
from synth_engine.models.weights import whole_weights
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class PlaceCells:
    """The cells of a place, and its tree, whose leaves are parts of cells. A record of a cell lies in one of
    its leaves, by their weights; each is as likely as another where none has a weight.

    place: its name; areas: the cell of each leaf, shape (leaves,), from 0 on without a gap."""

    place: str
    tree: SpatialTree
    areas: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        areas = self.areas
        if (
            areas.shape != self.tree.levels.shape
            or areas.min() < 0
            or np.unique(areas).size != areas.max() + 1
        ):
            raise InputError(
                "the cells of a place are malformed", repair="use the model of this release"
            )

    @classmethod
    def of(
        cls, place: str, hierarchy: SpatialHierarchy, leaves: LeafEstimates, cells: NodeSet
    ) -> PlaceCells:
        """leaves: of the tree, none inside another; cells: nodes of the same hierarchy that cover it."""
        areas = cells.places(hierarchy, leaves.prefixes).astype(np.int64)
        # A leaf that is larger than a cell would put its records into the first cell inside it.
        inside = leaves.levels >= cells.levels[areas]
        empty = np.setdiff1d(np.arange(len(cells)), areas[inside])
        tree = SpatialTree(
            hierarchy=hierarchy,
            levels=np.concatenate([leaves.levels[inside], cells.levels[empty]]),
            cells=np.concatenate([leaves.prefixes[inside], cells.prefixes[empty]]),
            weights=whole_weights(
                np.concatenate([leaves.counts[inside], np.zeros(empty.size)])
            ),
        )
        return cls(place=place, tree=tree, areas=np.concatenate([areas[inside], empty]))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.areas.max()) + 1

    def sample(
        self, cells: Codes, *, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of latitude and longitude of records, from their cells; shape (rows,)."""
        weights = self.tree.weights.astype(np.int64)
        of_cell = np.bincount(self.areas, weights=weights, minlength=self.size)
        weights = np.where(of_cell[self.areas] > 0, weights, 1)
        order = np.argsort(self.areas, kind="stable")
        reached = np.append(0, np.cumsum(weights[order]))
        ends = np.searchsorted(self.areas[order], np.arange(self.size + 1))
        low, high = reached[ends[:-1]], reached[ends[1:]]
        ticket = rng.integers(low[cells], high[cells])
        leaves = order[np.searchsorted(reached, ticket, side="right") - 1]
        return self.tree.within(leaves, domain=domain, rng=rng)

    def to_json(self) -> JsonObject:
        return {
            "place": self.place,
            "tree": self.tree.to_json(),
            "areas": self.areas.tolist(),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> PlaceCells:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        return cls(
            place=str(obj["place"]),
            tree=SpatialTree.from_json(obj["tree"], domain),
            areas=np.array(obj["areas"], dtype=np.int64),
        )
