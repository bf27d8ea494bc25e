"""Confirmed descriptions as the engine has them. One never changes, and one of census blocks takes a second
to read: each is read once in a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from synth_engine.domain import Domain
from synth_engine.domain.sources import Source
from synthweb.datasets.models import Dataset, DomainVersion

KEPT = 4  # in the memory of a process


def domain_of(version: DomainVersion) -> Domain:
    """What a version says; its document may stay in the database. For pages and prices: a worker reads the
    document itself."""
    return _read(version.pk, version.digest)


def read_afresh(version: DomainVersion) -> Domain:
    """The same, as it is stored now: for workers."""
    return Domain.from_json(version.document)


def newest(dataset: Dataset) -> DomainVersion | None:
    """The description in force, its document left in the database."""
    return dataset.domain_versions.defer("document").order_by("-number").first()


@dataclass(frozen=True, kw_only=True)
class Cited:
    """Public facts that a description has from one published table: its name, version and the SHA-256 of the
    file, each empty where it is not said."""

    name: str
    version: str
    sha256: str
    about: tuple[str, ...]


def cited(domain: Domain) -> tuple[Cited, ...]:
    """What stands beside the columns of a description, by where it comes from; what names no source last."""
    by_source: dict[tuple[str, str, str], list[str]] = {}
    for about, source_fields in _copied(domain):
        source = (
            source_fields.get("name", ""),
            source_fields.get("version", ""),
            source_fields.get("sha256", ""),
        )
        by_source.setdefault(source, []).append(about)
    named = sorted(by_source.items(), key=lambda item: not item[0][0])
    return tuple(
        Cited(name=name, version=version, sha256=sha256, about=tuple(about))
        for (name, version, sha256), about in named
    )


def _copied(domain: Domain) -> Iterator[tuple[str, Mapping[str, str]]]:
    if domain.totals is not None:
        yield f"public totals of {domain.totals.column}", _source_fields(domain.totals.source)
    for points in domain.points:
        yield f"points of {points.column or points.place}", _source_fields(points.source)
    for partition in domain.partitions:
        yield f"{partition.name} of {partition.column}", dict(partition.source)


def _source_fields(source: Source | None) -> Mapping[str, str]:
    return {} if source is None else source.to_json()


@lru_cache(maxsize=KEPT)
def _read(pk: int, digest: str) -> Domain:
    return Domain.from_json(
        DomainVersion.objects.values_list("document", flat=True).get(pk=pk, digest=digest)
    )
