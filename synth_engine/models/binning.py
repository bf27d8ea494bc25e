"""Attributes of many values in a model: its tables count them by bins, and a code is drawn within its bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
import numpy.typing as npt

from synth_engine.constraints import tables as restricting
from synth_engine.domain import Attribute, Domain
from synth_engine.errors import InputError
from synth_engine.kinds.reading import Codes
from synth_engine.measurement import Clique
from synth_engine.models import conditional
from synth_engine.strict_json import JsonObject

Weights = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
MAX_CELLS = 1 << 22
"""Cells over the codes themselves of a table that is still written out."""
_NAMES = 50


def is_merged_in_order(attribute: Attribute) -> bool:
    """Returns whether neighbouring codes are merged into bins.

    They are where their order is declared to mean something, and for numbers of many values. A
    short list of numbers is as often one of mere names."""
    return attribute.ordered or (attribute.size > _NAMES and not attribute.lists_values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Binning:
    """`bins`: the bin of each code, 0 to b - 1, every bin used; int64, shape (codes,). `within`: the weights
    of the codes, their one-way table, of which each bin's part says how its records are spread over its
    codes; same shape."""

    attribute: str
    bins: Weights
    within: Weights

    @property
    def size(self) -> int:
        return int(self.bins.max()) + 1

    def check(self, domain: Domain, *, whole: int) -> None:
        shape = (domain.sizes.get(self.attribute, 0),)
        right = (
            self.bins.shape == self.within.shape == shape
            and self.bins.dtype == self.within.dtype == np.int64
        )
        if (
            not right
            or self.within.min() < 0
            or self.within.sum() != whole
            or not self._all_used()
        ):
            raise InputError(
                "the bins of the model are malformed", repair="use the model of this release"
            )

    def _all_used(self) -> bool:
        return bool(
            self.bins.min() >= 0 and np.array_equal(np.unique(self.bins), np.arange(self.size))
        )

    @property
    def spread(self) -> Weights:
        """Weights of the codes of each bin, shape (bins, codes). A bin without weight is spread evenly."""
        spread_table = np.zeros((self.size, self.bins.size), dtype=np.int64)
        codes = np.arange(self.bins.size)
        spread_table[self.bins, codes] = self.within
        empty = spread_table.sum(axis=1) == 0
        spread_table[self.bins, codes] += empty[self.bins]
        return spread_table

    def draw_codes(self, bins: Codes, *, rng: np.random.Generator) -> Codes:
        """A code for each record whose bin is given; shape (rows,)."""
        return conditional.draw(self.spread, [bins], rows=bins.size, rng=rng)

    def to_json(self) -> JsonObject:
        return {
            "attribute": self.attribute,
            "bins": self.bins.tolist(),
            "within": self.within.tolist(),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, object]) -> Binning:
        bins, within = (np.array(obj[name], dtype=np.int64) for name in ("bins", "within"))
        return cls(attribute=str(obj["attribute"]), bins=bins, within=within)


def shape(domain: Domain, clique: Clique, merged: Mapping[str, Binning]) -> tuple[int, ...]:
    """Returns the shape of a table of the model: by bins where an attribute has them."""
    return tuple(merged[name].size if name in merged else domain.sizes[name] for name in clique)


def possible(domain: Domain, clique: Clique, merged: Mapping[str, Binning]) -> Truth:
    """Returns which cells of a table the constraints allow; of bins, those with an allowed
    combination of codes. With too many combinations to check, all cells are allowed."""
    if prod(domain.shape(clique)) > MAX_CELLS:
        return np.ones(shape(domain, clique, merged), dtype=np.bool_)
    allowed: Truth = restricting.possible(domain, clique)
    for axis, name in enumerate(clique):
        if name in merged:
            one = merged[name]
            parts = [
                np.take(allowed, np.flatnonzero(one.bins == b), axis=axis).any(axis=axis)
                for b in range(one.size)
            ]
            # A bin stays as long as one of its codes may: what cannot be within it is repaired
            # once codes are drawn.
            allowed = np.stack(parts, axis=axis)
    return allowed


def over_codes(clique: Clique, table: Floats, merged: Mapping[str, Binning]) -> Floats | None:
    """The weights of a table spread over the codes of its bins; None where that were too many cells."""
    codes = [
        merged[name].bins.size if name in merged else size
        for name, size in zip(clique, table.shape, strict=True)
    ]
    if prod(codes) > MAX_CELLS:
        return None
    return reduce(
        lambda array, axis: _spread(array, axis, merged.get(clique[axis])),
        range(len(clique)),
        table,
    )


def _spread(table: Floats, axis: int, one: Binning | None) -> Floats:
    if one is None:
        return table
    spread = one.spread
    # Within a bin the codes are independent of all other columns: the model has only their
    # one-way table.
    shares = spread[one.bins, np.arange(one.bins.size)] / spread.sum(axis=1)[one.bins]
    along = [1] * table.ndim
    along[axis] = -1
    spread_table: Floats = np.take(table, one.bins, axis=axis) * shares.reshape(along)
    return spread_table
