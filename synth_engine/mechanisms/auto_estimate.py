"""From the answers of `auto` to its model: every pair estimated, a tree to draw from, and wished counts for the finish."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.marginals import bins as binning
from synth_engine.marginals import decomposable, mixture, shrinkage
from synth_engine.measurement import Clique, Measurement
from synth_engine.mechanisms import auto_public, auto_reading
from synth_engine.mechanisms.auto_public import Columns, Pair
from synth_engine.mechanisms.auto_reading import Answered, Fine
from synth_engine.mechanisms.merged import Merged
from synth_engine.mechanisms.model import MOST_CELLS, Model, Node, Table, generator, whole_weights

Floats = npt.NDArray[np.float64]

BASE_MB = 150
"""What a process takes that holds no table yet."""
_BYTES = 64
"""Of one cell of a wished table, in all its copies."""
_SEED = "auto/1"


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
    wanted = kept(fine, tables, distances, memory_mb)
    foreseen = {pair: shrinkage.fitted(mixed.table(pair) * fine.rows, fine.margins(pair)) for pair in wanted}
    return auto_reading.estimates(fine, foreseen, tables, distances)


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
