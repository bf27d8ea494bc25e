"""The part of a model that is a tree of classes, alone or with points or texts: cells with weights, and the
records drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.hierarchy import (
    Prefixes,
    SpatialHierarchy,
    StringHierarchy,
    TaxonomyHierarchy,
)
from synth_engine.hierarchy.base import PathHierarchy
from synth_engine.indexing import prefixes
from synth_engine.kinds.completions import Completions
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.models.trees.spatial import Placement, SpatialTree, check, malformed
from synth_engine.models.trees.strings import IncompletePrefixes, StringTree
from synth_engine.models.weights import Weights, dealt
from synth_engine.strict_json import JsonObject

WITH_TEXTS = "texts and classes"
"""The kind of one that has texts, which an older version would take for codes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductTree:
    """Nodes of a hierarchy, none inside another, with weights that add up to `WHOLE`. Within its node a
    record has any value of its class, each as likely as another, column by column; points lie as those of
    `Tree` do, and texts are those of `PrefixTree`."""

    hierarchy: PathHierarchy
    levels: npt.NDArray[np.int64]
    cells: Prefixes
    weights: Weights
    placed: Placement = "density"
    incomplete_prefixes: IncompletePrefixes = "completed"
    completions: Completions | None = None

    def __post_init__(self) -> None:
        check(self.levels, self.cells, self.weights, depth=self.hierarchy.depth)
        if self.placed not in get_args(Placement) or self.incomplete_prefixes not in get_args(
            IncompletePrefixes
        ):
            raise malformed()
        # A stored model is input like any other file: a cell that is no node would be decoded
        # to a value of another class.
        # Prefixes of sorted codes are sorted: one sort serves all depths.
        order = np.argsort(self.cells, kind="stable")
        increasing, depths = self.cells[order], self.levels[order]
        for level in range(int(self.levels.max()) + 1):
            cells, below = self.cells[self.levels == level], increasing[depths >= level]
            above = self.hierarchy.prefix(below, level)
            first = np.append(True, above[1:] != above[:-1])
            there = self.hierarchy.exists(above[first], level)
            if not (there.all() and (self.hierarchy.prefix(cells, level) == cells).all()):
                raise malformed()
            if (
                len(self.hierarchy.components) > 1
                and not self.hierarchy.path(cells)[:, :level].all()
            ):
                raise malformed()

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns that the tree generates."""
        return self.hierarchy.columns

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of the columns of `rows` records, a random part of a `population`, in random order."""
        chosen = self._chosen(rows, population=population, rng=rng)
        # texts before all else, as in `draw_strings`
        codes: dict[str, Codes] = {}
        if self.texts is not None:
            codes = self.texts.within(chosen, domain=domain, rng=rng)
        for index, component in enumerate(self.hierarchy.components):
            levels, cells = self._nodes_of(index)
            if isinstance(component, TaxonomyHierarchy):
                first, last = component.inside(cells, levels)
                # Uniform within the node: below it the tree has measured nothing.
                values = component.order[rng.integers(first[chosen], last[chosen])]
                name = component.columns[0]
                codes[name] = values.astype(code_dtype(domain.sizes[name]))
            elif isinstance(component, SpatialHierarchy):
                tree = SpatialTree(
                    hierarchy=component,
                    levels=levels,
                    cells=cells,
                    weights=self.weights,
                    placed=self.placed,
                )
                codes |= tree.within(chosen, domain=domain, rng=rng)
        return codes

    def _nodes_of(self, index: int) -> tuple[npt.NDArray[np.int64], Prefixes]:
        """The nodes of a component in which the nodes of the tree lie: depths and first codes."""
        levels = self.hierarchy.component_levels(index)[self.levels]
        return levels, self.hierarchy.component_prefixes(self.cells, index)

    def draw_strings(
        self, rows: int, *, population: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
        """Texts, and which of them each of `rows` records has, of a tree that has texts."""
        if self.texts is None:
            raise TypeError("the tree has no texts")
        return self.texts.strings_within(
            self._chosen(rows, population=population, rng=rng), rng
        )

    def _chosen(
        self, rows: int, *, population: int, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        order = np.argsort(self.cells, kind="stable")
        return dealt(self.weights, rows, order=order, population=population, rng=rng)

    @cached_property
    def texts(self) -> StringTree | None:
        """The tree as its texts see it, node by node; None where it has none."""
        if (words := self.hierarchy.component(StringHierarchy)) is None:
            return None
        nodes = self._nodes_of(self.hierarchy.components.index(words))
        return StringTree.of_nodes(
            words,
            *nodes,
            self.weights,
            incomplete_prefixes=self.incomplete_prefixes,
            completions=self.completions,
        )

    def to_json(self) -> JsonObject:
        words = self.hierarchy.component(StringHierarchy)
        width = self.hierarchy.width
        paths = self.hierarchy.path(self.cells).tobytes()
        return {
            "kind": "classes" if words is None else WITH_TEXTS,
            "columns": list(self.columns),
            "levels": self.levels.tolist(),
            "cells": [
                paths[start : start + level].hex()
                for start, level in zip(
                    range(0, len(paths), width), self.levels.tolist(), strict=True
                )
            ],
            "weights": self.weights.tolist(),
            "placed": self.placed,
            **({} if self.hierarchy.joint_halving else {"together": False}),
            **(
                {}
                if words is None
                else {"texts": words.to_json(), "partly": self.incomplete_prefixes}
            ),
            **({} if self.completions is None else {"completions": self.completions.to_json()}),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], domain: Domain) -> ProductTree:
        """Errors: KeyError, TypeError, ValueError, DomainError, InputError."""
        texts = StringHierarchy.from_json(obj["texts"]) if obj["kind"] == WITH_TEXTS else None
        hierarchy = prefixes.hierarchy(
            domain, obj["columns"], together=bool(obj.get("together", True)), texts=texts
        )
        if not isinstance(hierarchy, PathHierarchy) or isinstance(hierarchy, StringHierarchy):
            raise ValueError("not of classes")
        cells = [bytes.fromhex(cell) for cell in obj["cells"]]
        width = hierarchy.width
        if any(len(cell) > width for cell in cells):
            raise ValueError("deeper than its hierarchy")
        return cls(
            hierarchy=hierarchy,
            levels=np.array(obj["levels"], dtype=np.int64),
            cells=np.array(cells, dtype=f"S{width}"),
            weights=np.array(obj["weights"], dtype=np.int64),
            placed=obj["placed"],
            incomplete_prefixes=obj.get("partly", "completed"),
            completions=Completions.from_json(obj["completions"])
            if "completions" in obj
            else None,
        )
