"""The part of a model that is a large table of two columns of which few cells are not empty, and the records
drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.models.weights import WHOLE, Weights, round_to_total
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseTable:
    """`cells`: those of the table of `clique` that are not empty, int64, as the first code times the size of
    the second column plus the second code, in order. Their `weights` add up to `WHOLE`."""

    clique: tuple[str, str]
    cells: npt.NDArray[np.int64]
    weights: Weights

    def check(self, domain: Domain) -> None:
        """Errors: InputError for cells that are not of the domain, or not in order, and for weights that are
        none."""
        sound = (
            self.cells.shape == self.weights.shape
            and self.cells.ndim == 1
            and self.cells.size > 0
        )
        if (
            not sound
            or self.weights.min() < 0
            or self.weights.sum() != WHOLE
            or self.cells[0] < 0
            or self.cells[-1] >= domain.cells(self.clique)
            # Strictly increasing, so that no cell is listed twice.
            or not (np.diff(self.cells) > 0).all()
        ):
            raise InputError(
                "the cells of the model are malformed", repair="use the model of this release"
            )

    def sample(
        self, rows: int, *, population: int, domain: Domain, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of both columns of `rows` records, a random part of a `population`: the nearest whole numbers
        to the weights, in random order."""
        chosen = np.repeat(self.cells, round_to_total(self.weights, population))
        rng.shuffle(chosen)
        codes = np.divmod(chosen[:rows], domain.sizes[self.clique[1]])
        return {
            name: of.astype(code_dtype(domain.sizes[name]))
            for name, of in zip(self.clique, codes, strict=True)
        }

    def to_json(self) -> JsonObject:
        return {
            "clique": list(self.clique),
            "cells": self.cells.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> SparseTable:
        """Errors: KeyError, TypeError, ValueError."""
        first, second = obj["clique"]
        return cls(
            clique=(str(first), str(second)),
            cells=np.array(obj["cells"], dtype=np.int64),
            weights=np.array(obj["weights"], dtype=np.int64),
        )
