"""Who comes from where, learned from groups that were drawn anew with a prior: a gravity model, and how far each group's own
draw is to be believed beside it.

A record of group d lies in part p with a share q_dp proportional to the part's public weight near d, times a worth of the part,
times a factor of distance, times what groups near d have in common (Wilson 1967, "A statistical theory of spatial distribution
models"). Of those drawn, the chance that a record rather than the prior explains one is n q / (n q + alpha), so that all of it is
fitted by expectation and maximisation. How much groups of a size differ from their q is seen in their mean distances, whose
variance by chance is known: the Dirichlet-multinomial law tells it. All is post-processing of the draw and public facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.domain.resolution import cells
from synth_engine.inference.geography import GOLDEN, MOST_KEPT, Floats, Geography, Whole

_EDGES = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40]) / 6
"""Of distances with a factor each, in scales of the public decay."""
_ROUNDS = 30
_MOST_AREAS, _GROUPS_EACH = 128, 8
_COMMON = 50.0
"""As many records must groups near each other have for what they have in common to count for half."""
_DOUBT = 10.0
"""As many groups of each size as if they were all unlike their q are counted in."""
_AT_ONCE = 1 << 20
_STEPS, _LAST = 32, 65_535
"""Distances are put in order by steps of 1/32 mile."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draw:
    """Records drawn anew, by group and part; `groups`, `parts`, `counts`: of cells that are not empty, by increasing group.
    sizes: of each group; alpha: the prior of each part, in records, by group. beyond: parts that lie nowhere, the last ones."""

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
    """`worth`: of each part; `factors`: of each distance; `common`: of areas of groups by parts; `area`: of each group."""

    worth: Floats
    factors: Floats
    common: Floats
    area: Whole
    edges: Floats

    @classmethod
    def public(cls, draw: Draw, place: Geography) -> Gravity:
        """Nothing but the public decay."""
        parts = place.parts + draw.beyond
        area = np.zeros(draw.sizes.size, dtype=np.int64)
        edges = _EDGES * place.scale
        worth = np.where(
            np.arange(parts) < place.parts, 1.0, 0.0
        )  # what lies nowhere has no distance to judge it by
        return cls(
            worth=worth,
            factors=np.ones(edges.size + 2),
            common=np.ones((1, parts)),
            area=area,
            edges=edges,
        )

    def shares(
        self, mass: Floats, apart: Floats, areas: npt.NDArray[Any] | slice
    ) -> tuple[Floats, Whole]:
        """q of each row, and the place of each distance among the factors."""
        at = bins(apart, self.edges)
        found = mass * self.worth * self.factors[at] * self.common[areas]
        return found / found.sum(axis=1, keepdims=True), at


def bins(apart: Floats, edges: Floats) -> Whole:
    """Parts that lie nowhere (NaN) have the last place to themselves."""
    found = np.searchsorted(edges, np.nan_to_num(apart), side="right")
    return np.where(np.isnan(apart), edges.size + 1, found).astype(np.int64)


def with_beyond(mass: Floats, apart: Floats, beyond: int) -> tuple[Floats, Floats]:
    """Parts that lie nowhere added: each has the mean mass of the others, and no distance."""
    rows = len(mass)
    extra = np.repeat(mass.mean(axis=1, keepdims=True), beyond, axis=1)
    return np.hstack([mass, extra]), np.hstack([apart, np.full((rows, beyond), np.nan)])


def fitted(draw: Draw, place: Geography, *, area: Whole) -> Gravity:
    """The model that makes the draw likely. area: of each group, among the areas that have something in common, from 0 on."""
    parts, areas = place.parts + draw.beyond, int(area.max()) + 1
    centres = place.centres(area, np.maximum(draw.sizes, 1e-3).astype(np.float64))
    mass, apart = with_beyond(*place.seen_from(centres), draw.beyond)
    start = Gravity.public(draw, place)
    worth, factors = np.ones(parts), start.factors
    at = bins(apart, start.edges)
    key = area[draw.groups] * parts + draw.parts
    n, alpha = draw.sizes[draw.groups], draw.alpha[draw.groups]
    kept: Floats = np.zeros((areas, parts))
    for _ in range(_ROUNDS):
        q = _of_rows(mass * worth * factors[at])
        likely = n * q.ravel()[key]
        of_records = np.bincount(
            key, draw.counts * likely / (likely + alpha), areas * parts
        ).astype(np.float64)
        kept = of_records.reshape(areas, parts)
        expected = q * kept.sum(axis=1, keepdims=True)
        places = factors.size
        factors = factors * (np.bincount(at.ravel(), kept.ravel(), places) + 1)
        factors /= np.bincount(at.ravel(), expected.ravel(), places) + 1
        expected = _of_rows(mass * worth * factors[at]) * kept.sum(axis=1, keepdims=True)
        worth = worth * (kept.sum(axis=0) + 1) / (expected.sum(axis=0) + 1)
    q = _of_rows(mass * worth * factors[at])
    near = (_COMMON * q + kept) / (_COMMON + kept.sum(axis=1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        common = np.where(q > 0, near / q, 1.0)
    return Gravity(worth=worth, factors=factors, common=common, area=area, edges=start.edges)


def _of_rows(found: Floats) -> Floats:
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def believed(
    draw: Draw, place: Geography, model: Gravity, *, filtered: bool, shrunk: bool
) -> tuple[Whole, Whole, Whole]:
    """Groups, parts and counts of cells after the draw was weighed against the model; each group keeps its size. filtered: what
    the prior explains better than a record is spread by q. shrunk: groups are drawn towards their q as far as groups of
    their size are like theirs."""
    rows = _Rows(draw, place, model)
    trust = (
        _trust(draw, rows, parts=place.parts + draw.beyond)
        if shrunk
        else np.ones(draw.sizes.size)
    )
    weighed: list[tuple[Whole, Whole, Whole]] = []
    for group, where in draw.rows():
        q, apart = rows.row(group)
        parts, n = draw.parts[where], draw.sizes[group]
        likely = np.where((parts >= place.parts) & (q[parts] == 0), np.inf, n * q[parts])
        with np.errstate(divide="ignore"):
            of_records = 1 / (1 + draw.alpha[group] / likely) if filtered else likely > 0
        own = draw.counts[where] * of_records * trust[group]
        wished = max(0.0, n - own.sum()) * q
        wished[parts] += own
        counts = spread(wished, by=apart, total=int(n), start=(group * GOLDEN) % 1.0)
        found = np.flatnonzero(counts)
        weighed.append((np.full(found.size, group), found, counts[found]))
    groups, parts, counts = (
        np.concatenate(each).astype(np.int64) for each in zip(*weighed, strict=True)
    )
    return groups, parts, counts


def spread(wished: Floats, *, by: Floats, total: int, start: float) -> Whole:
    """Whole numbers that add up to `total`, near to `wished` ones: every (sum / total)-th record in the order of `by`, from
    `start` of a step on, so that means of `by` hardly change. Averaged over starts from 0 to 1 they are the wished ones."""
    steps = np.minimum(np.nan_to_num(by, nan=np.inf) * _STEPS, _LAST).astype(np.uint16)
    order = np.argsort(
        steps, kind="stable"
    )  # of short whole numbers: in time that grows with their number alone
    sums = np.cumsum(wished[order])
    marks = (np.arange(total) + start) * (sums[-1] / total)
    chosen = order[np.minimum(np.searchsorted(sums, marks, side="right"), sums.size - 1)]
    return np.bincount(chosen, minlength=wished.size).astype(np.int64)


def areas(at: Sequence[tuple[float, float, float]]) -> Whole:
    """Areas of groups near each other, some groups each."""
    return np.array(
        cells(at, max(1, min(_MOST_AREAS, len(at) // _GROUPS_EACH))), dtype=np.int64
    )


class _Rows:
    """q and distances of each group; found once where there are not too many."""

    def __init__(self, draw: Draw, place: Geography, model: Gravity) -> None:
        self._draw, self._place, self._model = draw, place, model
        few = draw.sizes.size * place.parts <= MOST_KEPT
        self._most = draw.sizes.size if few else max(1, _AT_ONCE // place.parts)
        self._first, self._block = 0, (np.empty((0, 0)), np.empty((0, 0)))

    def row(self, group: int) -> tuple[Floats, Floats]:
        if not self._first <= group < self._first + len(self._block[0]):
            self._first = group // self._most * self._most
            last = min(self._first + self._most, self._draw.sizes.size)
            mass, apart = with_beyond(*self._place.rows(self._first, last), self._draw.beyond)
            q, _ = self._model.shares(mass, apart, self._model.area[self._first : last])
            self._block = q, apart
        return self._block[0][group - self._first], self._block[1][group - self._first]


def _trust(draw: Draw, rows: _Rows, *, parts: int) -> Floats:
    """Of each group, the part of its own draw that is kept beside q: variance of its mean distance that is of the group over
    that of all, after the filter has taken its part."""
    seen, chance, own = (np.zeros(draw.sizes.size) for _ in range(3))
    n = np.maximum(draw.sizes, 1).astype(np.float64)
    total = draw.alpha * parts
    share = n / (n + total)
    by_chance = (2 * n + total) / (n * (1 + n + total))
    for group, where in draw.rows():
        q, apart = rows.row(group)
        far = np.nan_to_num(
            apart - np.nansum(q * apart) / max(q[~np.isnan(apart)].sum(), 1e-300)
        )
        mixed = share[group] * q + (1 - share[group]) / q.size
        mean = float(mixed @ far)
        seen[group] = (draw.counts[where] @ far[draw.parts[where]] / n[group] - mean) ** 2
        chance[group], own[group] = (
            float(mixed @ far**2) - mean**2,
            float(q @ far**2) - float(q @ far) ** 2,
        )
    return _believed_part(draw.sizes, seen, chance, own, share, by_chance)


def _believed_part(
    sizes: Whole, seen: Floats, chance: Floats, own: Floats, share: Floats, by_chance: Floats
) -> Floats:
    n = np.maximum(sizes, 1)
    more = (seen - chance * by_chance) * n
    room = share**2 * own * (1 - by_chance) * n
    found = np.ones(sizes.size)
    classes = np.floor(np.log2(n)).astype(np.int64)
    for one in np.unique(classes[sizes > 0]):
        here = (classes == one) & (sizes > 0)
        typical = room[here].mean()
        if typical <= 0:
            continue
        unlike = (more[here].sum() + _DOUBT * typical) / (room[here].sum() + _DOUBT * typical)
        unlike = np.clip(unlike, 1 / n[here], 1.0)
        of_group = share[here] ** 2 * own[here] * unlike
        of_chance = np.maximum(chance[here] - of_group, 0) * by_chance[here]
        with np.errstate(invalid="ignore"):
            part = of_group / (of_group + of_chance)
        found[here] = np.where(own[here] > 0, np.minimum(1.0, part / share[here]), 1.0)
    return found
