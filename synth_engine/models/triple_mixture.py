"""The mixture of a model: where the tables of three columns start that are no targets, when rows are
refined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.inference.triple_start import TripleStart
from synth_engine.measurement import Clique
from synth_engine.models import binning
from synth_engine.models.binning import Binning
from synth_engine.models.weights import WHOLE, Weights, whole_weights
from synth_engine.strict_json import JsonObject

Floats = npt.NDArray[np.float64]

MAX_COMPONENTS = 1_000
"""Largest number of components."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MixtureColumn:
    """A column within the components of a mixture. bins: the bin of each value that tables count, int64,
    shape (values,), 0 to b - 1, every bin used; weights: of the bins within the components, int64, shape (b,
    components), adding up to `WHOLE`."""

    attribute: str
    bins: Weights
    weights: Weights

    def check(self, domain: Domain, merged: Mapping[str, Binning], *, components: int) -> None:
        """Errors: InputError for another shape than the domain gives it, and for weights that are none."""
        known = self.attribute in domain.sizes
        values = binning.shape(domain, (self.attribute,), merged) if known else ()
        bins, weights = self.bins, self.weights
        if (
            not known
            or bins.shape != values
            or bins.dtype != np.int64
            or weights.dtype != np.int64
            or weights.ndim != 2
            or weights.shape[1] != components
            or not np.array_equal(np.unique(bins), np.arange(weights.shape[0]))
            or weights.min() < 0
            or weights.sum() != WHOLE
        ):
            raise _malformed()

    def shares(self, histogram: Floats) -> Floats:
        """Return the shares of the values within each component, shape (values, components), where records of
        a bin are spread over its values as in the histogram."""
        within = self.weights / np.maximum(self.weights.sum(axis=0), 1)
        of_bin = np.bincount(self.bins, weights=histogram)[self.bins]
        values = np.bincount(self.bins)[self.bins]
        spread = np.where(of_bin > 0, histogram / np.maximum(of_bin, 1e-12), 1 / values)
        shares: Floats = within[self.bins] * spread[:, None]
        return shares

    def to_json(self) -> JsonObject:
        return {
            "attribute": self.attribute,
            "bins": self.bins.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> MixtureColumn:
        bins, weights = (np.array(obj[name], dtype=np.int64) for name in ("bins", "weights"))
        return cls(attribute=str(obj["attribute"]), bins=bins, weights=weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleMixture:
    """A mixture of products of columns. shares: weights of the components, adding up to `WHOLE`; columns:
    those that are in a target."""

    shares: Weights
    columns: tuple[MixtureColumn, ...]

    @classmethod
    def of(
        cls,
        shares: Floats,
        columns: Mapping[str, tuple[Floats, Weights]],
    ) -> TripleMixture:
        """shares: of the components; columns: of each the shares of its bins within the components, shape
        (bins, components), and the bin of each value."""
        return cls(
            shares=whole_weights(shares),
            columns=tuple(
                MixtureColumn(attribute=name, bins=bins, weights=whole_weights(within * shares))
                for name, (within, bins) in columns.items()
            ),
        )

    def check(
        self, domain: Domain, merged: Mapping[str, Binning], targets: Sequence[Clique]
    ) -> None:
        """Errors: InputError where it does not fit the domain and the targets."""
        shares, names = self.shares, [column.attribute for column in self.columns]
        if (
            shares.dtype != np.int64
            or shares.ndim != 1
            or not 0 < shares.size <= MAX_COMPONENTS
            or shares.min() < 0
            or shares.sum() != WHOLE
            or len(set(names)) < len(names)
            or {name for clique in targets for name in clique} != set(names)
        ):
            raise _malformed()
        for column in self.columns:
            column.check(domain, merged, components=shares.size)

    def start(self, names: Sequence[str], histograms: Mapping[str, Floats]) -> TripleStart:
        """Return what refinement starts from. names: the columns in their order; histograms: of the
        columns of the mixture, by the values that tables count."""
        of_name = {column.attribute: column for column in self.columns}
        none = np.zeros((1, self.shares.size))
        return TripleStart(
            shares=self.shares / WHOLE,
            columns=[
                of_name[name].shares(histograms[name]) if name in of_name else none
                for name in names
            ],
        )

    def to_json(self) -> JsonObject:
        return {
            "shares": self.shares.tolist(),
            "columns": [column.to_json() for column in self.columns],
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> TripleMixture:
        """Errors: KeyError, TypeError, ValueError, OverflowError."""
        return cls(
            shares=np.array(obj["shares"], dtype=np.int64),
            columns=tuple(MixtureColumn.from_json(one) for one in obj["columns"]),
        )


def _malformed() -> InputError:
    return InputError(
        "the mixture of the model is malformed", repair="use the model of this release"
    )
