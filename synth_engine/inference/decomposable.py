"""Closed-form inference for decomposable sets of cliques; rows are drawn one attribute after the other.

A set of cliques is *decomposable* if it has a junction tree: a tree on the cliques with the running
intersection property, that what two cliques share lies in every clique on the path between them. The
distribution of maximum entropy with given marginals is then the product of the clique tables divided by the
tables of the separators. It factors into a conditional table of each attribute given a few earlier ones,
without iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synth_engine.inference import factors, oneway, residuals
from synth_engine.inference.factors import Floats, Mask, Noisy, Sizes
from synth_engine.measurement import Clique


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A clique of a junction tree and its separator: what it shares with an earlier clique, empty where it
    starts a new tree."""

    clique: Clique
    separator: Clique


@dataclass(frozen=True, kw_only=True, eq=False)
class SamplingStep:
    """One step of drawing. attribute: what is drawn; parents: the attributes on which it depends; table:
    expected counts, shape (codes of each parent …, codes of the attribute)."""

    attribute: str
    parents: Clique
    table: Floats


def is_decomposable(cliques: Sequence[Clique]) -> bool:
    """Return whether a tree on these cliques has the running intersection property.

    On a tree, an attribute lies in exactly one clique more than in separators if its cliques are connected,
    and in at least two more if not. A maximum spanning tree by separator size therefore decides: it is a
    junction tree if and only if the sizes of cliques less those of separators add up to the number of
    attributes.
    """
    tree = junction_tree(cliques)
    shared = sum(len(edge.separator) for edge in tree)
    return sum(len(edge.clique) for edge in tree) - shared == len(
        {name for clique in cliques for name in clique}
    )


def junction_tree(cliques: Sequence[Clique]) -> list[Edge]:
    """Return a maximum spanning tree of the maximal cliques, by separator size, in an order from its root
    (Prim 1957)."""
    remaining = maximal(cliques)
    order: list[Edge] = []
    shared: dict[Clique, Clique] = dict.fromkeys(remaining, ())
    while remaining:
        clique = max(remaining, key=lambda candidate: len(shared[candidate]))
        remaining.remove(clique)
        order.append(Edge(clique=clique, separator=shared.pop(clique)))
        for other in remaining:
            common = tuple(name for name in other if name in clique)
            if len(common) > len(shared[other]):
                shared[other] = common
    return order


def maximal(cliques: Sequence[Clique]) -> list[Clique]:
    """Return the cliques that lie in no other one; of two with the same attributes, the first."""
    sets = [frozenset(clique) for clique in cliques]
    return [
        clique
        for index, clique in enumerate(cliques)
        if not any(sets[index] < other for other in sets) and sets[index] not in sets[:index]
    ]


def spanning_tree(weights: Mapping[Clique, float], names: Sequence[str]) -> list[Clique]:
    """Return the edges of a maximum spanning forest, heaviest first (Kruskal 1956). Ties go to the earlier
    pair; pairs without weight are left out."""
    groups = {name: name for name in names}

    def group(name: str) -> str:
        while groups[name] != name:
            name = groups[name]
        return name

    edges = []
    for pair in sorted(weights, key=lambda candidate: -weights[candidate]):
        first, second = group(pair[0]), group(pair[1])
        # An edge within one component would close a cycle.
        if first != second and weights[pair] > 0:
            groups[first] = second
            edges.append(pair)
    return edges


def fit(
    noisy: Sequence[Noisy],
    *,
    sizes: Sizes,
    total: float,
    cliques: Sequence[Clique] = (),
    possible: Mapping[Clique, Mask] | None = None,
) -> list[SamplingStep]:
    """Fit a conditional table of every attribute of `sizes`, given a few earlier ones, to noisy tables.

    Overlapping tables are made consistent by weighted least squares, in closed form. Negative counts are then
    removed by projection onto the simplex, and the sums over a separator are taken from the earlier clique.
    cliques: those of which the network is made; by default those that were measured. Errors: ValueError if
    they are not decomposable.
    """
    chosen = [
        factors.ordered(clique, sizes)
        for clique in cliques or [table.clique for table in noisy]
    ]
    chosen += [(name,) for name in sizes if not any(name in clique for clique in chosen)]
    if not is_decomposable(chosen):
        raise ValueError("these cliques are not decomposable")
    tables = residuals.estimate(noisy, sizes=sizes, wanted=maximal(chosen), total=total)
    return sampling_order(tables, total=total, possible=possible)


def sampling_order(
    tables: Mapping[Clique, Floats],
    *,
    total: float,
    possible: Mapping[Clique, Mask] | None = None,
) -> list[SamplingStep]:
    """Return the steps of drawing for decomposable tables, which may hold negative counts or disagree where
    they overlap."""
    order: list[SamplingStep] = []
    for edge in junction_tree(list(tables)):
        given = edge.separator
        fresh = tuple(name for name in edge.clique if name not in given)
        clique = (*given, *fresh)
        table = np.asarray(
            factors.turned(tables[edge.clique], edge.clique, clique), dtype=np.float64
        )
        mask = (possible or {}).get(edge.clique)
        allowed = (
            None
            if mask is None
            else np.asarray(factors.turned(mask, edge.clique, clique), dtype=np.bool_)
        )
        known = _separator_table(order, given) if given else np.asarray(float(total))
        # The separator was fixed by an earlier clique, so this clique takes its sums from
        # there.
        table = with_sums(table, known, allowed=allowed)
        for position, name in enumerate(fresh, start=len(given)):
            parents = clique[:position]
            order.append(
                SamplingStep(
                    attribute=name,
                    parents=parents,
                    table=factors.margin(table, clique, (*parents, name)),
                )
            )
    return order


def _tree_path(start: str, end: str, above: Mapping[str, str]) -> list[str]:
    """Return the attributes on the path between two attributes, both included; empty if they lie in different
    trees."""

    def upwards(name: str) -> list[str]:
        path = [name]
        while path[-1] in above:
            path.append(above[path[-1]])
        return path

    up, down = upwards(start), upwards(end)
    meeting = next((name for name in up if name in down), None)
    if meeting is None:
        return []
    return [*up[: up.index(meeting) + 1], *reversed(down[: down.index(meeting)])]


def _table_along_path(
    path: Sequence[str], tables: Mapping[Clique, Floats], *, last: Floats
) -> Floats:
    """Return the joint table of the first attribute of a path and the attribute of `last`, which is
    conditional on the path's end. The products are taken in the cheapest order, so that no table of two wide
    attributes is built on the way."""
    steps = [tables[a, b] if (a, b) in tables else tables[b, a].T for a, b in pairwise(path)]
    given = [
        np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)
        for table in steps[1:]
        for sums in [np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape)]
    ]
    joint: Floats = np.linalg.multi_dot([steps[0], *given, last])
    return joint


def with_sums(table: Floats, sums: Floats, *, allowed: Mask | None = None) -> Floats:
    """Return a table without negative counts whose sums over its last axes are `sums`, a table over its first
    axes.

    The whole table is projected onto the simplex before its rows are scaled: a threshold of its own for each
    row would keep the largest noise of rows that hold little. A row of which nothing is left follows the
    others. Cells that are not allowed are zero, unless a row that has to add up to something has no others.
    """
    rows = int(np.prod(sums.shape, dtype=np.int64))
    wanted = np.maximum(sums.reshape(rows), 0.0)
    permitted = (
        np.ones((rows, table.size // rows), dtype=np.bool_)
        if allowed is None
        else allowed.reshape(rows, -1)
    )
    permitted = np.where(permitted.any(axis=1, keepdims=True), permitted, True)
    flat = np.zeros(permitted.shape)
    # One threshold for the whole table: thresholds by row would keep the largest noise of
    # nearly empty rows.
    flat[permitted] = oneway.project_to_simplex(
        table.reshape(permitted.shape)[permitted], total=float(wanted.sum())
    )
    # A row that lost all its mass takes the distribution of the other rows.
    others = np.where(permitted, flat.sum(axis=0), 0.0)
    others = np.where(others.sum(axis=1, keepdims=True) > 0, others, permitted)
    flat = np.where(flat.sum(axis=1, keepdims=True) > 0, flat, others)
    scaled: Floats = flat * (wanted / flat.sum(axis=1))[:, None]
    return scaled.reshape(table.shape)


def _separator_table(order: Sequence[SamplingStep], names: Clique) -> Floats:
    """Return the table of a separator, by the step that drew the last of its attributes given the others."""
    for step in reversed(order):
        clique = (*step.parents, step.attribute)
        if set(names) <= set(clique):
            last = step
    return factors.margin(last.table, (*last.parents, last.attribute), names)


def pair_tables(
    order: Sequence[SamplingStep], *, total: float, largest: int | None = None
) -> dict[Clique, Floats]:
    """Return the table of every pair of attributes of a network in which each attribute has at most one
    parent, in the order of drawing. Conditional tables are multiplied along the path between the two (Markov
    property). Pairs of more than `largest` cells are left out, and are not built as intermediate results
    either."""
    pairs: dict[Clique, Floats] = {}
    sums: dict[str, Floats] = {}
    above: dict[str, str] = {}
    for step in order:
        name, table = step.attribute, np.maximum(step.table, 0.0)
        if step.parents:
            (parent,) = step.parents
            above[name] = parent
            given = np.divide(
                table,
                table.sum(axis=1, keepdims=True),
                out=np.zeros_like(table),
                where=table > 0,
            )
        for other, known in sums.items():
            if (
                largest is not None
                and known.size * table.shape[-1] > largest
                and other not in step.parents
            ):
                continue
            if not step.parents:
                pairs[other, name] = np.multiply.outer(known, table) / max(total, 1.0)
            elif other == parent:
                pairs[other, name] = table
            elif (other, parent) in pairs or (parent, other) in pairs:
                before = (
                    pairs[other, parent] if (other, parent) in pairs else pairs[parent, other].T
                )
                pairs[other, name] = before @ given
            elif path := _tree_path(other, parent, above):
                pairs[other, name] = _table_along_path(path, pairs, last=given)
            else:
                pairs[other, name] = np.multiply.outer(known, table.sum(axis=0)) / max(
                    total, 1.0
                )
        sums[name] = table.sum(axis=0) if step.parents else table
    return pairs
