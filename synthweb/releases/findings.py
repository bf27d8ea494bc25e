"""What the method of a release looked for and how much of it was found, in words: post-processing of noisy
answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthweb.lib.number_format import share
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class GroupsLooked:
    """A search for relations of three columns or more. candidates: groups that were compared; measured: those
    with a table; columns: the group that is farthest from what its pairs, and its triples, imply; largest,
    noise, by_noise: shares of the records, with a sign of per cent."""

    candidates: int
    measured: int
    columns: str
    largest: str
    noise: str
    by_noise: str


def triples(release: Release) -> GroupsLooked | None:
    """What the search for relations of three columns found; None where there was none."""
    return _looked(release, "triples")


def larger_groups(release: Release) -> GroupsLooked | None:
    """The same of four columns and more."""
    return _looked(release, "groups")


def _looked(release: Release, kind: str) -> GroupsLooked | None:
    search: Mapping[str, Any] | None = release.model.get("findings", {}).get(kind)
    if search is None:
        return None
    return GroupsLooked(
        candidates=search["candidates"],
        measured=search["measured"],
        columns=" × ".join(search["largest"]["columns"]),
        largest=share(search["largest"]["distance"]),
        noise=share(search["noise"]),
        by_noise=share(search["by_noise"]),
    )
