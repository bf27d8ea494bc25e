"""Several plausible tables of a release as one archive, which a worker makes once; whoever may draw samples
may have it."""

from __future__ import annotations

from synth_engine.plans import implicates
from synthweb.releases.models import PlausibleTables, Release

NUMBER = 10
"""Tables in the archive."""
MAX_CELLS = 1_000_000
"""Cells of one table: the archive stands in the database."""
README = """{name}, release {code}: {number} plausible tables

Each table could have given the noisy answers of this release. Where the answers determine a figure, the
tables agree on it; where the noise leaves room, they differ. Compute your estimate in each table, and combine
the results: their mean is the estimate, and (1 + 1/m) b its variance, with b the variance of the m results
(divided by m - 1) and m - 1 degrees of freedom of Student's t. What no answer counts is the model's in every
table alike.

csv/ and parquet/ have the same tables. They are made from answers that were paid for, so they cost no privacy
budget.
"""


def readme(release: Release) -> bytes:
    """What the archive says of itself."""
    return README.format(name=release.name, code=release.code, number=NUMBER).encode()


def store(release: Release, content: bytes) -> None:
    """Keep the archive of a release."""
    PlausibleTables.objects.update_or_create(
        release=release, defaults={"version": implicates.VERSION, "content": content}
    )


def is_ready(release: Release) -> bool:
    """Whether a worker has made the tables. The caller authorised."""
    return PlausibleTables.objects.filter(release=release, version=implicates.VERSION).exists()


def archive_of(release: Release) -> bytes | None:
    """The archive; None before a worker has made it. The caller authorised."""
    stored = PlausibleTables.objects.filter(release=release, version=implicates.VERSION).first()
    return None if stored is None else bytes(stored.content)
