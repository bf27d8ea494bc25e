"""Describing a table: the draft, and the description it becomes.

The draft is what the steward typed or confirmed and nothing else; suggestions read from the data stay in the preview
store. A description becomes a DomainVersion when every column of the table has been confirmed as public knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from synth_engine.domain import Domain
from synth_engine.errors import DomainError
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets.models import Dataset, DomainVersion


class Incomplete(Exception):
    """A draft that cannot be confirmed yet; `errors` holds one DomainError for each thing to mend."""

    def __init__(self, errors: list[DomainError]) -> None:
        self.errors = errors
        super().__init__(f"{len(errors)} to mend")


def save_draft(*, actor: User, dataset: Dataset, draft: Mapping[str, Any]) -> Dataset:
    """Keep what was typed, valid or not."""
    dataset.draft = dict(draft)
    dataset.save(update_fields=["draft", "updated_at"])
    return dataset


def confirm_domain(*, actor: User, dataset: Dataset) -> DomainVersion:
    """Make the draft the public description. Raises Incomplete with everything that is still to mend."""
    raise NotImplementedError


def declare_domain(*, actor: User, dataset: Dataset, document: Mapping[str, Any]) -> DomainVersion:
    """Make a whole document the public description, as the steward's word. Raises DomainError."""
    return _store(actor=actor, dataset=dataset, domain=Domain.from_json(dict(document)))


@transaction.atomic
def _store(*, actor: User, dataset: Dataset, domain: Domain) -> DomainVersion:
    locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
    latest = locked.domain_versions.order_by("-number").first()
    version = DomainVersion.objects.create(
        dataset=locked,
        number=latest.number + 1 if latest else 1,
        document=domain.to_json(),
        digest=domain.digest,
        confirmed_by=actor,
    )
    audit.record(
        actor=actor,
        action="domain.confirmed",
        target=("dataset", locked.code),
        organisation=locked.organisation,
        detail={"version": version.number, "digest": version.digest},
    )
    return version
