"""From the answers of `auto` to its model: every pair estimated, a tree to draw from, and wished counts for the finish."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.marginals import bins as binning
from synth_engine.marginals import decomposable, mixture, shrinkage
from synth_engine.marginals.bins import Bins
from synth_engine.measurement import Clique, Measurement
from synth_engine.mechanisms import auto_public
from synth_engine.mechanisms.auto_public import Columns, Pair
from synth_engine.mechanisms.merged import Merged
from synth_engine.mechanisms.model import MOST_CELLS, Model, Node, Table, generator, whole_weights

Floats = npt.NDArray[np.float64]
Answered = Mapping[Pair, tuple[Measurement, tuple[int, ...]]]

BASE_MB = 150
"""What a process takes that holds no table yet."""
_BYTES = 64
"""Of one cell of a wished table, in all its copies."""
_NARROW, _FIRST = 2, 4
"""Codes of a narrow attribute, and the resolution at which its pairs are read first."""
_BETWEEN = 3
_CLOSE = 1.0
"""The distance from independence, in L1, from which on attributes nearly determine each other; 2 is the most."""
_SEED = "auto/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Fine:
    """Attributes as tables speak of them: by codes, or by the finest bins of those that have very many codes."""

    rows: int
    histograms: tuple[Floats, ...]
    levels: tuple[tuple[Bins, ...], ...]

    @classmethod
    def of(cls, columns: Columns, *, rows: int, histograms: Sequence[Floats]) -> Fine:
        return cls(
            rows=max(1, rows),
            histograms=tuple(
                binning.summed(one, [levels[0]]) for one, levels in zip(histograms, columns.levels, strict=True)
            ),
            levels=tuple(tuple(binning.relation(levels[0], level) for level in levels) for levels in columns.levels),
        )

    def margins(self, axes: Sequence[int]) -> list[tuple[tuple[int, ...], Floats]]:
        return [((place,), self.histograms[axis]) for place, axis in enumerate(axes)]


def model(
    columns: Columns,
    *,
    oneways: Sequence[Measurement],
    tables: Answered,
    distances: Mapping[Pair, float],
    mechanism: str,
    memory_mb: int,
) -> Model:
    """The model of these answers; the same answers give the same one."""
    rows, histograms = auto_public.precise(columns, oneways, tables)
    fine = Fine.of(columns, rows=rows, histograms=histograms)
    found = estimates(fine, tables, distances, memory_mb=memory_mb)
    order = _order(columns, fine, found)
    network = tuple(Node(attribute=one.attribute, parents=one.parents) for one in order)
    drawn = tuple(Table(clique=(*one.parents, one.attribute), weights=whole_weights(one.table)) for one in order)
    targets = tuple(Table(clique=columns.clique(pair), weights=whole_weights(table)) for pair, table in found.items())
    return Model(
        mechanism=mechanism,
        domain=columns.domain,
        rows=rows,
        tables=drawn,
        network=network,
        targets=targets,
        merged=_merged(columns, histograms),
    )


def _merged(columns: Columns, histograms: Sequence[Floats]) -> tuple[Merged, ...]:
    """The bins of attributes of very many codes, and how the codes are spread within them."""
    finest = zip(columns.domain.names, columns.levels, histograms, strict=True)
    return tuple(
        Merged(attribute=name, bins=levels[0], within=whole_weights(one))
        for name, levels, one in finest
        if int(levels[0].max()) + 1 < one.size
    )


def estimates(fine: Fine, tables: Answered, distances: Mapping[Pair, float], *, memory_mb: int) -> dict[Pair, Floats]:
    """Counts of all pairs, those of which something is known first; of the others as many as there is room for."""
    pairs = [
        mixture.Pair(
            axes=pair,
            levels=(levels[0], levels[1]),
            values=answer.values.astype(np.float64),
            variance=answer.noise.variance,
            distance=distances[pair],
        )
        for pair, (answer, levels) in tables.items()
    ]
    rng = generator(_SEED, purpose=("mixture",))
    mixed = mixture.fit(fine.histograms, fine.levels, pairs, rows=fine.rows, rng=rng)
    taken = kept(fine, tables, distances, memory_mb)
    found = {
        pair: _estimate(fine, pair, mixed.table(pair) * fine.rows, tables.get(pair), distance=distances[pair])
        for pair in taken
    }
    return _by_ways_round(fine, found, tables, distances)


def _by_ways_round(
    fine: Fine, found: dict[Pair, Floats], tables: Answered, distances: Mapping[Pair, float]
) -> dict[Pair, Floats]:
    """The tables once more, where a third attribute explains a pair better than the mixture does: two that both go with
    it closely, closer than a few components can say. Which one is better is judged by the pair's own noisy answer."""
    near = _nearest(fine, found)
    again = dict(found)
    for pair, (answer, levels) in tables.items():
        if pair not in found or pair not in near:
            continue
        bins = [fine.levels[axis][level] for axis, level in zip(pair, levels, strict=True)]
        way = _through(fine, pair, near[pair], found)
        values = answer.values.astype(np.float64)
        ours, other = (float(((binning.summed(one, bins) - values) ** 2).sum()) for one in (found[pair], way))
        noise = answer.noise.variance * math.sqrt(2 * values.size)
        if other < ours - noise:
            again[pair] = _estimate(fine, pair, way, (answer, levels), distance=distances[pair])
    return again


def _nearest(fine: Fine, found: Mapping[Pair, Floats]) -> dict[Pair, int]:
    """For each pair the third attribute that goes most with both, if it goes more with each than they do together."""
    count = len(fine.histograms)
    close = np.zeros((count, count))
    for (a, b), table in found.items():
        product = np.multiply.outer(fine.histograms[a], fine.histograms[b]) / fine.rows
        close[a, b] = close[b, a] = float(np.abs(table - product).sum())
    best: dict[Pair, int] = {}
    for a, b in found:
        third = int(np.minimum(close[a], close[b]).argmax())
        if min(close[a, third], close[b, third]) > close[a, b]:
            best[a, b] = third
    return best


def _through(fine: Fine, pair: Pair, third: int, found: Mapping[Pair, Floats]) -> Floats:
    """The table of a pair that is independent given a third attribute."""
    first, second = (found[axis, third] if axis < third else found[third, axis].T for axis in pair)
    table: Floats = (first / np.maximum(fine.histograms[third], 1e-9)) @ second.T
    return table


def kept(fine: Fine, tables: Answered, distances: Mapping[Pair, float], memory_mb: int) -> list[Pair]:
    """Pairs whose tables find room: the measured ones, then the others, those that depend most first."""
    room = min(MOST_CELLS, (memory_mb - BASE_MB) * 1_000_000 // _BYTES)
    found = []
    for pair in sorted(distances, key=lambda one: (one not in tables, -distances[one], one)):
        cells = math.prod(fine.histograms[axis].size for axis in pair)
        if cells <= room:
            found.append(pair)
            room -= cells
    return sorted(found)


def _estimate(
    fine: Fine,
    pair: Pair,
    expected: Floats,
    answered: tuple[Measurement, tuple[int, ...]] | None,
    *,
    distance: float,
) -> Floats:
    """What one expects and, if the pair was measured, the ratios to it that its own answer shows."""
    margins = fine.margins(pair)
    found = shrinkage.fitted(expected, margins)
    if answered is None:
        return found
    answer, levels = answered
    grid = shrinkage.WIDE if distance >= _CLOSE else shrinkage.GRID
    values, variance = answer.values.astype(np.float64), answer.noise.variance
    law: shrinkage.Law = "laplace" if answer.noise.law == "discrete-laplace" else "gaussian"
    bins = [fine.levels[axis][level] for axis, level in zip(pair, levels, strict=True)]
    for coarser in _steps(fine, pair, levels):
        between = [binning.relation(one, more) for one, more in zip(bins, coarser, strict=True)]
        sums = binning.summed(values, between)
        noise = variance * values.size / sums.size
        ratios = shrinkage.shrunk(sums, binning.summed(found, coarser), variance=noise, law=law, grid=grid)
        found = shrinkage.fitted(found * ratios[np.ix_(*coarser)], margins, rounds=_BETWEEN)
    ratios = shrinkage.shrunk(values, binning.summed(found, bins), variance=variance, law=law, grid=grid)
    return shrinkage.fitted(found * ratios[np.ix_(*bins)], margins)


def _steps(fine: Fine, pair: Pair, levels: Sequence[int]) -> list[list[Bins]]:
    """Coarser views at which an answer is read first: of pairs with an attribute of two codes. What such an attribute
    depends on is a trend along the other one, which single cells, some of them nearly empty, are too noisy to show."""
    if min(fine.histograms[axis].size for axis in pair) > _NARROW:
        return []
    coarser = [max(level, _FIRST) for level in levels]
    views = [fine.levels[axis][level] for axis, level in zip(pair, coarser, strict=True)]
    same = all(
        fine.levels[axis][level].max() == view.max() for axis, level, view in zip(pair, levels, views, strict=True)
    )
    return [] if same else [views]


def _order(columns: Columns, fine: Fine, found: Mapping[Pair, Floats]) -> list[decomposable.Drawn]:
    """A tree of the pairs that depend most on each other, and the order in which attributes are drawn along it."""
    strengths: dict[Clique, float] = {}
    for pair, table in found.items():
        product = np.multiply.outer(*(fine.histograms[axis] for axis in pair)) / fine.rows
        strengths[columns.clique(pair)] = float(np.abs(table - product).sum())
    names = columns.domain.names
    place = {name: axis for axis, name in enumerate(names)}
    edges = decomposable.spanning_tree(strengths, names)
    tables: dict[Clique, Floats] = {edge: found[place[edge[0]], place[edge[1]]] for edge in edges}
    alone = [name for name in names if not any(name in edge for edge in edges)]
    tables |= {(name,): fine.histograms[place[name]] for name in alone}
    return decomposable.drawing(tables, total=float(fine.rows))


def require_room(domain: Domain, *, memory_mb: int) -> None:
    """Errors: SpecError if even a tree of pairs does not fit, naming the columns to coarsen."""
    sizes = sorted(((min(a.size, binning.LEVELS[0]), a.name) for a in domain.modelled), key=lambda one: -one[0])
    pairs = len(sizes) * (len(sizes) - 1) // 2
    finest = math.prod(size for size, _ in sizes[:2])
    cells = min(finest, auto_public.CELLS_MEASURED) * max(len(sizes) - 1, 1) + pairs * 3 * binning.LEVELS[-1] ** 2
    if BASE_MB + cells * _BYTES / 1_000_000 <= memory_mb:
        return
    names = ", ".join(f"“{name}”" for _, name in sizes[:3])
    raise SpecError(
        f"memory_mb is too small for this table: fitting takes about {BASE_MB + cells * _BYTES // 1_000_000:,}",
        repair=f"allow more, or describe the widest columns with fewer values: {names}",
    )
