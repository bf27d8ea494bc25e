"""What test data are made from: the model of a release, or a description without any data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from synth_engine.errors import InputError
from synth_engine.extras.scenarios import engine as scenarios
from synthweb.accounts.models import Organisation
from synthweb.datasets import domain_cache
from synthweb.datasets.models import Dataset
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a model comes from. key: two sources with one key have the same model. load: its JSON, read when
    it is needed, because a source is kept beside its small table. target: its object in the audit log.
    description_sha256: empty for a release."""

    key: str
    name: str = field(compare=False)
    organisation: Organisation = field(compare=False)
    load: Callable[[], Mapping[str, Any]] = field(compare=False)
    target: tuple[str, str] | None = field(compare=False, default=None)
    description_sha256: str = field(compare=False, default="")


def of_release(release: Release) -> Source:
    """The released model."""
    code = release.code

    def load() -> Mapping[str, Any]:
        document: Mapping[str, Any] = Release.objects.only("model").get(code=code).model
        return document

    return Source(
        key=f"release {code}",
        name=release.name,
        organisation=release.dataset.organisation,
        load=load,
        target=("release", code),
    )


def of_dataset(dataset: Dataset) -> Source:
    """The confirmed description of a dataset, and nothing else of it. Errors: InputError where there is none,
    or where a column still has to be learned."""
    version = domain_cache.newest(dataset)
    if version is None:
        raise InputError(
            "the dataset has no confirmed description of one table",
            repair="confirm its description, or bring one",
        )
    described = scenarios.describe(domain_cache.domain_of(version))
    return Source(
        key=f"description {described.sha256}",
        name=dataset.name,
        organisation=dataset.organisation,
        load=described.model.to_json,
        target=("dataset", dataset.code),
        description_sha256=described.sha256,
    )


def of_document(document: object, *, organisation: Organisation) -> Source:
    """A description that somebody brings. Errors: InputError, DomainError, with column, rule and repair."""
    described = scenarios.read_description(document)
    return Source(
        key=f"description {described.sha256}",
        name="description",
        organisation=organisation,
        load=described.model.to_json,
        description_sha256=described.sha256,
    )
