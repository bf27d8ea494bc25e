"""The table of groups that a release publishes: values of the chosen columns, and noisy counts.

The run computes it at its end, from noisy answers alone. Whoever may draw samples of the release may read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from synth_engine.domain import Domain, names
from synth_engine.privacy.receipt import Receipt
from synthweb.releases.measurements import deviation_of
from synthweb.releases.model_cache import holds
from synthweb.releases.models import Release

SHOWN = 300
NAMED = 4  # values that a merged group names on the page
ANY = "any"


@dataclass(frozen=True, kw_only=True)
class GroupLine:
    """One group. values: for each column its value, the merged values, or "any"; records: the estimated number of records."""

    values: tuple[str, ...]
    records: int


@dataclass(frozen=True, kw_only=True)
class GroupsPage:
    """The largest groups first. total: number of groups; more: how many of them only the file has; deviation: standard deviation
    of the noise of a count before groups were merged, None where the receipt does not say it."""

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
    groups = sorted(published["groups"], key=lambda group: -group[2])
    labels = _labels(release, published["columns"], named=True)
    lines = tuple(
        GroupLine(values=tuple(_values(group, labels, most=NAMED)), records=round(group[2]))
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
    """Return the standard deviation of the noise of the table that counted these columns together."""
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
    labels = _labels(release, published["columns"])
    yield (*published["columns"], "records")
    for group in published["groups"]:
        yield (*_values(group, labels), f"{group[2]:.6g}")


def _labels(
    release: Release, columns: Sequence[str], *, named: bool = False
) -> list[tuple[str, ...]]:
    """Return the labels of each column's codes. named: with the names of places beside their codes."""
    domain = Domain.from_json(release.model["domain"])
    called = {points.column: points.names for points in domain.points} if named else {}
    return [
        names.titled(domain.attribute(name).labels, called.get(name, ())) for name in columns
    ]


def _values(
    group: list[Any], labels: list[tuple[str, ...]], *, most: int | None = None
) -> Iterator[str]:
    values, among, _ = group
    for place, of in enumerate(labels):
        if place < len(values):
            yield of[values[place]]
        elif place == len(values) and among:
            named = " | ".join(of[code] for code in among[:most])
            yield (
                f"{named} and {len(among) - most} more" if most and len(among) > most else named
            )
        else:
            yield ANY
