"""Constraints in drawn records: those that break one are drawn again, as little of them as will do.

Of a record that breaks a constraint one column is drawn again, given all its others, by the model's own conditional
distribution restricted to what can be. Which column, is drawn in proportion to how much of its distribution that is, so
that the least likely value gives way. Where no single column mends it, the columns tied by constraints are drawn again
one after another; where that ends in nothing, they are taken together from another record of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.relations import Component
from synth_engine.domain.satisfiable import search_order, witness
from synth_engine.measurement import Clique

Floats = NDArray[np.float64]
Column = NDArray[np.uint16]
Places = NDArray[np.intp]
Factor = tuple[Clique, Floats]
"""A table whose product with the others gives the weight of a record."""

_CELLS = 1 << 21  # numbers that stand in memory at once
_TRIES = 4


def repaired(
    codes: dict[str, Column],
    *,
    domain: Domain,
    factors: Sequence[Factor],
    generator: Callable[[Clique], np.random.Generator],
) -> dict[str, Column]:
    """The records with every constraint kept; those that kept them all are as they were, and so is every column that
    no constraint is about."""
    found = dict(codes)
    for component in domain.components:
        bad = _breaking(found, component)
        if not bad.size:
            continue
        for name in component.columns:
            found[name] = found[name].copy()
        desk = _Desk(found, domain, component, factors)
        rng = generator(component.columns)
        for part in _parts(bad, desk.width):
            desk.mend(part, rng)
        _borrowed(found, domain, component, was_bad=bad, rng=rng)
    return found


class _Desk:
    """Records of which columns of one component are drawn again."""

    def __init__(
        self, codes: dict[str, Column], domain: Domain, component: Component, factors: Sequence[Factor]
    ) -> None:
        self._codes, self._component = codes, component
        self._sizes = {name: domain.sizes[name] for name in component.columns}
        self._factors = {name: [one for one in factors if name in one[0]] for name in component.columns}
        self.width = sum(self._sizes.values())

    def mend(self, rows: Places, rng: np.random.Generator) -> None:
        """One column of each record, if one is enough; else all of the component."""
        self._one_column(rows, rng)
        left = rows[~self._holds(rows)]
        for _ in range(_TRIES):
            if not left.size:
                return
            self._all_columns(left, rng)
            left = left[~self._holds(left)]

    def _one_column(self, rows: Places, rng: np.random.Generator) -> None:
        names = self._component.columns
        weights = [self._weights(name, rows, known=[other for other in names if other != name]) for name in names]
        shares = np.stack([_share(allowed, every) for allowed, every in weights], axis=1)
        can = shares.sum(axis=1) > 0
        chosen = _drawn(shares, rng)
        for place, name in enumerate(names):
            mine = can & (chosen == place)
            self._codes[name][rows[mine]] = _drawn(weights[place][0][mine], rng)

    def _all_columns(self, rows: Places, rng: np.random.Generator) -> None:
        known: list[str] = []
        for name in search_order(self._component):
            allowed, _ = self._weights(name, rows, known=known)
            can = allowed.sum(axis=1) > 0
            self._codes[name][rows[can]] = _drawn(allowed[can], rng)
            known.append(name)

    def _holds(self, rows: Places) -> NDArray[np.bool_]:
        names = self._component.columns
        return np.broadcast_to(self._component.holds({name: self._codes[name][rows] for name in names}), rows.shape)

    def _weights(self, name: str, rows: Places, *, known: Sequence[str]) -> tuple[Floats, Floats]:
        """Of each code of a column, given the rest of each record: what of it keeps to the constraints with the
        columns that are known, and all of it."""
        every = np.ones((rows.size, self._sizes[name]))
        for clique, table in self._factors[name]:
            place = [self._along(other, rows, free=name) for other in clique]
            every *= table[tuple(place)]
        codes = {other: self._along(other, rows, free=name) for other in (*known, name)}
        return np.where(self._component.holds(codes), every, 0.0), every

    def _along(self, name: str, rows: Places, *, free: str) -> NDArray[np.integer]:
        return np.arange(self._sizes[name])[None, :] if name == free else self._codes[name][rows][:, None]


def _breaking(codes: dict[str, Column], component: Component) -> Places:
    columns = {name: codes[name] for name in component.columns}
    return np.flatnonzero(~np.broadcast_to(component.holds(columns), columns[component.columns[0]].shape))


def _borrowed(
    codes: dict[str, Column], domain: Domain, component: Component, *, was_bad: Places, rng: np.random.Generator
) -> None:
    """What is left takes all columns of the component from a record that needed no mending, or, if there is none, the
    one that the search found when the domain was declared."""
    bad = _breaking(codes, component)
    if not bad.size:
        return
    whole = np.ones(len(codes[component.columns[0]]), dtype=np.bool_)
    whole[was_bad] = False
    sound = np.flatnonzero(whole)
    if sound.size:
        source = rng.choice(sound, size=bad.size)
        for name in component.columns:
            codes[name][bad] = codes[name][source]
        return
    record = witness(component, {attribute.name: attribute for attribute in domain.attributes})
    for name, code in (record or {}).items():
        codes[name][bad] = code


def _share(allowed: Floats, every: Floats) -> Floats:
    whole = every.sum(axis=1)
    found: Floats = np.divide(allowed.sum(axis=1), whole, out=np.zeros_like(whole), where=whole > 0)
    return found


def _drawn(weights: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """One place of each line of weights."""
    steps = np.cumsum(weights, axis=1)
    target = rng.random(len(weights)) * steps[:, -1]
    found: NDArray[np.intp] = np.minimum((steps <= target[:, None]).sum(axis=1), weights.shape[1] - 1)
    return found


def _parts(rows: Places, width: int) -> Iterator[Places]:
    size = max(1, _CELLS // width)
    for start in range(0, rows.size, size):
        yield rows[start : start + size]
