"""The table of groups that a release publishes: values of the chosen columns, and noisy counts.

The run computes it at its end, from noisy answers alone. Whoever may draw samples of the release may read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from synth_engine.domain import Domain, names
from synth_engine.indexing import classes
from synth_engine.privacy.receipt import Receipt
from synthweb.releases.measurements import deviation_of
from synthweb.releases.model_cache import holds
from synthweb.releases.models import Release

SHOWN = 300
NAMED = 4  # values that a merged group names on the page
ANY = "any"


@dataclass(frozen=True, kw_only=True)
class GroupLine:
    """One group. values: for each column its value, the merged values, or "any"; records: the estimated
    number of records."""

    values: tuple[str, ...]
    records: int


@dataclass(frozen=True, kw_only=True)
class GroupsPage:
    """The largest groups first. total: number of groups; more: how many of them only the file has; deviation:
    standard deviation of the noise of a count before groups were merged, None where the receipt does not say
    it."""

    columns: tuple[str, ...]
    lines: tuple[GroupLine, ...]
    total: int
    more: int
    deviation: float | None


def shows(release: Release) -> bool:
    """Return whether the release publishes such a table, without loading its model."""
    return holds(release.code, "published")


def page(release: Release) -> GroupsPage | None:
    """Return the page of groups; None for a release that publishes none."""
    if (published := release.model.get("published")) is None:
        return None
    groups = sorted(_groups(published), key=lambda group: -group.count)
    columns_of = _columns(release, published["columns"], named=True)
    lines = tuple(
        GroupLine(
            values=tuple(_values(group, columns_of, most=NAMED)), records=round(group.count)
        )
        for group in groups[:SHOWN]
    )
    columns = tuple(published["columns"])
    return GroupsPage(
        columns=columns,
        lines=lines,
        total=len(groups),
        more=max(0, len(groups) - SHOWN),
        deviation=_deviation(release.receipt, columns),
    )


def _deviation(receipt: Receipt, columns: Sequence[str]) -> float | None:
    """Return the standard deviation of the noise of the table that counted these columns together, or of the
    last count of boxes."""
    boxes = [call for call in receipt["calls"] if call["query"].get("verb") == "boxes"]
    if boxes:
        return deviation_of(boxes[-1]["noise"])
    calls = (call for call in receipt["calls"] if call["query"].get("verb") == "measure")
    return next(
        (
            deviation_of(call["noise"])
            for call in calls
            if call["query"]["clique"] == list(columns)
        ),
        None,
    )


def lines(release: Release) -> Iterator[Sequence[object]] | None:
    """Yield a header line and all groups, with every value named; None for a release that publishes none."""
    published = release.model.get("published")
    return None if published is None else _lines(release, published)


def _lines(release: Release, published: dict[str, Any]) -> Iterator[Sequence[object]]:
    columns = _columns(release, published["columns"])
    yield (*published["columns"], "records")
    for group in _groups(published):
        yield (*_values(group, columns), f"{group.count:.6g}")


@dataclass(frozen=True, kw_only=True)
class _Group:
    """codes: for each column the codes of its records, None for any."""

    codes: tuple[Sequence[int] | None, ...]
    count: float


@dataclass(frozen=True, kw_only=True)
class _Column:
    """labels: of each code. values: how many of them are declared values; neighbours: whether these are in an
    order that means something."""

    labels: tuple[str, ...]
    values: int
    neighbours: bool

    def text(self, codes: Sequence[int] | None, *, most: int | None) -> str:
        if codes is None or len(codes) == len(self.labels):
            return ANY
        first, last = codes[0], codes[-1]
        runs = len(codes) > 2 and last - first == len(codes) - 1 and last < self.values
        if self.neighbours and runs:
            return f"{self.labels[first]} … {self.labels[last]}"
        named = " | ".join(self.labels[code] for code in codes[:most])
        if most and len(codes) > most:
            return f"{named} and {len(codes) - most} more"
        return named


def _groups(published: dict[str, Any]) -> Iterator[_Group]:
    """The groups of either form: divided together, with values of the first columns and the values of the
    next that were put together; or each by a column of its own, with codes of every column."""
    for codes, count in published.get("boxes", ()):
        yield _Group(codes=tuple(codes), count=count)
    for values, among, count in published.get("groups", ()):
        named = [[value] for value in values] + ([among] if among else [])
        beyond = [None] * (len(published["columns"]) - len(named))
        yield _Group(codes=(*named, *beyond), count=count)


def _columns(release: Release, columns: Sequence[str], *, named: bool = False) -> list[_Column]:
    """named: with the names of places beside their codes."""
    domain = Domain.from_json(release.model["domain"])
    called = {points.column: points.names for points in domain.points} if named else {}
    attributes = [domain.attribute(name) for name in columns]
    return [
        _Column(
            labels=names.titled(attribute.labels, called.get(attribute.name, ())),
            values=attribute.value_count,
            neighbours=classes.in_order(attribute),
        )
        for attribute in attributes
    ]


def _values(
    group: _Group, columns: Sequence[_Column], *, most: int | None = None
) -> Iterator[str]:
    for codes, column in zip(group.codes, columns, strict=True):
        yield column.text(codes, most=most)
