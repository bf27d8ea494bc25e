"""What the method of a release looked for and how much of it was found, in words: post-processing of noisy answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthweb.lib.language import written_number
from synthweb.lib.number_format import share
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class TriplesLooked:
    """The search for relations of three columns. candidates: groups that were compared; measured: those with a table; columns:
    the group that is farthest from what its pairs imply; largest, noise, by_noise: shares of the records, with a sign of per
    cent."""

    candidates: int
    measured: int
    columns: str
    largest: str
    noise: str
    by_noise: str


def triples(release: Release) -> TriplesLooked | None:
    """What the search found; None where there was none, or where the release is older than its record."""
    search: Mapping[str, Any] | None = release.model.get("findings", {}).get("triples")
    if search is None:
        return None
    return TriplesLooked(
        candidates=search["candidates"],
        measured=search["measured"],
        columns=" × ".join(search["largest"]["columns"]),
        largest=written_number(share(search["largest"]["distance"])),
        noise=written_number(share(search["noise"])),
        by_noise=written_number(share(search["by_noise"])),
    )
