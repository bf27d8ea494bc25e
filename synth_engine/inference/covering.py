"""Which groups of attributes to measure: covering designs and random groups, from the sizes of attributes
alone.

A group has at most so many cells; one attribute that has more stands alone. Every attribute is in some group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synth_engine.inference.consistency import Axes


def covering(
    sizes: Sequence[int],
    *,
    cells: int,
    rng: np.random.Generator,
    max_groups: int | None = None,
    start: Sequence[Axes] = (),
) -> list[Axes]:
    """Groups in which every pair of attributes that fits into one stands together in at least one (a greedy
    covering design; ties at random). max_groups: stop after so many, though every attribute is covered first.
    start: groups that there are already."""
    number = len(sizes)
    whole = np.array(sizes, dtype=np.float64)
    open_ = np.outer(whole, whole) <= cells
    np.fill_diagonal(open_, False)
    alone = np.ones(number, dtype=bool)
    groups: list[Axes] = list(start)
    for group in map(list, start):
        open_[np.ix_(group, group)] = False
        alone[group] = False
    while open_.any() or alone.any():
        # Every attribute has to be measured once, even if that exceeds the number of groups
        # asked for.
        if max_groups is not None and len(groups) >= max_groups and not alone.any():
            break
        urgent = max_groups is not None and len(groups) + 1 >= max_groups
        group = _group(open_, alone, whole, cells=cells, rng=rng, urgent=urgent)
        open_[np.ix_(group, group)] = False
        alone[group] = False
        groups.append(tuple(sorted(group)))
    return without_parts(groups)


def covering_triples(
    sizes: Sequence[int], *, cells: int, rng: np.random.Generator, max_groups: int
) -> list[Axes] | None:
    """Groups in which every three attributes that fit into one stand together in at least one, and then every
    pair that fits (a greedy covering design; ties at random). None where it takes more than max_groups."""
    number = len(sizes)
    whole = np.array(sizes, dtype=np.float64)
    open_ = np.multiply.outer(np.outer(whole, whole), whole) <= cells
    for axis in range(number):
        open_[axis, axis] = open_[axis, :, axis] = open_[:, axis, axis] = False
    # Of each attribute, twice the number of triples with it that no group has.
    waiting = open_.sum(axis=(1, 2))
    groups: list[Axes] = []
    while waiting.any():
        if len(groups) == max_groups:
            return None
        group = _group_of_triples(open_, waiting, whole, cells=cells, rng=rng)
        inside = np.ix_(group, group, group)
        waiting[group] -= open_[inside].sum(axis=(1, 2))
        open_[inside] = False
        groups.append(tuple(sorted(group)))
    complete = covering(sizes, cells=cells, rng=rng, start=groups)
    return complete if len(complete) <= max_groups else None


def _group_of_triples(
    open_: np.ndarray,
    waiting: np.ndarray,
    sizes: np.ndarray,
    *,
    cells: int,
    rng: np.random.Generator,
) -> list[int]:
    """Starts with the triple that is open and whose attributes have most open ones, and adds those of most
    gain."""
    # Less than one triple, so it decides between equal gains only.
    spice = rng.random(sizes.size) * 0.5
    first = int(np.argmax(waiting + spice))
    pairs = np.where(open_[first], np.add.outer(waiting + spice, waiting + spice), -1.0)
    second, third = (int(axis) for axis in np.unravel_index(np.argmax(pairs), pairs.shape))
    group = [first, second, third]
    while True:
        fits = sizes * np.prod(sizes[group]) <= cells
        fits[group] = False
        gains = open_[:, group][:, :, group].sum(axis=(1, 2)).astype(np.float64)
        # Gain for each bit of table size, as of pairs.
        scores = np.where(fits, gains / np.maximum(np.log2(sizes), 0.5) + spice, -1.0)
        best = int(np.argmax(scores))
        if not fits[best] or gains[best] == 0:
            return group
        group.append(best)


def at_random(
    sizes: Sequence[int], *, cells: int, number: int, rng: np.random.Generator
) -> list[Axes]:
    """So many different groups, each filled with attributes in random order as long as they fit; fewer where
    there are no more to be found, more where so many do not reach every attribute."""
    groups: dict[Axes, None] = {}
    tries = 0
    missing = set(range(len(sizes)))
    while (len(groups) < number and tries < 20 * number) or missing:
        tries += 1
        order = rng.permutation(len(sizes)).tolist()
        if len(groups) >= number or tries >= 20 * number:
            order.sort(key=lambda attribute: attribute not in missing)
        group: list[int] = []
        filled = 1
        for attribute in order:
            if filled * sizes[attribute] <= cells or not group:
                group.append(attribute)
                filled *= sizes[attribute]
        groups[tuple(sorted(group))] = None
        missing -= set(group)
    return without_parts(groups)


def without_parts(groups: Sequence[Axes] | dict[Axes, None]) -> list[Axes]:
    """The groups that are no part of another one, in their order."""
    unique = dict.fromkeys(groups)
    sets = {group: frozenset(group) for group in unique}
    return [group for group in unique if not any(sets[group] < sets[other] for other in unique)]


def _group(
    open_: np.ndarray,
    alone: np.ndarray,
    sizes: np.ndarray,
    *,
    cells: int,
    rng: np.random.Generator,
    urgent: bool,
) -> list[int]:
    """Starts with the attribute of most pairs that are still open and adds, one after the other, those of
    most gain."""
    number = sizes.size
    # Less than one pair, so it decides between equal gains only.
    spice = rng.random(number) * 0.5
    start = int(
        np.argmax(open_.sum(axis=1) + number**2 * (alone & (urgent | ~open_.any())) + spice)
    )
    group, filled = [start], float(sizes[start])
    gains = open_[start].astype(np.float64)
    inside = np.zeros(number, dtype=bool)
    inside[start] = True
    while True:
        fits = ~inside & (sizes * filled <= cells)
        value = np.where(fits, gains + number * alone * urgent, -1.0)
        # Gain for each bit of table size: a large attribute has to bring more pairs.
        score = np.where(fits, value / np.maximum(np.log2(sizes), 0.5) + spice / number, -1.0)
        best = int(np.argmax(score))
        if value[best] <= 0:
            return group
        group.append(best)
        inside[best] = True
        filled *= sizes[best]
        gains += open_[best]
