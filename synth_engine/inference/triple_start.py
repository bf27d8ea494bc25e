"""Where the fitting of a table of three attributes starts that was not measured: the table of a mixture.

Proportional fitting from a uniform table gives the table of most entropy that has the three pairs. From the
table of a mixture that was fitted to all pairs, it gives the table with these pairs that is nearest to the
mixture: groups of records that differ from others in many attributes at once stay groups in three of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from synth_engine.inference.maxent_triples import ROUNDS, Triple
from synth_engine.jit import compiled

Floats = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleStart:
    """A mixture of products. shares: of the components, shape (components,), adding up to 1; columns: of each
    attribute the shares of its values within each component, shape (values, components)."""

    shares: Floats
    columns: Sequence[Floats]

    def by_bins(self, bins: Mapping[int, Bins]) -> TripleStart:
        """Return the same with the values of these attributes summed into bins."""
        columns = list(self.columns)
        for axis, of_value in bins.items():
            columns[axis] = np.zeros((int(of_value.max()) + 1, self.shares.size))
            np.add.at(columns[axis], of_value, self.columns[axis])
        return replace(self, columns=columns)

    def table(self, group: Sequence[int]) -> Floats:
        """Return the table of a group of attributes, as shares that add up to 1."""
        first, *others = (self.columns[axis] for axis in group)
        table = np.zeros([self.columns[axis].shape[0] for axis in group])
        # One component after another: all of them together would take as many times the memory.
        for component, share in enumerate(self.shares.tolist()):
            product: Floats = share * first[:, component]
            for column in others:
                product = np.multiply.outer(product, column[:, component])
            table += product
        return table

    def fitted(
        self, triple: Triple, pairs: Sequence[Floats], *, rounds: int = ROUNDS
    ) -> Floats:
        """Return the table of three attributes that nearly has these pairs: of (first, second), (first,
        third) and (second, third), in records."""
        first, second, third = (self.columns[axis] for axis in triple)
        table = _product(
            np.ascontiguousarray(first * self.shares),
            np.ascontiguousarray(second),
            np.ascontiguousarray(third.T),
        )
        ab, ac, bc = (np.ascontiguousarray(pair) for pair in pairs)
        _fit(table, ab, ac, bc, rounds)
        return table


@compiled
def _product(first: Floats, second: Floats, third: Floats) -> Floats:
    """The sum over components of products of columns, in one order on every machine. third: shape
    (components, values)."""
    table = np.zeros((first.shape[0], second.shape[0], third.shape[1]))
    for a in range(first.shape[0]):
        for b in range(second.shape[0]):
            line = table[a, b]
            for component in range(first.shape[1]):
                both = first[a, component] * second[b, component]
                for c in range(third.shape[1]):
                    line[c] += both * third[component, c]
    return table


@compiled
def _fit(table: Floats, ab: Floats, ac: Floats, bc: Floats, rounds: int) -> None:
    """Scales the table to each pair in turn, in place. Cells that a pair leaves empty become empty."""
    for _ in range(rounds):
        sums = np.zeros_like(ab)
        for a in range(table.shape[0]):
            _add_rows(table[a], sums[a])
        _to_ratios(ab, sums)
        for a in range(table.shape[0]):
            _scale_rows(table[a], sums[a])
        sums = np.zeros_like(ac)
        for a in range(table.shape[0]):
            _add_columns(table[a], sums[a])
        _to_ratios(ac, sums)
        for a in range(table.shape[0]):
            _scale_columns(table[a], sums[a])
        sums = np.zeros_like(bc)
        for a in range(table.shape[0]):
            sums += table[a]
        _to_ratios(bc, sums)
        for a in range(table.shape[0]):
            table[a] *= sums


@compiled
def _to_ratios(wanted: Floats, sums: Floats) -> None:
    """Makes ratios of wanted sums to those there are of the latter; 0 where there is nothing to be scaled."""
    for row in range(wanted.shape[0]):
        for column in range(wanted.shape[1]):
            there = sums[row, column]
            sums[row, column] = wanted[row, column] / there if there > 0 else 0.0


@compiled
def _add_rows(part: Floats, sums: Floats) -> None:
    for row in range(part.shape[0]):
        for column in range(part.shape[1]):
            sums[row] += part[row, column]


@compiled
def _scale_rows(part: Floats, ratios: Floats) -> None:
    for row in range(part.shape[0]):
        for column in range(part.shape[1]):
            part[row, column] *= ratios[row]


@compiled
def _add_columns(part: Floats, sums: Floats) -> None:
    for row in range(part.shape[0]):
        for column in range(part.shape[1]):
            sums[column] += part[row, column]


@compiled
def _scale_columns(part: Floats, ratios: Floats) -> None:
    for row in range(part.shape[0]):
        for column in range(part.shape[1]):
            part[row, column] *= ratios[column]
