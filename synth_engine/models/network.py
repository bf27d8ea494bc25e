"""The part of a model that is tables: independent ones, or a network in which each gives one column others
that are drawn already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.kinds.reading import MAX_NARROW_CODES, code_dtype
from synth_engine.kinds.reading import Codes as Column
from synth_engine.measurement import Clique
from synth_engine.models import binning as bins
from synth_engine.models import conditional
from synth_engine.models.binning import Binning
from synth_engine.models.weights import (
    WHOLE,
    Weights,
    generator,
    round_in_order,
    round_to_total,
)
from synth_engine.strict_json import JsonObject

Codes = dict[str, Column]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Weights of the cells of a clique; they add up to `WHOLE`."""

    clique: Clique
    weights: Weights

    def check(self, domain: Domain, merged: Mapping[str, Binning]) -> None:
        """Errors: InputError for another shape than the domain and the bins give it, and for weights that are
        none."""
        shape, weights = bins.shape(domain, self.clique, merged), self.weights
        if (
            weights.shape != shape
            or weights.dtype != np.int64
            or weights.min() < 0
            or weights.sum() != WHOLE
        ):
            raise InputError(
                "a table of the model is malformed", repair="use the model of this release"
            )

    def to_json(self) -> JsonObject:
        return {"clique": list(self.clique), "weights": self.weights.ravel().tolist()}

    @classmethod
    def from_json(
        cls, obj: Mapping[str, Any], domain: Domain, merged: Mapping[str, Binning]
    ) -> Table:
        """Errors: KeyError, TypeError, ValueError, OverflowError."""
        clique = tuple(obj["clique"])
        weights = np.array(obj["weights"], dtype=np.int64).reshape(
            bins.shape(domain, clique, merged)
        )
        return cls(clique=clique, weights=weights)

    @property
    def strength(self) -> float:
        """Returns how much the last attribute depends on the others together: the total
        variation distance of the table from independence, 0 to 1, to four digits. A function of
        released weights alone, in whole numbers."""
        weights = self.weights.reshape(-1, self.weights.shape[-1])
        # Products are at most 10^18 and their sum 2 * 10^18, which int64 holds: one division
        # at the end, the same everywhere.
        independent = np.multiply.outer(weights.sum(axis=1), weights.sum(axis=0))
        return round(int(np.abs(weights * WHOLE - independent).sum()) / (2 * WHOLE**2), 4)


@dataclass(frozen=True, kw_only=True)
class Node:
    """An attribute of a network, and those that it is drawn from. Nodes stand in the order of growth, which
    is the order of drawing: parents before their children."""

    attribute: str
    parents: Clique


def check(network: Sequence[Node], tables: Sequence[Table]) -> None:
    """Errors: InputError where the i-th table is not that of the i-th node, or a parent comes after its
    child."""
    known: set[str] = set()
    if [table.clique for table in tables] != [
        (*node.parents, node.attribute) for node in network
    ]:
        raise InputError(
            "the tables of the model do not fit its network",
            repair="use the model of this release",
        )
    for node in network:
        if not set(node.parents) <= known:
            raise InputError(
                "the network of the model has no order", repair="use the model of this release"
            )
        known.add(node.attribute)


def sample(network: Sequence[Node], tables: Sequence[Table], rows: int, *, seed: str) -> Codes:
    """Codes of each attribute of a network, shape (rows,), parents before their children."""
    codes: Codes = {}
    for node, table in zip(network, tables, strict=True):
        # Each table has randomness of its own, so a change to one column leaves the draws of
        # its predecessors as they are.
        rng = generator(seed, purpose=("sample", *table.clique))
        given = [codes[name] for name in node.parents]
        codes[node.attribute] = conditional.draw(table.weights, given, rows=rows, rng=rng)
    return codes


def sample_apart(tables: Sequence[Table], rows: int, *, population: int, seed: str) -> Codes:
    """Codes of each attribute of independent tables, shape (rows,): a random part of a population, in random
    order."""
    codes: Codes = {}
    for table in tables:
        rng = generator(seed, purpose=("sample", *table.clique))
        # Whole numbers nearest to the weights have no sampling error; only a part smaller than
        # the population adds some.
        weights = table.weights.ravel()
        if weights.size <= MAX_NARROW_CODES:
            counts = round_to_total(weights, population)
        else:
            # Most of so many codes have less than one record each: the largest weights, and of equal ones the
            # first codes, would get all of them.
            counts = round_in_order(weights, population, start=int(rng.integers(WHOLE)))
        cells = np.repeat(np.arange(counts.size, dtype=np.uint32), counts)
        rng.shuffle(cells)
        axes = np.unravel_index(cells[:rows], table.weights.shape)
        for name, axis, size in zip(table.clique, axes, table.weights.shape, strict=True):
            codes[name] = axis.astype(code_dtype(size))
    return codes
