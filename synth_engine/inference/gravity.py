"""Who comes from where, learned from groups that were drawn anew with a prior: a gravity model, and how far
each group's own draw is to be believed beside it.

A record of group d lies in part p with a share q_dp proportional to the part's public weight near d, times a
worth of the part, times a factor of distance, times what groups near d have in common (Wilson 1967, "A
statistical theory of spatial distribution models"). Of those drawn, the chance that a record rather than the
prior explains one is n q / (n q + alpha), so that all of it is fitted by expectation and maximisation. How
much groups of a size differ from their q is seen in their mean distances, whose variance by chance is known:
the Dirichlet-multinomial law tells it. All is post-processing of the draw and public facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain.resolution import cells
from synth_engine.inference.geography import GOLDEN, MAX_CACHED_PAIRS, Floats, Geography, Whole

_EDGES = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40]) / 6
"""Edges of the distance bins that have a factor each, in units of the scale of the public decay."""
_ROUNDS = 30
"""EM iterations."""
_MAX_AREAS, _GROUPS_PER_AREA = 128, 8
_AREA_PSEUDO_RECORDS = 50.0
"""Pseudo-count, in records, of the model where areas of groups are shrunk towards it: an area with as many
records counts for half."""
_PSEUDO_GROUPS = 10.0
"""Pseudo-count of the prior of the variance between groups: so many groups of each size class that are as
unlike their q as can be."""
_MAX_BLOCK_CELLS = 1 << 20
_STEPS, _LAST = 32, 65_535
"""Distances are put in order by steps of 1/32 mile."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draw:
    """Records drawn anew, by group and part; `groups`, `parts`, `counts`: of cells that are not empty, by
    increasing group. sizes: of each group; alpha: the prior of each part, in records, by group. beyond: parts
    that lie nowhere, the last ones."""

    groups: Whole
    parts: Whole
    counts: Whole
    sizes: Whole
    alpha: Floats
    beyond: int = 0

    def rows(self) -> Iterator[tuple[int, slice]]:
        """Each group that is not empty, and where its cells are."""
        ends = np.searchsorted(self.groups, np.arange(self.sizes.size + 1))
        for group in np.flatnonzero(self.sizes):
            yield int(group), slice(int(ends[group]), int(ends[group + 1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Gravity:
    """`worth`: of each part; `factors`: of each distance; `common`: of areas of groups by parts; `area`: of
    each group."""

    attraction: Floats
    factors: Floats
    common: Floats
    area: Whole
    edges: Floats

    @classmethod
    def public(cls, draw: Draw, geography: Geography) -> Gravity:
        """Nothing but the public decay."""
        parts = geography.parts + draw.beyond
        area = np.zeros(draw.sizes.size, dtype=np.int64)
        edges = _EDGES * geography.scale
        attraction = np.where(
            np.arange(parts) < geography.parts, 1.0, 0.0
        )  # what lies nowhere has no distance to judge it by
        return cls(
            attraction=attraction,
            factors=np.ones(edges.size + 2),
            common=np.ones((1, parts)),
            area=area,
            edges=edges,
        )

    def shares(
        self, mass: Floats, distance: Floats, areas: npt.NDArray[Any] | slice
    ) -> tuple[Floats, Whole]:
        """q of each row, and the place of each distance among the factors."""
        at = distance_bins(distance, self.edges)
        weights = mass * self.attraction * self.factors[at] * self.common[areas]
        return weights / weights.sum(axis=1, keepdims=True), at


def distance_bins(distance: Floats, edges: Floats) -> Whole:
    """Parts that lie nowhere (NaN) have the last place to themselves."""
    positions = np.searchsorted(edges, np.nan_to_num(distance), side="right")
    return np.where(np.isnan(distance), edges.size + 1, positions).astype(np.int64)


def with_beyond(mass: Floats, distance: Floats, beyond: int) -> tuple[Floats, Floats]:
    """Parts that lie nowhere added: each has the mean mass of the others, and no distance."""
    rows = len(mass)
    extra = np.repeat(mass.mean(axis=1, keepdims=True), beyond, axis=1)
    return np.hstack([mass, extra]), np.hstack([distance, np.full((rows, beyond), np.nan)])


def fit(draw: Draw, geography: Geography, *, area: Whole) -> Gravity:
    """The model that makes the draw likely. area: of each group, among the areas that have something in
    common, from 0 on."""
    parts, areas = geography.parts + draw.beyond, int(area.max()) + 1
    centres = geography.centres(area, np.maximum(draw.sizes, 1e-3).astype(np.float64))
    mass, distance = with_beyond(*geography.view_from(centres), draw.beyond)
    start = Gravity.public(draw, geography)
    attraction, factors = np.ones(parts), start.factors
    at = distance_bins(distance, start.edges)
    key = area[draw.groups] * parts + draw.parts
    n, alpha = draw.sizes[draw.groups], draw.alpha[draw.groups]
    of_parts: Floats = np.zeros((areas, parts))
    for _ in range(_ROUNDS):
        q = _row_shares(mass * attraction * factors[at])
        # E-step: the chance that a drawn record comes from a record of the group and not
        # from the prior of its part.
        likelihood = n * q.ravel()[key]
        of_records = np.bincount(
            key, draw.counts * likelihood / (likelihood + alpha), areas * parts
        ).astype(np.float64)
        of_parts = of_records.reshape(areas, parts)
        # M-step for the factors of distance: observed over expected records of each
        # distance bin.
        expected = q * of_parts.sum(axis=1, keepdims=True)
        places = factors.size
        # Both sides are smoothed by one record, so that an empty distance bin has factor 1
        # and not 0.
        factors = factors * (np.bincount(at.ravel(), of_parts.ravel(), places) + 1)
        factors /= np.bincount(at.ravel(), expected.ravel(), places) + 1
        expected = _row_shares(mass * attraction * factors[at]) * of_parts.sum(
            axis=1, keepdims=True
        )
        # M-step for the attraction of parts, given the new factors; smoothed by one record
        # likewise.
        attraction = attraction * (of_parts.sum(axis=0) + 1) / (expected.sum(axis=0) + 1)
    q = _row_shares(mass * attraction * factors[at])
    # Areas are shrunk towards the model: a pseudo-count of `_AREA_PSEUDO_RECORDS` records
    # follows q.
    near = (_AREA_PSEUDO_RECORDS * q + of_parts) / (
        _AREA_PSEUDO_RECORDS + of_parts.sum(axis=1, keepdims=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        common = np.where(q > 0, near / q, 1.0)
    return Gravity(
        attraction=attraction, factors=factors, common=common, area=area, edges=start.edges
    )


def _row_shares(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def posterior_counts(
    draw: Draw, geography: Geography, model: Gravity, *, filtered: bool, shrunk: bool
) -> tuple[Whole, Whole, Whole]:
    """Groups, parts and counts of cells after the draw was weighed against the model; each group keeps its
    size. filtered: what the prior explains better than a record is spread by q. shrunk: groups are drawn
    towards their q as far as groups of their size are like theirs."""
    rows = _Rows(draw, geography, model)
    shrinkage = (
        _shrinkage_weights(draw, rows, parts=geography.parts + draw.beyond)
        if shrunk
        else np.ones(draw.sizes.size)
    )
    weighed: list[tuple[Whole, Whole, Whole]] = []
    for group, where in draw.rows():
        q, distance = rows.row(group)
        parts, n = draw.parts[where], draw.sizes[group]
        # A part without a location cannot be judged by distance, so its records are never
        # filtered out.
        likelihood = np.where(
            (parts >= geography.parts) & (q[parts] == 0), np.inf, n * q[parts]
        )
        with np.errstate(divide="ignore"):
            of_records = (
                1 / (1 + draw.alpha[group] / likelihood) if filtered else likelihood > 0
            )
        # Linear shrinkage: the group keeps this much of its own draw, and the model fills
        # up the rest.
        own = draw.counts[where] * of_records * shrinkage[group]
        wanted = max(0.0, n - own.sum()) * q
        wanted[parts] += own
        counts = round_in_order(wanted, by=distance, total=int(n), start=(group * GOLDEN) % 1.0)
        nonempty = np.flatnonzero(counts)
        weighed.append((np.full(nonempty.size, group), nonempty, counts[nonempty]))
    groups, parts, counts = (
        np.concatenate(cells_of).astype(np.int64) for cells_of in zip(*weighed, strict=True)
    )
    return groups, parts, counts


def round_in_order(wanted: Floats, *, by: Floats, total: int, start: float) -> Whole:
    """Whole numbers that add up to `total`, near to `wished` ones: every (sum / total)-th record in the order
    of `by`, from `start` of a step on, so that means of `by` hardly change. Averaged over starts from 0 to 1
    they are the wished ones."""
    steps = np.minimum(np.nan_to_num(by, nan=np.inf) * _STEPS, _LAST).astype(np.uint16)
    order = np.argsort(
        steps, kind="stable"
    )  # of short whole numbers: in time that grows with their number alone
    sums = np.cumsum(wanted[order])
    marks = (np.arange(total) + start) * (sums[-1] / total)
    chosen = order[np.minimum(np.searchsorted(sums, marks, side="right"), sums.size - 1)]
    return np.bincount(chosen, minlength=wanted.size).astype(np.int64)


def areas(at: Sequence[tuple[float, float, float]]) -> Whole:
    """Areas of groups near each other, some groups each."""
    return np.array(
        cells(at, max(1, min(_MAX_AREAS, len(at) // _GROUPS_PER_AREA))), dtype=np.int64
    )


class _Rows:
    """q and distances of each group; found once where there are not too many."""

    def __init__(self, draw: Draw, geography: Geography, model: Gravity) -> None:
        self._draw, self._place, self._model = draw, geography, model
        # Beyond this size, rows are recomputed block by block, since all of them would not
        # fit in memory.
        few = draw.sizes.size * geography.parts <= MAX_CACHED_PAIRS
        self._most = draw.sizes.size if few else max(1, _MAX_BLOCK_CELLS // geography.parts)
        self._first, self._block = 0, (np.empty((0, 0)), np.empty((0, 0)))

    def row(self, group: int) -> tuple[Floats, Floats]:
        if not self._first <= group < self._first + len(self._block[0]):
            self._first = group // self._most * self._most
            last = min(self._first + self._most, self._draw.sizes.size)
            mass, distance = with_beyond(
                *self._place.rows(self._first, last), self._draw.beyond
            )
            q, _ = self._model.shares(mass, distance, self._model.area[self._first : last])
            self._block = q, distance
        return self._block[0][group - self._first], self._block[1][group - self._first]


def _shrinkage_weights(draw: Draw, rows: _Rows, *, parts: int) -> Floats:
    """Of each group, the part of its own draw that is kept beside q: variance of its mean distance that is of
    the group over that of all, after the filter has taken its part."""
    seen, chance, own = (np.zeros(draw.sizes.size) for _ in range(3))
    n = np.maximum(draw.sizes, 1).astype(np.float64)
    total = draw.alpha * parts
    share = n / (n + total)
    by_chance = (2 * n + total) / (n * (1 + n + total))
    for group, where in draw.rows():
        q, distance = rows.row(group)
        far = np.nan_to_num(
            distance - np.nansum(q * distance) / max(q[~np.isnan(distance)].sum(), 1e-300)
        )
        # The mean of a Dirichlet-multinomial draw is the mixture of the records and the
        # uniform prior.
        mixed = share[group] * q + (1 - share[group]) / q.size
        mean = float(mixed @ far)
        seen[group] = (draw.counts[where] @ far[draw.parts[where]] / n[group] - mean) ** 2
        chance[group], own[group] = (
            float(mixed @ far**2) - mean**2,
            float(q @ far**2) - float(q @ far) ** 2,
        )
    return _credibility(draw.sizes, seen, chance, own, share, by_chance)


def _credibility(
    sizes: Whole, seen: Floats, chance: Floats, own: Floats, share: Floats, by_chance: Floats
) -> Floats:
    n = np.maximum(sizes, 1)
    more = (seen - chance * by_chance) * n
    room = share**2 * own * (1 - by_chance) * n
    weights = np.ones(sizes.size)
    # Groups within a factor of two of each other in size share one estimate; a single group
    # has too little data.
    classes = np.floor(np.log2(n)).astype(np.int64)
    for size_class in np.unique(classes[sizes > 0]):
        here = (classes == size_class) & (sizes > 0)
        typical = room[here].mean()
        if typical <= 0:
            continue
        # Method of moments, stabilised by pseudo-groups that are as unlike their q as a
        # group can be.
        unlike = (more[here].sum() + _PSEUDO_GROUPS * typical) / (
            room[here].sum() + _PSEUDO_GROUPS * typical
        )
        unlike = np.clip(unlike, 1 / n[here], 1.0)
        of_group = share[here] ** 2 * own[here] * unlike
        of_chance = np.maximum(chance[here] - of_group, 0) * by_chance[here]
        with np.errstate(invalid="ignore"):
            part = of_group / (of_group + of_chance)
        weights[here] = np.where(own[here] > 0, np.minimum(1.0, part / share[here]), 1.0)
    return weights
