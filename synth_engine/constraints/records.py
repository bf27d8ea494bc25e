"""Constraints in drawn records: those that break one are drawn again, as little of them as will do.

Of a record that breaks a constraint one column is drawn again, given all its others, by the model's own
conditional distribution restricted to what can be. Which column, is drawn in proportion to how much of its
distribution that is, so that the least likely value gives way. Where no single column mends it, the columns
tied by constraints are drawn again one after another; where that ends in nothing, they are taken together
from another record of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.domain.relations import Component
from synth_engine.domain.satisfiable import search_order, witness
from synth_engine.kinds.reading import Codes as Column
from synth_engine.measurement import Clique

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Factor = tuple[Clique, Floats]
"""A table whose product with the others gives the weight of a record."""

_CELLS = 1 << 21  # numbers that stand in memory at once
_TRIES = 4
_MAX_KEY = 2**62


def repair(
    codes: dict[str, Column],
    *,
    domain: Domain,
    factors: Sequence[Factor],
    generator: Callable[[Clique], np.random.Generator],
    components: Sequence[Component] | None = None,
) -> dict[str, Column]:
    """The records with every constraint kept, or those of the `components` named; those that kept them all
    are as they were, and so is every column that no constraint is about."""
    repaired_codes = dict(codes)
    for component in domain.components if components is None else components:
        bad = _breaking(repaired_codes, component)
        if not bad.size:
            continue
        for name in component.columns:
            repaired_codes[name] = repaired_codes[name].copy()
        rng = generator(component.columns)
        RecordRepair(repaired_codes, domain, component, factors).mend(bad, rng)
        _borrow_columns(repaired_codes, domain, component, was_bad=bad, rng=rng)
    return repaired_codes


class RecordRepair:
    """Records of which columns of one component are drawn again. Those that agree on all that counts for a
    column have the same weights, which are worked out once."""

    def __init__(
        self,
        codes: dict[str, Column],
        domain: Domain,
        component: Component,
        factors: Sequence[Factor],
    ) -> None:
        self._codes, self._component, self._sizes = codes, component, domain.sizes
        self._factors = {
            name: [factor for factor in factors if name in factor[0]]
            for name in component.columns
        }

    def mend(self, rows: Places, rng: np.random.Generator) -> None:
        """One column of each record, if one is enough; else all of the component."""
        self._redraw_single_column(rows, rng)
        left = rows[~self._holds(rows)]
        for _ in range(_TRIES):
            if not left.size:
                return
            self._redraw_component(left, rng)
            left = left[~self._holds(left)]

    def _redraw_single_column(self, rows: Places, rng: np.random.Generator) -> None:
        names = self._component.columns
        shares = np.zeros((rows.size, len(names)))
        # Both loops over columns follow the order of the component, so that the same seed draws
        # the same records.
        for index, name in enumerate(names):
            for part, context, allowed, every in self._weights(name, rows, known=names):
                whole = every.sum(axis=1)
                share = np.divide(
                    allowed.sum(axis=1), whole, out=np.zeros_like(whole), where=whole > 0
                )
                shares[part, index] = share[context]
        can = shares.sum(axis=1) > 0
        chosen = _draw_codes(shares, np.arange(rows.size), rng)
        for index, name in enumerate(names):
            self._draw(name, rows[can & (chosen == index)], known=names, rng=rng)

    def _redraw_component(self, rows: Places, rng: np.random.Generator) -> None:
        known: list[str] = []
        for name in search_order(self._component):
            known.append(name)
            self._draw(name, rows, known=known, rng=rng)

    def _draw(
        self, name: str, rows: Places, *, known: Sequence[str], rng: np.random.Generator
    ) -> None:
        for part, context, allowed, _ in self._weights(name, rows, known=known):
            # Where no code fits, the record stays as it is and is repaired by a later step.
            can = allowed.sum(axis=1)[context] > 0
            self._codes[name][rows[part[can]]] = _draw_codes(allowed, context[can], rng)

    def _holds(self, rows: Places) -> NDArray[np.bool_]:
        names = self._component.columns
        return np.broadcast_to(
            self._component.holds({name: self._codes[name][rows] for name in names}), rows.shape
        )

    def _weights(
        self, name: str, rows: Places, *, known: Sequence[str]
    ) -> Iterator[tuple[Places, Places, Floats, Floats]]:
        """Part by part: which of the records, their context, and for each context the weights of all codes of
        a column given the rest: of what keeps to the constraints with the columns that are known, and of
        everything."""
        others = dict.fromkeys(
            [*known, *(other for clique, _ in self._factors[name] for other in clique)]
        )
        first, context = self._contexts(rows, [other for other in others if other != name])
        order = np.argsort(context, kind="stable")
        step = max(1, _CELLS // self._sizes[name])
        for start in range(0, first.size, step):
            ends = np.searchsorted(context, [start, start + step], sorter=order)
            part = order[ends[0] : ends[1]]
            allowed, every = self._of_contexts(
                name, rows[first[start : start + step]], known=known
            )
            yield part, context[part] - start, allowed, every

    def _of_contexts(
        self, name: str, rows: Places, *, known: Sequence[str]
    ) -> tuple[Floats, Floats]:
        every = np.ones((rows.size, self._sizes[name]))
        for clique, table in self._factors[name]:
            every *= table[tuple(self._along(other, rows, free=name) for other in clique)]
        codes = {other: self._along(other, rows, free=name) for other in (*known, name)}
        return np.where(self._component.holds(codes), every, 0.0), every

    def _contexts(self, rows: Places, columns: Sequence[str]) -> tuple[Places, Places]:
        """A record of each context, and the context of each record."""
        key, count = np.zeros(rows.size, dtype=np.int64), 1
        for name in columns:
            if count * self._sizes[name] > _MAX_KEY:
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                count = rows.size
            key = key * self._sizes[name] + self._codes[name][rows]
            count *= self._sizes[name]
        _, first, context = np.unique(key, return_index=True, return_inverse=True)
        return first, context

    def _along(self, name: str, rows: Places, *, free: str) -> NDArray[np.integer]:
        return (
            np.arange(self._sizes[name])[None, :]
            if name == free
            else self._codes[name][rows][:, None]
        )


def _breaking(codes: dict[str, Column], component: Component) -> Places:
    columns = {name: codes[name] for name in component.columns}
    return np.flatnonzero(
        ~np.broadcast_to(component.holds(columns), columns[component.columns[0]].shape)
    )


def _borrow_columns(
    codes: dict[str, Column],
    domain: Domain,
    component: Component,
    *,
    was_bad: Places,
    rng: np.random.Generator,
) -> None:
    """Copies all columns of the component from a record that needed no repair into each that
    still breaks it; if there is none, uses the one that the search found when the domain was
    declared."""
    bad = _breaking(codes, component)
    if not bad.size:
        return
    whole = np.ones(len(codes[component.columns[0]]), dtype=np.bool_)
    whole[was_bad] = False
    # A record of the same sample has a valid combination with about the model's frequency.
    sound = np.flatnonzero(whole)
    if sound.size:
        source = rng.choice(sound, size=bad.size)
        for name in component.columns:
            codes[name][bad] = codes[name][source]
        return
    record = witness(component, {attribute.name: attribute for attribute in domain.attributes})
    for name, code in (record or {}).items():
        codes[name][bad] = code


def _draw_codes(weights: Floats, lines: Places, rng: np.random.Generator) -> NDArray[np.intp]:
    """One place of a line of weights for each line named; lines without weight give anything."""
    steps = np.cumsum(weights, axis=1)
    steps /= np.maximum(steps[:, -1:], np.finfo(np.float64).tiny)
    # Lines one after another, each from its own whole number on, so that one search finds all.
    target = rng.random(lines.size) + lines
    flat = (steps + np.arange(len(weights))[:, None]).ravel()
    position = np.searchsorted(flat, target, side="right") - lines * weights.shape[1]
    last: NDArray[np.intp] = np.clip(position, 0, weights.shape[1] - 1).astype(np.intp)
    return last
