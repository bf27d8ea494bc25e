"""Groups that were resampled by public parts: weighed against public geography, and placed on origins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synth_engine.domain import Domain, PointSet
from synth_engine.domain.resolution import (
    VALUES,
    NearParts,
    cells_named,
    near_parts,
    parting,
    split_within,
)
from synth_engine.inference import gravity
from synth_engine.inference.geography import GOLDEN, EarlierRecords, Floats, Geography, Whole
from synth_engine.privacy.dirichlet_multinomial import Resampled

_SAMPLED_GROUPS = 256
_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)
"""The mean distance of a normal number from its mean, in standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Disaggregation:
    """decay: "fitted" to the draw, "public", or "" for no filter. earlier: codes of the group and of the
    origin of each record of an earlier table, whose shares stand for any decay. Errors of use: SpecError."""

    domain: Domain
    clique: tuple[str, str]
    parting: str
    decay: str
    scale: float
    farthest: float
    earlier: tuple[Whole, Whole] | None = None

    def origins(self, resampled: Resampled, *, alpha: Floats) -> tuple[Whole, Whole]:
        """Of each record the code of its group and that of its origin; groups keep their sizes. alpha: of
        each group, the prior of a part in records."""
        groups, parts, counts = resampled.groups, resampled.origins, resampled.counts
        if self._near is not None:
            return self._near_and_far(groups, parts, counts, self._near, alpha=alpha)
        return self._placed(groups, parts, counts, alpha=alpha)

    def _near_and_far(
        self, groups: Whole, numbers: Whole, counts: Whole, near: NearParts, *, alpha: Floats
    ) -> tuple[Whole, Whole]:
        """Near parts as any others; records of the far part, and of numbers that no part of their group has,
        by public weight and distance among far parts, and among near ones."""
        amounts = near.near.sum(axis=1)
        is_near, is_far = numbers < amounts[groups], numbers == near.number - 1
        # The near parts of a group have their numbers in increasing order.
        order = np.argsort(~near.near, axis=1, kind="stable")
        parts = order[groups[is_near], numbers[is_near]].astype(np.int64)
        placed = [self._placed(groups[is_near], parts, counts[is_near], alpha=alpha)]
        for chosen, wanted in ((is_far, False), (~is_near & ~is_far, True)):
            spread = self._spread(groups[chosen], counts[chosen], near.near == wanted)
            placed.append((np.repeat(spread[0], spread[2]), self._on_origins(*spread)))
        merged_groups, origins = (np.concatenate(codes) for codes in zip(*placed, strict=True))
        return merged_groups, origins

    def _spread(
        self, groups: Whole, counts: Whole, allowed: npt.NDArray[np.bool_]
    ) -> tuple[Whole, Whole, Whole]:
        """So many records of each group over the parts that it is allowed, by public weight and distance;
        over all parts where none of these can be reached."""
        totals = np.bincount(groups, counts, minlength=len(allowed)).astype(np.int64)
        weights = self._geography(located=False).rows(0, 1)[0][0]
        spread: list[tuple[Whole, Whole, Whole]] = []
        for group in np.flatnonzero(totals):
            mass, distance = weights, np.zeros(weights.size)
            if group < self._placed_groups:
                rows = self._anywhere.rows(int(group), int(group) + 1)
                mass, distance = rows[0][0], rows[1][0]
            reached = mass * allowed[group, : mass.size]
            shares = reached if reached.sum() > 0 else mass
            whole = gravity.round_in_order(
                shares * (totals[group] / shares.sum()),
                by=distance,
                total=int(totals[group]),
                start=(int(group) * GOLDEN) % 1.0,
            )
            parts = np.flatnonzero(whole)
            spread.append((np.full(parts.size, group), parts, whole[parts]))
        empty = np.zeros(0, dtype=np.int64)
        columns = list(zip(*spread, strict=True)) or [(empty,)] * 3
        merged = [np.concatenate(column).astype(np.int64) for column in columns]
        return merged[0], merged[1], merged[2]

    def _placed(
        self, groups: Whole, parts: Whole, counts: Whole, *, alpha: Floats
    ) -> tuple[Whole, Whole]:
        """Of each record the codes of its group and its origin, from records by part."""
        here = groups < self._placed_groups
        if self.located and here.any() and (self.decay or self.farthest):
            weighed = self._weighed(groups[here], parts[here], counts[here], alpha)
            groups, parts, counts = (
                np.concatenate([before, other[~here]])
                for before, other in zip(weighed, (groups, parts, counts), strict=True)
            )
        return np.repeat(groups, counts), self._on_origins(groups, parts, counts)

    def _weighed(
        self, groups: Whole, parts: Whole, counts: Whole, alpha: Floats
    ) -> tuple[Whole, Whole, Whole]:
        number = self._placed_groups
        sizes = np.bincount(groups, counts, minlength=number).astype(np.int64)
        beyond = self._parts - self._placed_parts
        draw = gravity.Draw(
            groups=groups,
            parts=parts,
            counts=counts,
            sizes=sizes,
            alpha=alpha[:number],
            beyond=beyond,
        )
        geography = self._geography(located=True)
        if self.earlier is not None:
            shape = gravity.Gravity.public(draw, geography)
            return gravity.posterior_counts(draw, geography, shape, filtered=True, shrunk=True)
        # The public decay needs no fit and has nothing to shrink groups to.
        if self.decay != "fitted":
            model = gravity.Gravity.public(draw, geography)
            return gravity.posterior_counts(
                draw, geography, model, filtered=bool(self.decay), shrunk=False
            )
        model = gravity.fit(
            draw, geography, area=gravity.areas(self._points[self.clique[0]].at)
        )
        return gravity.posterior_counts(draw, geography, model, filtered=True, shrunk=True)

    def distance_errors(self, sizes: Whole, *, alpha: Floats) -> tuple[float, float]:
        """By how many miles the average distance of a group of these public sizes is expected to be off,
        weighted by records: as it is drawn here, and in a resample of the records. By the public decay alone,
        which stands in for distances that nobody knows yet; of up to `_LOOKED_AT` groups. The filter is taken
        to undo what the prior adds, at the price of more chance, up to that of one record by the decay."""
        # Groups are sampled in proportion to their records.
        marks = (np.arange(_SAMPLED_GROUPS) + 0.5) * (sizes.sum() / _SAMPLED_GROUPS)
        groups, times = np.unique(
            np.searchsorted(np.cumsum(sizes), marks, side="right"), return_counts=True
        )
        geography = self._geography(located=True)
        mass, distance = geography.view_from(geography.vectors[0][groups])
        n, near = sizes[groups].astype(np.float64), mass > 0
        total = alpha[groups] * self._parts
        share = n / (n + total)
        # Distances of the records of a group, if the public decay were true …
        own, own_spread = _moments(mass / mass.sum(axis=1, keepdims=True), distance)
        # … and of the prior, which is uniform over the parts that can be reached.
        even, even_spread = _moments(near / near.sum(axis=1, keepdims=True), distance)
        spread = (
            share * own_spread
            + (1 - share) * even_spread
            + share * (1 - share) * (even - own) ** 2
        )
        chance = _MEAN_OF_NORMAL * np.sqrt(spread * (2 * n + total) / (n * (1 + n + total)))
        of_one_record = _MEAN_OF_NORMAL * np.sqrt(own_spread)
        off = (
            np.minimum(chance / share, of_one_record)
            if self.decay
            else chance + (1 - share) * np.abs(even - own)
        )
        return float(np.average(off, weights=times)), float(
            np.average(of_one_record / np.sqrt(n), weights=times)
        )

    def _on_origins(self, groups: Whole, parts: Whole, counts: Whole) -> Whole:
        """Codes of origins, one for each record, in the order of the cells."""
        codes = np.empty(int(counts.sum()), dtype=np.int64)
        values = self.domain.attribute(self.clique[1]).value_count
        beyond = parts >= self._placed_parts
        far = (
            groups >= self._placed_groups if self.located else np.ones(groups.size, dtype=bool)
        )
        records = np.repeat(beyond, counts)
        codes[records] = np.repeat(parts[beyond] - self._placed_parts + values, counts[beyond])
        for located, cells_of in ((True, ~beyond & ~far), (False, ~beyond & far)):
            if cells_of.any():
                at = (
                    groups[cells_of]
                    if located
                    else np.zeros(int(cells_of.sum()), dtype=np.int64)
                )
                geography = self._geography(located=located)
                codes[np.repeat(cells_of, counts)] = geography.assign_origins(
                    at, parts[cells_of], counts[cells_of]
                )
        return codes

    def _geography(self, *, located: bool) -> Geography:
        """Of what lies somewhere. Without it: one place from which nothing is nearer than anything else."""
        origin = self._points.get(self.clique[1])
        values = self.domain.attribute(self.clique[1]).value_count
        near = None if self._near is None else self._near.near
        at = (
            np.array(origin.at)
            if origin
            else np.column_stack([np.zeros((values, 2)), np.ones(values)])
        )
        groups = (
            np.array(self._points[self.clique[0]].at)[:, :2] if located else np.zeros((1, 2))
        )
        part = np.array(parting(self.domain, self.clique[1], self._base), dtype=np.int64)[
            :values
        ]
        return Geography(
            groups=groups,
            origins=at[:, :2],
            weights=at[:, 2],
            part=part,
            parts=self._placed_parts,
            scale=self.scale if located else math.inf,
            farthest=self.farthest or math.inf if located else math.inf,
            earlier=self._flows(part) if located else None,
            reached=near[: len(groups), : self._placed_parts]
            if near is not None and located
            else None,
        )

    @cached_property
    def _anywhere(self) -> Geography:
        """The geography of all parts, near and far."""
        return replace(self._geography(located=True), reached=None)

    @cached_property
    def _near(self) -> NearParts | None:
        """Which parts groups count by themselves; None where they count all."""
        if split_within(self.parting)[1] is None:
            return None
        return near_parts(self.domain, *self.clique, self.parting)

    @property
    def _base(self) -> str:
        """The parting without its distance."""
        return split_within(self.parting or VALUES)[0]

    def _flows(self, part: Whole) -> EarlierRecords | None:
        """The earlier records that have a group and an origin with points."""
        if self.earlier is None:
            return None
        groups, origins = self.earlier
        known = (groups >= 0) & (groups < self._placed_groups)
        known &= (origins >= 0) & (origins < part.size)
        return EarlierRecords(groups=groups[known], parts=part[origins[known]])

    @property
    def _points(self) -> dict[str, PointSet]:
        return {points.column: points for points in self.domain.points}

    @property
    def located(self) -> bool:
        """Whether both columns have public points, so that there are distances."""
        return set(self.clique) <= set(self._points)

    @property
    def _placed_groups(self) -> int:
        """Groups that have a point; "other" and missing come after them."""
        return self.domain.attribute(self.clique[0]).value_count

    @property
    def _parts(self) -> int:
        return max(parting(self.domain, self.clique[1], self._base)) + 1

    @property
    def _placed_parts(self) -> int:
        attribute = self.domain.attribute(self.clique[1])
        return self._parts - (attribute.size - attribute.value_count)


def _moments(shares: Floats, distance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each row."""
    mean: Floats = (shares * distance).sum(axis=1)
    spread: Floats = (shares * (distance - mean[:, None]) ** 2).sum(axis=1)
    return mean, spread


def partings_of(domain: Domain, origin: str, *, located: bool) -> dict[str, int]:
    """The partings by which origins can be counted, and how many parts each has: by themselves, by partitions
    of the description, or, where there are none, by cells of points if groups have points too. Fewest parts
    first."""
    resolutions = {VALUES: domain.sizes[origin]}
    for partition in domain.partitions:
        if partition.column == origin:
            resolutions[partition.name] = max(partition.codes(domain.attribute(origin))) + 1
    if located and len(resolutions) == 1:
        extra = domain.sizes[origin] - domain.attribute(origin).value_count
        numbers = [2**k for k in range(4, 14) if 2**k < domain.attribute(origin).value_count]
        resolutions |= {cells_named(number): number + extra for number in numbers}
    return dict(sorted(resolutions.items(), key=lambda parting: parting[1]))
