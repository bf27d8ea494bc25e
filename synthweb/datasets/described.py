"""Confirmed descriptions as the engine has them. One never changes, and one of census blocks takes a second to read: each is
read once in a process."""

from __future__ import annotations

from functools import lru_cache

from synth_engine.domain import Domain
from synthweb.datasets.models import Dataset, DomainVersion

KEPT = 4  # in the memory of a process


def domain_of(version: DomainVersion) -> Domain:
    """What a version says; its document may stay in the database. For pages and prices: a worker reads the document itself."""
    return _read(version.pk, version.digest)


def newest(dataset: Dataset) -> DomainVersion | None:
    """The description in force, its document left in the database."""
    return dataset.domain_versions.defer("document").order_by("-number").first()


@lru_cache(maxsize=KEPT)
def _read(pk: int, digest: str) -> Domain:
    return Domain.from_json(DomainVersion.objects.values_list("document", flat=True).get(pk=pk, digest=digest))
