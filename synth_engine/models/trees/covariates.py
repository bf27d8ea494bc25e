"""Columns beside a tree: drawn by the area that a record lies in, and by one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.errors import InputError
from synth_engine.kinds.reading import Codes, code_dtype
from synth_engine.models import conditional
from synth_engine.models.weights import WHOLE, Weights
from synth_engine.strict_json import JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class Covariate:
    """A column, and the one before it that it is drawn from, if there is one. `weights`: shape (areas,
    values), or (areas, values of that one, values); they add up to `WHOLE`."""

    column: str
    given: str | None
    weights: Weights


@dataclass(frozen=True, kw_only=True, eq=False)
class Covariates:
    """`areas`: of each cell of the tree the number of its area; `columns`: in the order of drawing."""

    areas: npt.NDArray[np.int64]
    columns: tuple[Covariate, ...]

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        sound = (
            self.areas.ndim == 1
            and self.areas.size > 0
            and self.areas.min() >= 0
            and len(self.columns) > 0
        )
        for one in self.columns:
            axes = () if one.given is None else (sizes.get(one.given),)
            weights = one.weights
            sound &= (
                weights.ndim == 2 + len(axes)
                and weights.shape[1:-1] == axes
                and one.column not in sizes
            )
            sound &= (
                weights.min() >= 0
                and weights.sum() == WHOLE
                # Every area needs a row of weights, or drawing would read beyond the table.
                and len(weights) > self.areas.max()
            )
            sizes[one.column] = weights.shape[-1]
        if not sound or len({len(one.weights) for one in self.columns}) != 1:
            raise InputError(
                "the columns beside the tree are malformed",
                repair="use the model of this release",
            )

    @property
    def sizes(self) -> dict[str, int]:
        """Returns how many values each column has."""
        return {one.column: one.weights.shape[-1] for one in self.columns}

    def sample(
        self, cells: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Codes of records that lie in these cells of the tree."""
        # The area acts as a parent in a network: given it, the columns do not depend on where
        # in the area a record lies.
        areas = self.areas[cells].astype(code_dtype(int(self.areas.max()) + 1))
        codes: dict[str, Codes] = {}
        for one in self.columns:
            given = [areas] if one.given is None else [areas, codes[one.given]]
            codes[one.column] = conditional.draw(one.weights, given, rows=areas.size, rng=rng)
        return codes

    def to_json(self) -> JsonObject:
        columns = [
            {"column": one.column, "given": one.given, "weights": one.weights.ravel().tolist()}
            for one in self.columns
        ]
        return {"areas": self.areas.tolist(), "columns": columns}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], *, sizes: Mapping[str, int]) -> Covariates:
        """Errors: KeyError, TypeError, ValueError, InputError."""
        columns: Sequence[Mapping[str, Any]] = obj["columns"]
        return cls(
            areas=np.array(obj["areas"], dtype=np.int64),
            columns=tuple(
                Covariate(
                    column=one["column"],
                    given=one["given"],
                    weights=np.array(one["weights"], dtype=np.int64).reshape(
                        -1,
                        *(
                            sizes[name]
                            for name in (one["given"], one["column"])
                            if name is not None
                        ),
                    ),
                )
                for one in columns
            ),
        )
