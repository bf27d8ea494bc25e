"""The part of a model that is a tree of classes, alone or with points: cells with weights, and the records drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.codec import prefixes
from synth_engine.domain import Domain
from synth_engine.hierarchy import Prefixes, Product, Taxonomy
from synth_engine.mechanisms.models.tree import Placed, Tree, check, malformed
from synth_engine.mechanisms.models.weights import Weights, dealt


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassTree:
    """Nodes of a hierarchy, none inside another, with weights that add up to `WHOLE`. Within its node a record has any
    value of its class, each as likely as another, column by column; points lie as those of `Tree` do."""

    hierarchy: Taxonomy | Product
    levels: npt.NDArray[np.int64]
    cells: Prefixes
    weights: Weights
    placed: Placed = "density"

    def __post_init__(self) -> None:
        check(self.levels, self.cells, self.weights, depth=self.hierarchy.depth)
        if self.placed not in get_args(Placed):
            raise malformed()
        for level in set(self.levels.tolist()):
            cells = self.cells[self.levels == level]
            if not (self.hierarchy.exists(cells, level) & (self.hierarchy.prefix(cells, level) == cells)).all():
                raise malformed()

    @property
    def columns(self) -> tuple[str, ...]:
        """All that it gives."""
        return self.hierarchy.columns

    @property
    def bare(self) -> bool:
        """Whether it says of no record where it lies."""
        return bool(self.levels.tolist() == [0])

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, npt.NDArray[np.uint16]]:
        """Codes of the columns of `rows` records, a random part of a `population`, in random order."""
        order = np.argsort(self.cells, kind="stable")
        chosen = dealt(self.weights, rows, order=order, population=population, rng=rng)
        found: dict[str, npt.NDArray[np.uint16]] = {}
        whole = self._product
        for at, component in enumerate(whole.components):
            levels, cells = whole.own_levels(at)[self.levels], whole.own(self.cells, at)
            if isinstance(component, Taxonomy):
                first, last = component.inside(cells, levels)
                codes = component.order[rng.integers(first[chosen], last[chosen])]
                found[component.columns[0]] = codes.astype(np.uint16)
            else:
                tree = Tree(hierarchy=component, levels=levels, cells=cells, weights=self.weights, placed=self.placed)
                found |= tree.within(chosen, domain=domain, rng=rng)
        return found

    @property
    def _product(self) -> Product:
        """Of one column by itself: its codes are the same there."""
        alone = self.hierarchy
        return alone if isinstance(alone, Product) else Product(columns=alone.columns, components=(alone,))

    def to_json(self) -> dict[str, Any]:
        whole = self._product
        return {
            "kind": "classes",
            "columns": list(self.columns),
            "levels": self.levels.tolist(),
            "cells": [
                bytes(path[:level]).hex()
                for path, level in zip(whole.path(self.cells), self.levels.tolist(), strict=True)
            ],
            "weights": self.weights.tolist(),
            "placed": self.placed,
            **({} if whole.together else {"together": False}),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> ClassTree:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        hierarchy = prefixes.hierarchy(domain, obj["columns"], together=bool(obj.get("together", True)))
        if not isinstance(hierarchy, Taxonomy | Product):
            raise ValueError("not of classes")
        cells = [bytes.fromhex(cell) for cell in obj["cells"]]
        if any(len(cell) > hierarchy.width for cell in cells):
            raise ValueError("deeper than its hierarchy")
        return cls(
            hierarchy=hierarchy,
            levels=np.array(obj["levels"], dtype=np.int64),
            cells=np.array(cells, dtype=f"S{hierarchy.width}"),
            weights=np.array(obj["weights"], dtype=np.int64),
            placed=obj["placed"],
        )
