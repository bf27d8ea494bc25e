"""From the answers of `auto` to its model: estimates of all pairs, a tree to draw from, and targets of row
refinement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from synth_engine import watching
from synth_engine.domain import Domain
from synth_engine.inference import bins as binning
from synth_engine.inference import decomposable, mixture
from synth_engine.inference.mixture import COMPONENT_LEVEL, Mixture
from synth_engine.inference.tables import fit_margins
from synth_engine.measurement import Clique, Measurement
from synth_engine.mechanisms.auto import denoising, explained, groups, selection, triples
from synth_engine.mechanisms.auto.denoising import Fine, PairAnswers
from synth_engine.mechanisms.auto.group_tables import Group, GroupTables, Triple
from synth_engine.mechanisms.auto.prior import Prior, PublicPairs
from synth_engine.mechanisms.auto.selection import Answered, Columns, Pair
from synth_engine.mechanisms.auto.triples import TripleSearch
from synth_engine.models.binning import Binning
from synth_engine.models.model import (
    MAX_TARGET_CELLS,
    Model,
    Node,
    Table,
    generator,
    whole_weights,
)
from synth_engine.models.triple_mixture import TripleMixture
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate

Floats = npt.NDArray[np.float64]

BASE_MB = 150
"""Memory of a process that holds no table yet."""
_BYTES = 64
"""Memory of one cell of a target, in all its copies."""
_SEED = "auto/1"
_MIXTURES = 6
"""Number of fits of the mixture, each from its own random start, whose tables are averaged."""
_MIXTURES_OF_SEARCH = 3
"""The same where triples are looked for, which are compared with what pairs say: their noise counts for more
there."""
_MANY_PAIRS = 600
"""Number of pairs above which half as many mixtures are fitted: each takes longer, and is determined by more
answers."""
_USUAL = 1
"""The resolution at which tables of wide attributes are assumed to be measured in estimates of resources."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedAnswers:
    """The answers of a run by what they measure. oneways, again: the columns, and their second measurements
    if there are any; tables, triples, larger: of pairs, of three columns, and of more; distances: of pairs
    from independence, in L1, as a share of the records; scored: noisy distances of triples from what their
    pairs implied, in L1, in records; scores: of all pairs."""

    columns: Columns
    oneways: Sequence[Measurement]
    again: Sequence[Measurement]
    tables: Mapping[Pair, Answered]
    triples: Mapping[Triple, Answered]
    larger: Mapping[Group, Answered]
    distances: Mapping[Pair, float]
    scored: Mapping[Triple, float]
    scores: denoising.PairScores | None

    @property
    def groups(self) -> Mapping[Group, Answered]:
        """The tables of three columns and more."""
        tables = itertools.chain(self.triples.items(), self.larger.items())
        return dict[Group, Answered](tables)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairEstimates:
    """What the answers about columns and pairs say. rows: the number of records; histograms: of columns, by
    codes; counts: of pairs, by the finest bins; mixtures: those that pairs were predicted by; left: the part
    of the distances of measured pairs that these leave."""

    rows: int
    histograms: tuple[Floats, ...]
    fine: Fine
    counts: Mapping[Pair, Floats]
    mixtures: Sequence[Mixture]
    left: float


def pair_estimates(
    answers: SortedAnswers,
    *,
    memory_mb: int,
    prior: Prior | None = None,
    searching: bool = False,
) -> PairEstimates:
    """Estimate the number of records, all histograms and pairs. prior: a public table that is read beside the
    answers; searching: whether the estimates are those that triples are compared with."""
    columns = answers.columns
    usual = _MIXTURES_OF_SEARCH if searching else _MIXTURES
    mixtures = _mixtures_of(len(answers.distances), usual=usual)
    measured = [
        (axes, answer, table.levels)
        for axes, table in answers.tables.items()
        for answer in table.measurements
    ]
    rows, histograms = selection.refined_histograms(
        columns, answers.oneways, measured, answers.again
    )
    if prior is not None:
        once = [*answers.oneways, *answers.again]
        histograms = prior.histograms(columns, once, measured, histograms)
    fine = Fine.of(columns, rows=rows, histograms=histograms)
    public = None if prior is None else PublicPairs(prior=prior, columns=columns, fine=fine)
    observed = {
        pair: selection.combined(
            [
                selection.as_counts(columns, histograms, answer, pair, table.levels)
                for answer in table.measurements
            ]
        )
        for pair, table in answers.tables.items()
    }
    wanted = _wanted_pairs(fine, answers, memory_mb=memory_mb)
    with watching.part(0.0, 0.5):
        fitted = _mixtures(fine, observed, answers.distances, number=mixtures)

    def predict(noisy: PairAnswers, wanted: Sequence[Pair]) -> dict[Pair, Floats]:
        again = _mixtures(fine, noisy, answers.distances, number=mixtures)
        return _predictions(fine, again, wanted=wanted)

    with watching.part(0.5, 0.7):
        predictions = by_mixture = _predictions(fine, fitted, wanted=wanted)
    if public is not None:
        with watching.part(0.7, 0.8):
            predictions = public.mixed(predictions, observed, predict=predict)
    with watching.part(0.8, 1.0):
        counts = denoising.estimates(
            fine, predictions, observed, answers.distances, scores=answers.scores
        )
    read = {pair: table for pair, table in counts.items() if pair in observed}
    return PairEstimates(
        rows=rows,
        histograms=histograms,
        fine=fine,
        counts=counts,
        mixtures=fitted,
        left=explained.left_of_pairs(fine, by_mixture, read),
    )


def _wanted_pairs(fine: Fine, answers: SortedAnswers, *, memory_mb: int) -> list[Pair]:
    """The pairs whose tables there is memory for. Measured groups and their pairs come before all others."""
    taken = sum(
        math.prod(fine.histograms[axis].size for axis in group) for group in answers.groups
    )
    return affordable_pairs(
        fine,
        answers.distances,
        first=[pair for group in answers.groups for pair in itertools.combinations(group, 2)],
        then=answers.tables,
        room=target_cells(memory_mb) - taken,
    )


def model(
    answers: SortedAnswers, *, mechanism: str, memory_mb: int, prior: Prior | None = None
) -> Model:
    """Fit the model to these answers, read beside a public table if there is one. The same answers and table
    give the same model."""
    columns = answers.columns
    with watching.part(0.0, 0.8):
        fitted = pair_estimates(answers, memory_mb=memory_mb, prior=prior)
    watching.tell(0.8)
    tables = GroupTables(columns=columns, fine=fitted.fine, counts=fitted.counts, weights={})
    mixture = _mean_mixture(columns, fitted)
    names = columns.domain.names
    histograms = dict(zip(names, fitted.fine.histograms, strict=True))
    mixed = replace(tables, start=mixture.start(names, histograms))
    explained_by_mixture = explained.holds(
        TripleSearch(tables=tables),
        mixed,
        scored=answers.scored,
        measured=answers.triples,
        left_of_pairs=fitted.left,
    )
    if explained_by_mixture:
        tables = mixed
    # The tree gives the records to start from; the targets then correct all other pairs.
    order = _order(columns, fitted.fine, fitted.counts)
    network = tuple(Node(attribute=step.attribute, parents=step.parents) for step in order)
    sampled = tuple(
        Table(clique=(*step.parents, step.attribute), weights=whole_weights(step.table))
        for step in order
    )
    targets: list[tuple[tuple[int, ...], Floats]] = [
        *fitted.counts.items(),
        *_groups(answers, tables).items(),
    ]
    return Model(
        mechanism=mechanism,
        domain=columns.domain,
        rows=fitted.rows,
        tables=sampled,
        network=network,
        targets=tuple(
            Table(clique=columns.clique(axes), weights=whole_weights(table))
            for axes, table in targets
        ),
        merged=_merged(columns, fitted.histograms),
        mixture=mixture if explained_by_mixture else None,
    )


def _mean_mixture(columns: Columns, fitted: PairEstimates) -> TripleMixture:
    """Return the mean of the mixtures as a model stores it: of all columns whose pairs are estimated."""
    used = sorted({axis for pair in fitted.counts for axis in pair})
    return TripleMixture.of(
        shares=np.concatenate([one.shares for one in fitted.mixtures]),
        columns={
            columns.domain.names[axis]: (
                np.concatenate([one.coarse[axis] for one in fitted.mixtures], axis=1),
                fitted.fine.levels[axis][COMPONENT_LEVEL],
            )
            for axis in used
        },
    )


def _groups(answers: SortedAnswers, tables: GroupTables) -> dict[Group, Floats]:
    """Estimate the tables of the measured groups of three columns and more, by the finest bins."""
    of_triples = {
        triple: _estimated(tables, triple, table) for triple, table in answers.triples.items()
    }
    larger = replace(tables, known=of_triples)
    estimated = itertools.chain(
        of_triples.items(),
        ((group, _estimated(larger, group, table)) for group, table in answers.larger.items()),
    )
    return dict[Group, Floats](estimated)


def _estimated(tables: GroupTables, group: Group, table: Answered) -> Floats:
    expected = tables.expected(group, table.levels)
    observed = [
        selection.around(expected, answer, table.levels) for answer in table.measurements
    ]
    return tables.estimate(group, selection.combined(observed))


def _merged(columns: Columns, histograms: Sequence[Floats]) -> tuple[Binning, ...]:
    """Return the bins of attributes with very many codes, and the shares of the codes within them."""
    finest = zip(columns.domain.names, columns.levels, histograms, strict=True)
    return tuple(
        Binning(attribute=name, bins=levels[0], within=whole_weights(histogram))
        for name, levels, histogram in finest
        if int(levels[0].max()) + 1 < histogram.size
    )


def _mixtures_of(pairs: int, *, usual: int) -> int:
    """Return by the mean of how many mixtures so many pairs are predicted."""
    return usual if pairs <= _MANY_PAIRS else usual // 2


def _mixtures(
    fine: Fine, tables: PairAnswers, distances: Mapping[Pair, float], *, number: int
) -> list[Mixture]:
    """Fit that many mixtures to the noisy tables of pairs."""
    pairs = [
        mixture.Pair(
            axes=pair,
            levels=(observed.levels[0], observed.levels[1]),
            values=observed.values,
            variance=observed.variance,
            distance=distances[pair],
        )
        for pair, observed in tables.items()
    ]
    # Public seeds: the same answers always give the same model.
    seeds = [generator(_SEED, purpose=("mixture", str(start))) for start in range(number)]
    return mixture.fits(fine.histograms, fine.levels, pairs, rows=fine.rows, rngs=seeds)


def _predictions(
    fine: Fine, mixtures: Sequence[Mixture], *, wanted: Sequence[Pair]
) -> dict[Pair, Floats]:
    """Predict pairs by the mean of the mixtures."""
    # One fit depends on where it starts; the mean of several is nearer to the truth.
    return {
        pair: fit_margins(
            np.mean([mixed.table(pair) for mixed in mixtures], axis=0) * fine.rows,
            fine.margins(pair),
            rounds=denoising.FIT_ROUNDS,
        )
        for pair in watching.each(wanted)
    }


def target_cells(memory_mb: int) -> int:
    """Return the number of cells that all targets may have together."""
    return min(MAX_TARGET_CELLS, (memory_mb - BASE_MB) * resources.MEGABYTE // _BYTES)


def affordable_pairs(
    fine: Fine,
    distances: Mapping[Pair, float],
    *,
    first: Collection[Pair],
    then: Collection[Pair],
    room: int,
) -> list[Pair]:
    """Return the pairs to estimate: all of `first`, and as many others as have room, in cells: those of
    `then` before the rest, and of either those that depend most."""
    needed = set(first)
    pairs = []
    for pair in sorted(
        distances,
        key=lambda pair: (pair not in needed, pair not in then, -distances[pair], pair),
    ):
        cells = math.prod(fine.histograms[axis].size for axis in pair)
        if pair in needed or cells <= room:
            pairs.append(pair)
            room -= cells
    return sorted(pairs)


def _order(
    columns: Columns, fine: Fine, counts: Mapping[Pair, Floats]
) -> list[decomposable.SamplingStep]:
    """Return the order in which attributes are drawn along a maximum spanning tree of the dependences."""
    strengths: dict[Clique, float] = {}
    for pair, table in counts.items():
        product = fine.independent(pair)
        strengths[columns.clique(pair)] = float(np.abs(table - product).sum())
    names = columns.domain.names
    axis_of = {name: axis for axis, name in enumerate(names)}
    edges = decomposable.spanning_tree(strengths, names)
    tables: dict[Clique, Floats] = {
        edge: counts[axis_of[edge[0]], axis_of[edge[1]]] for edge in edges
    }
    alone = [name for name in names if not any(name in edge for edge in edges)]
    tables |= {(name,): fine.histograms[axis_of[name]] for name in alone}
    return decomposable.sampling_order(tables, total=float(fine.rows))


def require_room(domain: Domain, *, memory_mb: int) -> None:
    """Check that at least a tree of pairs fits into memory. Errors: SpecError that names the columns to
    coarsen."""
    sizes = _bins(domain, 0)
    pairs = math.comb(len(sizes), 2)
    finest = math.prod(sorted(sizes.values())[-2:])
    tree = min(finest, selection.CELLS_MEASURED) * max(len(sizes) - 1, 1)
    cells = tree + pairs * 3 * binning.LEVELS[-1] ** 2
    least = ResourceEstimate(
        memory_bytes=BASE_MB * resources.MEGABYTE + cells * _BYTES, seconds=0.0
    )
    resources.require_within(least, memory_mb=memory_mb, sizes=domain.sizes)


def resources_needed(
    domain: Domain, *, rows: int, memory_mb: int, beside_prior: bool = False
) -> ResourceEstimate:
    """Estimate the cost beyond reading and drawing: scoring all pairs, measuring and estimating nearly all of
    them, at `_USUAL` where they have more bins, and refining rows towards as many as there is room for.
    beside_prior: whether the answers are read beside a public table, which takes a second fit to compare it
    with."""
    coarse = selection.score_level(math.comb(len(domain.names), 2))
    scored, mixed, read, finest = (
        _shapes(domain, level) for level in (coarse, mixture.COMPONENT_LEVEL, _USUAL, 0)
    )
    room = target_cells(memory_mb)
    cells = accumulate(math.prod(shape) for shape in finest)
    targets = [shape for shape, so_far in zip(finest, cells, strict=True) if so_far <= room]
    # All pairs are scored by one question, and measured one by one.
    asking = resources.of_groups(rows, scored, in_memory_at_once=True)
    asking += resources.of_pairs(rows, read, looks=1)
    asking += triples.resources_needed(domain, rows=rows)
    asking += groups.resources_needed(domain, rows=rows)
    width = max((max(shape) for shape in mixed), default=0)
    estimates = resources.of_estimates(read, columns=len(domain.names))

    def mixtures(usual: int) -> ResourceEstimate:
        fits = _mixtures_of(len(mixed), usual=usual)
        return resources.of_mixture(len(mixed), width=width, fits=fits)

    if len(domain.names) > 2:
        # Triples are looked for among estimates of pairs, whose memory is free again by the time of the fit.
        asking += replace(mixtures(_MIXTURES_OF_SEARCH) + estimates, memory_bytes=0)
    fitting = mixtures(_MIXTURES) + estimates
    if beside_prior:
        # The memory of the first fit is free again by then.
        fitting += replace(fitting, memory_bytes=0)
    return asking + fitting + resources.of_finish(rows, targets, attributes=len(domain.names))


def _bins(domain: Domain, level: int) -> dict[str, int]:
    """Return about how many bins each attribute has at a resolution."""
    return {
        attribute.name: min(attribute.size, binning.LEVELS[level])
        for attribute in domain.modelled
    }


def _shapes(domain: Domain, level: int) -> list[tuple[int, ...]]:
    """Return the shapes of the tables of all pairs at a resolution, smallest first."""
    sizes = {name: size for name, size in _bins(domain, level).items() if size > 1}
    return sorted(resources.groups_up_to(sizes, columns=2), key=math.prod)
