"""A published table of groups, none of which is small: what becomes of noisy counts. A function of these
alone.

Columns were chosen one after the other; a group has a value of each of the first of them. From the first
column on, values of a group with few records are put together, and what is put together is not divided
further: there the columns that follow have the values that they have in the whole table. Where all values put
together are still few, they are left out, and the others of the group have their records: what k-anonymity
calls suppression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Records that are published together. values: codes of the first columns; among: of the next one, codes
    that are put together, empty where it is not told at all, or where there is none; count: noisy, made to
    agree with the others."""

    values: tuple[int, ...]
    among: tuple[int, ...]
    count: float


@dataclass(kw_only=True)
class _Suppression:
    counts: Floats
    own: list[Floats]
    least: float
    published: Floats
    groups: list[Group] = field(default_factory=list)

    def divide(self, above: tuple[int, ...], records: float) -> None:
        part = self.counts[above]
        sizes = part.reshape(part.shape[0], -1).sum(axis=1) if part.ndim else np.empty(0)
        large = sizes >= self.least
        # Dividing this group further would only produce groups below the least size.
        if not large.any():  # all columns are told, or none of those that follow
            self._publish(above, records)
            return
        small = np.flatnonzero(~large)
        together = float(sizes[small].sum())
        published_records = float(sizes[large].sum()) + (
            together if together >= self.least else 0.0
        )
        if together >= self.least:
            self._publish_together(above, small, records * together / published_records)
        for code in np.flatnonzero(large):
            self.divide((*above, int(code)), records * float(sizes[code]) / published_records)

    def _publish(self, above: tuple[int, ...], records: float) -> None:
        self.groups.append(Group(values=above, among=(), count=records))
        self.published[above] = records * _product(self.own[len(above) :])

    def _publish_together(
        self, above: tuple[int, ...], codes: npt.NDArray[np.intp], records: float
    ) -> None:
        self.groups.append(Group(values=above, among=tuple(codes.tolist()), count=records))
        shares = _whole(self.own[len(above)][codes])
        self.published[above][codes] = records * _product([shares, *self.own[len(above) + 1 :]])


def suppress_small_groups(counts: Floats, *, least: float) -> tuple[Floats, list[Group]]:
    """The table as it is published, and its groups, each of at least `least` records unless there are fewer
    in all. counts: not negative, one axis for each column, in the order in which they were chosen."""
    own = [
        _whole(counts.sum(axis=tuple(a for a in range(counts.ndim) if a != axis)))
        for axis in range(counts.ndim)
    ]
    table = _Suppression(counts=counts, own=own, least=least, published=np.zeros_like(counts))
    table.divide((), float(counts.sum()))
    return table.published, table.groups


def _whole(parts: Floats) -> Floats:
    """Shares that add up to 1; alike where there is nothing."""
    normalized: Floats = (
        parts / parts.sum() if parts.sum() > 0 else np.full(parts.size, 1 / parts.size)
    )
    return normalized


def _product(shares: Sequence[Floats]) -> Floats:
    joint: Floats = np.ones(())
    for part in shares:
        joint = np.multiply.outer(joint, part)
    return joint
