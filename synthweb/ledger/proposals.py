"""How much δ to ask for: enough for every planned release, and far below one over the number of records."""

from __future__ import annotations

from synthweb.ledger.amounts import ATTO

DELTA_OF_A_RELEASE = ATTO // 10**9
"""1e-9: what the form of a new release begins with."""
PLANNED = 10
MAX_PLANNED_RELEASES = 1000
PEOPLE_TO_ONE = 100
"""The δ of all releases together stays this many times below one over the number of records, where that is public."""


def delta_for(releases: int, *, records: int | None = None) -> int:
    """The δ for so many releases, in the ledger's steps of 1e-18. records: their public number, if it is public."""
    # A delta of one over the number of records would allow publishing one of them as it is.
    planned = releases * DELTA_OF_A_RELEASE
    return planned if not records else min(planned, ATTO // (PEOPLE_TO_ONE * records))
