"""The part of a model that is a tree: the cells in which records lie, with weights, and the records drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.codec import prefixes
from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.hierarchy import Points
from synth_engine.mechanisms.weights import WHOLE, Weights, round_to_total


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """Cells of a hierarchy of points, none inside another: their depths, their first codes and their weights, which add up
    to `WHOLE`. Within its cell a record is anywhere, each bin of a coordinate as likely as another."""

    hierarchy: Points
    levels: npt.NDArray[np.int64]
    cells: npt.NDArray[np.uint64]
    weights: Weights

    def __post_init__(self) -> None:
        sizes = {self.levels.shape, self.cells.shape, self.weights.shape}
        sound = len(sizes) == 1 and self.levels.ndim == 1 and self.levels.size > 0
        if not sound or self.weights.min() < 0 or self.weights.sum() != WHOLE:
            raise InputError("the tree of the model is malformed", repair="use the model of this release")
        if self.levels.min() < 0 or self.levels.max() > self.hierarchy.depth:
            raise InputError("the tree of the model is malformed", repair="use the model of this release")

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, npt.NDArray[np.uint16]]:
        """Codes of the columns of `rows` records, a random part of a `population`: the nearest whole numbers to the weights,
        in random order."""
        chosen = np.repeat(np.arange(self.weights.size), round_to_total(self.weights, population))
        rng.shuffle(chosen)
        chosen = chosen[:rows]
        points = self.hierarchy
        first = points.positions(self.cells[chosen])
        codes = {}
        for axis, name in enumerate(points.columns):
            halved = np.array([points.halvings(level, axis) for level in range(points.depth + 1)])
            last = first[:, axis] + (points.parts >> halved[self.levels[chosen]])
            size = domain.sizes[name]
            low, high = (prefixes.first_bins(points, ends, size=size) for ends in (first[:, axis], last))
            codes[name] = rng.integers(low, high).astype(np.uint16)
        return codes

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.hierarchy.columns),
            "levels": self.levels.tolist(),
            "cells": self.cells.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> Tree:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        hierarchy = prefixes.hierarchy(domain, obj["columns"])
        if not isinstance(hierarchy, Points):
            raise ValueError("not of points")
        return cls(
            hierarchy=hierarchy,
            levels=np.array(obj["levels"], dtype=np.int64),
            cells=np.array(obj["cells"], dtype=np.uint64),
            weights=np.array(obj["weights"], dtype=np.int64),
        )
