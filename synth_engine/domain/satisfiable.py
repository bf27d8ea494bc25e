"""Decide whether any record can keep to the constraints of a domain, by a search over codes and never over
data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain.conditions import is_learned
from synth_engine.domain.constraints import Constraint, Dependency
from synth_engine.domain.relations import ALL, Component, Gives, Truth, components
from synth_engine.errors import DomainError
from synth_engine.kinds.attribute import Attribute

MAX_SEARCH_STEPS = 200_000
"""How often a search asks whether a constraint holds before it gives up: about a second."""
_AT_ONCE = 500  # codes that a question is about: more of them take longer
MAX_COMPONENT_COLUMNS = 24
"""Columns that constraints may tie to each other."""
GRID_UP_TO = 1 << 18
"""Records of a component up to which all are looked at."""


def check(
    constraints: Sequence[Constraint], attributes: Sequence[Attribute]
) -> tuple[Component, ...]:
    """Refuses constraints that name what is not there, contradict each other, or leave no record possible."""
    known = {attribute.name: attribute for attribute in attributes}
    check_columns(constraints, known)
    for constraint in constraints:
        constraint.check(known)
    _check_dependencies(constraints, known)
    parts = components(constraints, attributes)
    for component in parts:
        if len(component.columns) > MAX_COMPONENT_COLUMNS:
            raise DomainError(
                f"constraints tie more than {MAX_COMPONENT_COLUMNS} columns to each other",
                repair="take some of them away",
                column=component.columns[0],
            )
        _check_orders(component)
        if witness(component, known) is None:
            raise DomainError(
                "the constraints leave no record possible",
                repair=f"take one of those away that are about {', '.join(component.columns)}",
                column=component.columns[0],
            )
        _check_values(component, known)
    return parts


def check_columns(constraints: Sequence[Constraint], known: Mapping[str, Attribute]) -> None:
    """Refuses constraints about columns that are not there."""
    for name in dict.fromkeys(name for each in constraints for name in each.columns):
        if name not in known:
            raise DomainError(
                "a constraint is about a column that is not described",
                repair="describe the column, or correct the constraint",
                column=name,
            )
        if not known[name].size and known[name].is_found:
            raise known[name].error(
                "a constraint is about an identifier or a derived column, which is not modelled",
                repair="describe the column by its values, or take the constraint away",
            )


def witness(
    component: Component,
    known: Mapping[str, Attribute],
    *,
    within: Mapping[str, NDArray[np.bool_]] | None = None,
) -> dict[str, int] | None:
    """A record that keeps to all constraints of a component, or None where there is none. Raises DomainError
    where the search gives up. within: of some columns, which codes are tried, shape (codes,)."""
    order, sizes = (
        search_order(component),
        {name: known[name].size for name in component.columns},
    )
    steps = 0

    def extended(record: dict[str, int]) -> dict[str, int] | None:
        nonlocal steps
        if len(record) == len(order):
            return record
        steps += len(component.relations) * -(-sizes[order[len(record)]] // _AT_ONCE)
        if steps > MAX_SEARCH_STEPS:
            raise DomainError(
                "whether these constraints leave a record possible was not found out in "
                f"{MAX_SEARCH_STEPS:,} steps",
                repair=f"connect fewer columns than {', '.join(component.columns)}, or use fewer values or "
                "bins",
                column=component.columns[0],
            )
        column = order[len(record)]
        codes = {name: np.asarray(code) for name, code in record.items()} | {
            column: np.arange(sizes[column])
        }
        fits = np.broadcast_to(component.holds(codes) & ALL, (sizes[column],))
        if within is not None and column in within:
            fits = fits & within[column]
        # Depth first: a partial record that fails can never be completed (`relations`), so that
        # all records which begin with it are skipped.
        for code in np.flatnonzero(fits).tolist():
            if (solution := extended(record | {column: code})) is not None:
                return solution
        return None

    return extended({})


def _possible(component: Component, sizes: Mapping[str, int]) -> Truth:
    """Whether each combination of codes of a component may be; one axis a column."""
    axes = np.meshgrid(
        *(np.arange(sizes[name]) for name in component.columns), indexing="ij", sparse=True
    )
    shape = tuple(sizes[name] for name in component.columns)
    return np.broadcast_to(
        component.holds(dict(zip(component.columns, axes, strict=True))), shape
    )


def search_order(component: Component) -> list[str]:
    """Columns of a component so that each but the first is tied to one before it, those with most ties
    first."""
    ties = {
        name: [r.columns for r in component.relations if name in r.columns]
        for name in component.columns
    }
    left = sorted(component.columns, key=lambda name: -len(ties[name]))
    ordered = [left.pop(0)]
    while left:
        near = [
            name for name in left if any(set(columns) & set(ordered) for columns in ties[name])
        ]
        ordered.append((near or left)[0])
        left.remove(ordered[-1])
    return ordered


def _check_dependencies(
    constraints: Sequence[Constraint], known: Mapping[str, Attribute]
) -> None:
    """Refuse two tables of which one value gives different values: one of them is a mistake."""
    tables = [(one, one.pairs(known)) for one in constraints if isinstance(one, Dependency)]
    for (first, one), (second, other) in combinations(tables, 2):
        if first.columns == second.columns and any(
            other.get(code, gives) != gives for code, gives in one.items()
        ):
            raise known[first.given].error(
                "two dependencies give one value different ones",
                repair="keep one of the tables",
            )


def _check_orders(component: Component) -> None:
    for orders in component.orders:
        name = orders.refused()
        if name is not None:
            raise DomainError(
                "an order that the bounds of its columns exclude",
                repair="correct the bounds, or take the constraint away",
                column=name,
            )


def _check_values(component: Component, known: Mapping[str, Attribute]) -> None:
    """A value that is listed and that combinations exclude is a slip in one of the two. Dependencies may
    leave values over: their tables are often shorter than a codebook's list."""
    sizes = {name: known[name].size for name in component.columns}
    if prod(sizes.values()) > GRID_UP_TO:
        return  # not claimed then
    judged = tuple(
        relation for relation in component.relations if not isinstance(relation, Gives)
    )
    possible = _possible(replace(component, relations=judged), sizes)
    for axis, name in enumerate(component.columns):
        # A value that a run found may be one that records have in spite of the constraints.
        if not known[name].lists_values or is_learned(known[name]):
            continue
        # A value is possible if some combination of the other columns allows it.
        alive = np.asarray(
            np.moveaxis(possible, axis, 0).reshape(sizes[name], -1).any(axis=1), dtype=np.bool_
        )
        if not alive[: known[name].value_count].all():
            place = int(np.argmin(alive[: known[name].value_count])) + 1
            raise known[name].error(
                f"the constraints exclude value {place} whatever the other columns hold",
                repair="take the value off its list, or correct the constraint",
            )
