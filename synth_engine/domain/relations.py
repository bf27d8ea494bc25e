"""Judge whether records keep to constraints, for whole arrays of codes at once.

A relation judges what it can from the columns it is given: with some of its columns absent it answers for the
rest, so that a partial record which fails can never be completed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import conditions
from synth_engine.domain.constraints import (
    Constraint,
    Dependency,
    ExistingPairs,
    Impossible,
    MissingIff,
    Order,
)
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute
from synth_engine.kinds.ladders import Floats, Ladder

Truth = NDArray[np.bool_]
Codes = Mapping[str, NDArray[np.integer[Any]]]
"""Arrays of codes by column; their shapes broadcast against each other."""
ALL: Truth = np.bool_(True)  # type: ignore[assignment]  # holds for a record of which nothing is known


class CodeRelation(ABC):
    """A constraint, or several that are judged together."""

    columns: tuple[str, ...]

    @abstractmethod
    def holds(self, codes: Codes) -> Truth:
        """Whether each record keeps to it, or may still when only a part of its columns is given, or when a
        learned bin holds values that keep to it and others that do not."""

    @property
    def is_void(self) -> bool:
        """Whether the columns have no code of which it says anything."""
        return False


@dataclass(frozen=True, kw_only=True, eq=False)
class Never(CodeRelation):
    """Not all columns are in their sets."""

    columns: tuple[str, ...]
    inside: tuple[Truth, ...]

    def holds(self, codes: Codes) -> Truth:
        if any(name not in codes for name in self.columns):
            return ALL
        met: Truth = ALL
        for name, inside in zip(self.columns, self.inside, strict=True):
            met = met & inside[codes[name]]
        return ~met

    @property
    def is_void(self) -> bool:
        return not all(inside.any() for inside in self.inside)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gives(CodeRelation):
    """A code of the first column fixes that of the second; -1: it does not."""

    columns: tuple[str, ...]
    target: NDArray[np.int64]

    def holds(self, codes: Codes) -> Truth:
        if any(name not in codes for name in self.columns):
            return ALL
        wanted = self.target[codes[self.columns[0]]]
        true: Truth = (wanted < 0) | (wanted == codes[self.columns[1]])
        return true

    @property
    def is_void(self) -> bool:
        return bool((self.target < 0).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class CodePairs(CodeRelation):
    """The codes of two columns stand together in a list. Codes from `values` on, of other and missing values,
    are not judged. `keys`: ascending, the code of the first column times `factor` plus that of the second."""

    columns: tuple[str, ...]
    values: tuple[int, int]
    factor: int
    keys: NDArray[np.int64]

    def holds(self, codes: Codes) -> Truth:
        if any(name not in codes for name in self.columns):
            return ALL
        first, second = (codes[name].astype(np.int64) for name in self.columns)
        wanted = first * self.factor + second
        place = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        true: Truth = (
            (self.keys[place] == wanted)
            | (first >= self.values[0])
            | (second >= self.values[1])
        )
        return true

    @property
    def is_void(self) -> bool:
        return not self.keys.size


@dataclass(frozen=True, kw_only=True, eq=False)
class Exactly(CodeRelation):
    """The first column is in its set where the second is in its own, and nowhere else. inside: codes that are
    in the set; outside: codes of the second column that are not. A learned bin may be neither."""

    columns: tuple[str, ...]
    inside: tuple[Truth, Truth]
    outside: Truth

    def holds(self, codes: Codes) -> Truth:
        if any(name not in codes for name in self.columns):
            return ALL
        first, second = (
            inside[codes[name]] for name, inside in zip(self.columns, self.inside, strict=True)
        )
        true: Truth = np.where(first, ~self.outside[codes[self.columns[1]]], ~second)
        return true

    @property
    def is_void(self) -> bool:
        return bool(self.outside.all())


@dataclass(frozen=True, kw_only=True, eq=False)
class Orders(CodeRelation):
    """Columns of which some must not be above others. `columns` run so that what must not be above comes
    first; `below` says what a column must not be under, and whether it must be above."""

    columns: tuple[str, ...]
    ladders: Mapping[str, Ladder]
    below: Mapping[str, tuple[tuple[str, bool], ...]]

    def holds(self, codes: Codes) -> Truth:
        return self.least(codes)[1]

    def least(self, codes: Codes) -> tuple[dict[str, Floats], Truth]:
        """The smallest values of the codes that are in order, minus infinity for missing; and whether there
        are any. A column takes the smallest value that those before it allow, which leaves those after it the
        most room."""
        bounds: dict[str, Floats] = {}
        holds: Truth = ALL
        for name in self.columns:
            if name not in codes:
                continue
            scale, column = self.ladders[name], codes[name]
            # Greedy and exact: the smallest feasible value of a column excludes no value of
            # later ones, since orders only bound from below.
            value: Floats = scale.low[column]
            for other, strict in self.below[name]:
                if other in bounds:
                    value = np.maximum(
                        value, scale.at_least(column, bounds[other], strict=strict)
                    )
            missing = scale.missing(column)
            holds = holds & (missing | (value <= scale.high[column]))
            # A missing value bounds nothing: every value is above minus infinity.
            bounds[name] = np.where(missing, -np.inf, value)
        return bounds, holds

    def refused(self) -> str | None:
        """A column that has no value in order with the others when none is missing."""
        refused: dict[str, float] = {}
        for name in self.columns:
            scale = self.ladders[name]
            # Codes that stand for no value are padded with minus infinity.
            codes = np.flatnonzero(np.isfinite(scale.high))
            value = scale.low[codes]
            for other, strict in self.below[name]:
                bound = np.full(codes.shape, refused[other])
                value = np.maximum(value, scale.at_least(codes, bound, strict=strict))
            fits = value[value <= scale.high[codes]]
            if not fits.size:
                return name
            refused[name] = float(fits.min())
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Component:
    """Columns that constraints connect, in the order of the domain, and all that is to hold among them."""

    columns: tuple[str, ...]
    relations: tuple[CodeRelation, ...]

    def holds(self, codes: Codes) -> Truth:
        true: Truth = ALL
        for relation in self.relations:
            true = true & relation.holds(codes)
        return true

    @property
    def orders(self) -> tuple[Orders, ...]:
        return tuple(relation for relation in self.relations if isinstance(relation, Orders))


def relation(constraint: Constraint, known: Mapping[str, Attribute]) -> CodeRelation:
    """Convert one constraint to a relation over codes."""
    match constraint:
        case Impossible():
            sets = tuple(
                _set(known[name], values) for name, values in constraint.combination.items()
            )
            return Never(columns=constraint.columns, inside=sets)
        case Dependency():
            target = np.full(known[constraint.given].size, -1, dtype=np.int64)
            for given, gives in constraint.pairs(known).items():
                # A bin with other values as well is judged where values are.
                if conditions.stands_alone(known[constraint.given], given):
                    target[given] = gives
            return Gives(columns=constraint.columns, target=target)
        case ExistingPairs():
            first, second = (known[name] for name in constraint.columns)
            pairs = sorted(constraint.pairs(known))
            return CodePairs(
                columns=constraint.columns,
                values=(first.value_count, second.value_count),
                factor=second.size,
                keys=np.array([a * second.size + b for a, b in pairs], dtype=np.int64),
            )
        case MissingIff():
            missing = _set(known[constraint.column], (None,))
            when = known[constraint.when]
            named = conditions.codes(when, constraint.values)
            return Exactly(
                columns=constraint.columns,
                inside=(missing, _truth(when, named.wholly)),
                outside=~_truth(when, named.partly),
            )
        case Order():
            return _orders([constraint], known)
    raise TypeError(f"no relation for {constraint.kind}")


def components(
    constraints: Sequence[Constraint], attributes: Sequence[Attribute]
) -> tuple[Component, ...]:
    """Group constraints by the columns that they connect. Errors: DomainError for orders that form a
    cycle."""
    known = {attribute.name: attribute for attribute in attributes}
    components = []
    for group in connected(constraints):
        ordered = [constraint for constraint in group if isinstance(constraint, Order)]
        relations = [
            relation(constraint, known)
            for constraint in group
            if not isinstance(constraint, Order)
        ]
        # Orders that share a column are judged together: each pair of a ≤ b ≤ c can have values
        # in its bins while no triple has.
        relations += [_orders(together, known) for together in connected(ordered)]
        names = {name for constraint in group for name in constraint.columns}
        columns = tuple(attribute.name for attribute in attributes if attribute.name in names)
        components.append(Component(columns=columns, relations=tuple(relations)))
    return tuple(components)


def _set(attribute: Attribute, values: Sequence[conditions.Value]) -> Truth:
    return _truth(attribute, conditions.codes(attribute, values).wholly)


def _truth(attribute: Attribute, codes: Sequence[int]) -> Truth:
    inside = np.zeros(attribute.size, dtype=np.bool_)
    inside[list(codes)] = True
    return inside


def _orders(constraints: Sequence[Constraint], known: Mapping[str, Attribute]) -> Orders:
    orders = [constraint for constraint in constraints if isinstance(constraint, Order)]
    names = list(dict.fromkeys(name for order in orders for name in order.columns))
    below: dict[str, list[tuple[str, bool]]] = {name: [] for name in names}
    for order in orders:
        below[order.second].append((order.first, order.strict))
    ordered: list[str] = []
    while len(ordered) < len(names):
        # Topological sort (Kahn, 1962): a column follows all columns that must not be above it.
        free = [
            n
            for n in names
            if n not in ordered and all(other in ordered for other, _ in below[n])
        ]
        if not free:
            stuck = next(name for name in names if name not in ordered)
            raise DomainError(
                "orders of columns go round in a circle",
                repair="take one of them away",
                column=stuck,
            )
        ordered += free
    return Orders(
        columns=tuple(ordered),
        ladders={name: known[name].ladder() for name in names},
        below={name: tuple(edges) for name, edges in below.items()},
    )


def connected(constraints: Iterable[Constraint]) -> list[list[Constraint]]:
    """Constraints in groups that share no column."""
    groups: list[tuple[set[str], list[Constraint]]] = []
    for constraint in constraints:
        names = set(constraint.columns)
        touching = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        members = [one for _, each in touching for one in each]
        groups.append((names.union(*(group[0] for group in touching)), [*members, constraint]))
    return [members for _, members in groups]
