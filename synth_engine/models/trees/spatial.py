"""The part of a model that is a tree: the cells in which records lie, with weights, and the records drawn
from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.hierarchy import GazetteerHierarchy, Prefixes, SpatialHierarchy, Support
from synth_engine.indexing import gazetteers, prefixes
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.models.trees.covariates import Covariates
from synth_engine.models.weights import WHOLE, Weights, dealt
from synth_engine.strict_json import JsonObject

Placement = Literal["density", "points", "anywhere"]


def malformed() -> InputError:
    """Returns the error of a tree that no method made."""
    return InputError(
        "the tree of the model is malformed", repair="use the model of this release"
    )


def check(
    levels: npt.NDArray[np.int64], cells: Prefixes, weights: Weights, *, depth: int
) -> None:
    """Nodes of a tree of that depth, shape (n,) each, with weights that add up to `WHOLE`. Errors:
    InputError."""
    sound = (
        levels.shape == cells.shape == weights.shape and levels.ndim == 1 and levels.size > 0
    )
    if (
        not sound
        or weights.min() < 0
        or weights.sum() != WHOLE
        or levels.min() < 0
        or levels.max() > depth
    ):
        raise malformed()


@dataclass(frozen=True, kw_only=True, eq=False)
class SpatialTree:
    """Cells of a hierarchy of points, none inside another: their depths, their first codes and their weights,
    which add up to `WHOLE`. Within its cell a record is anywhere, each bin of a coordinate as likely as
    another; where the cell has public points, at one of these, by their weights (`placed` is "density") or
    each as likely as another ("points"). A column of codes always has one of its points. `attached`: columns
    beside those of the hierarchy."""

    hierarchy: SpatialHierarchy
    levels: npt.NDArray[np.int64]
    cells: npt.NDArray[np.uint64]
    weights: Weights
    placed: Placement = "density"
    attached: Covariates | None = None

    def __post_init__(self) -> None:
        check(self.levels, self.cells, self.weights, depth=self.hierarchy.depth)
        there = [
            self.hierarchy.exists(self.cells[self.levels == level], level).all()
            for level in set(self.levels.tolist())
        ]
        fits = self.attached is None or self.attached.areas.size == self.levels.size
        if self.placed not in get_args(Placement) or not all(there) or not fits:
            raise malformed()

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns that the tree generates."""
        return (*self.hierarchy.columns, *(self.attached.sizes if self.attached else ()))

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of the columns of `rows` records, a random part of a `population`, in random order."""
        order = np.argsort(self.cells, kind="stable")
        chosen = dealt(self.weights, rows, order=order, population=population, rng=rng)
        codes = self._at_points(chosen, domain, rng)
        codes |= self.attached.sample(chosen, rng) if self.attached else {}
        return self._anywhere(chosen, codes, domain, rng)

    def within(
        self, chosen: npt.NDArray[np.int64], *, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of records in the cells of these places."""
        return self._anywhere(chosen, self._at_points(chosen, domain, rng), domain, rng)

    def _anywhere(
        self,
        chosen: npt.NDArray[np.int64],
        codes: dict[str, Codes],
        domain: Domain,
        rng: np.random.Generator,
    ) -> dict[str, Codes]:
        """Codes with those of the coordinates that are not among them."""
        points = self.hierarchy
        first = points.positions(self.cells[chosen])
        for name in points.columns:
            if name in codes:
                continue
            axis = points.axes.index(name)
            halved = np.array(
                [points.halvings(level, axis) for level in range(points.depth + 1)]
            )
            last = first[:, axis] + (points.parts >> halved[self.levels[chosen]])
            # Cells divide the list of bins evenly, so the bins of a cell are a range of codes.
            size = domain.sizes[name]
            low, high = (
                prefixes.first_bins(points, ends, size=size) for ends in (first[:, axis], last)
            )
            codes[name] = rng.integers(low, high).astype(code_dtype(size))
        return codes

    def _at_points(
        self, chosen: npt.NDArray[np.int64], domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of the columns of public points, for records in the chosen cells."""
        codes: dict[str, Codes] = {}
        points = self.hierarchy
        if not isinstance(points, GazetteerHierarchy):
            return codes
        for site, support in zip(
            gazetteers.sites(domain, points.columns), points.supports, strict=True
        ):
            if site.of_codes or self.placed != "anywhere":
                # All columns of a place take their codes from one point, or latitude and
                # longitude would not belong together.
                points_of_records = support.order[self._picked(points, support, chosen, rng)]
                codes |= {
                    name: of[points_of_records].astype(code_dtype(domain.sizes[name]))
                    for name, of in site.codes.items()
                }
        return codes

    def _picked(
        self,
        points: GazetteerHierarchy,
        support: Support,
        chosen: npt.NDArray[np.int64],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.intp]:
        first, last = np.zeros((2, self.cells.size), dtype=np.intp)
        for level in set(self.levels.tolist()):
            mine = self.levels == level
            first[mine], last[mine] = points.inside(support, self.cells[mine], level)
        low, high = first[chosen], last[chosen]
        if self.placed == "points":
            return rng.integers(low, high)
        # Inverse transform sampling, restricted to the range of points that lie in the cell.
        reached = np.append(0.0, np.cumsum(support.weights))
        at = reached[low] + rng.random(low.size) * (reached[high] - reached[low])
        picked: npt.NDArray[np.intp] = np.clip(
            np.searchsorted(reached, at, side="right") - 1, low, high - 1
        )
        return picked

    def to_json(self) -> JsonObject:
        return (
            {
                "columns": list(self.hierarchy.columns),
                "levels": self.levels.tolist(),
                "cells": self.cells.tolist(),
                "weights": self.weights.tolist(),
            }
            | (
                {"placed": self.placed}
                if isinstance(self.hierarchy, GazetteerHierarchy)
                else {}
            )
            | ({} if self.hierarchy.together else {"together": False})
            | ({} if self.attached is None else {"attached": self.attached.to_json()})
        )

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> SpatialTree:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        hierarchy = prefixes.hierarchy(
            domain, obj["columns"], together=bool(obj.get("together", True))
        )
        if not isinstance(hierarchy, SpatialHierarchy):
            raise ValueError("not of points")
        return cls(
            hierarchy=hierarchy,
            levels=np.array(obj["levels"], dtype=np.int64),
            cells=np.array(obj["cells"], dtype=np.uint64),
            weights=np.array(obj["weights"], dtype=np.int64),
            placed=obj.get("placed", "density"),
            attached=Covariates.from_json(obj["attached"], sizes=domain.sizes)
            if "attached" in obj
            else None,
        )
