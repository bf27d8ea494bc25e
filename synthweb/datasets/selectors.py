"""Reading datasets: every function here fetches and authorises in one step.

What somebody may do to a dataset follows from their roles in the organisation that holds it. To strangers, analysts
among them (who see shared releases, never datasets), a dataset does not exist.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db.models import Prefetch, Q, QuerySet
from django.http import Http404

from synthweb.accounts import selectors as people
from synthweb.accounts.models import Role
from synthweb.audit import services as audit
from synthweb.datasets import preview_store
from synthweb.datasets.models import Dataset, DomainVersion, Preview


class Need(Enum):
    """What a caller wants of a dataset; `roles` says who may."""

    VIEW = "view"  # that it exists, its name, status and public description
    DESCRIBE = "describe"  # change the description
    REAL = "real"  # see what was made from real rows
    SPEND = "spend"  # ask for budget, run mechanisms
    SHARE = "share"  # hand releases to analysts
    GRANT = "grant"  # decide about budget
    AUDIT = "audit"  # read every entry of ledger and log

    @property
    def roles(self) -> frozenset[Role]:
        match self:
            case Need.VIEW:
                return frozenset({Role.STEWARD, Role.CUSTODIAN, Role.AUDITOR})
            case Need.GRANT:
                return frozenset({Role.CUSTODIAN})
            case Need.AUDIT:
                return frozenset({Role.CUSTODIAN, Role.AUDITOR})
            case _:
                return frozenset({Role.STEWARD})


def may(user: people.Person, dataset: Dataset, need: Need) -> bool:
    """Whether `user` may do that."""
    roles = people.roles_of(user) & need.roles
    return bool(roles) and people.organisation_of(user).pk == dataset.organisation_id


def may_upload(user: people.Person) -> bool:
    """Whether `user` may bring in a new table."""
    return people.has_role(user, Role.STEWARD)


def dataset_for(user: people.Person, code: str, need: Need = Need.VIEW) -> Dataset:
    """The dataset, or 404 to strangers, or PermissionDenied to colleagues without the role."""
    dataset = Dataset.objects.select_related("organisation", "steward").filter(code=code).first()
    if dataset is None or not may(user, dataset, Need.VIEW):
        raise Http404("no such dataset")
    if not may(user, dataset, need):
        raise PermissionDenied
    return dataset


def datasets_of(
    user: people.Person, *, search: str = "", status: str = "", order: str = "-created_at"
) -> QuerySet[Dataset]:
    """Every dataset that `user` may view, newest first, with the latest description number prefetched."""
    people.require_role(user, *Need.VIEW.roles)
    found = Dataset.objects.filter(organisation=people.organisation_of(user)).select_related("organisation", "steward")
    for word in search.split():
        found = found.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(code__startswith=word))
    if status:
        found = found.filter(status=status)
    latest = Prefetch("domain_versions", DomainVersion.objects.defer("document"))
    return found.defer("draft").prefetch_related(latest).order_by(order, "pk")


def current_domain(dataset: Dataset) -> DomainVersion | None:
    """The description in force: the one confirmed last."""
    return dataset.domain_versions.order_by("-number").first()


def domain_version_for(user: people.Person, code: str, number: int, need: Need = Need.VIEW) -> DomainVersion:
    """One confirmed description of a dataset that `user` may view."""
    version = dataset_for(user, code, need).domain_versions.filter(number=number).first()
    if version is None:
        raise Http404("no such description")
    return version


def fixed_terms(dataset: Dataset) -> dict[str, str] | None:
    """Whom the budget account of this dataset protects, as the draft spells it; None before one pays for it."""
    try:
        account = dataset.coverage.account
    except ObjectDoesNotExist:
        return None
    return {
        "max_records": str(account.max_records),
        "unit_column": account.unit_column,
        "relation": account.relation,
        "invariants": ", ".join(account.invariants),
    }


def same_content(dataset: Dataset) -> QuerySet[Dataset]:
    """Other datasets of the organisation with the very same table inside, oldest first."""
    same = Dataset.objects.filter(organisation_id=dataset.organisation_id, content_key=dataset.content_key)
    return same.exclude(pk=dataset.pk).order_by("created_at", "pk")


def preview_exists(dataset: Dataset, kind: str = Preview.Kind.TABLE, subject: str = "") -> Preview | None:
    """Whether an unexpired steward object lies in the store, without opening it."""
    return preview_store.latest(dataset, kind, subject)


def columns_of(dataset: Dataset) -> list[str] | None:
    """The names of the table's columns, to check a description against; None when they are not known: the table was
    not read yet, or what the worker wrote can no longer be opened.

    They are form and not content, so no log entry; they are still kept out of the database, because the header of a
    table that was uploaded without one is a row. Not to be shown: callers name only columns that somebody declared."""
    stored = preview_store.latest(dataset, Preview.Kind.COLUMNS, "")
    if stored is None:
        return None
    try:
        return list(preview_store.read(stored)["columns"])
    except preview_store.PreviewError:
        return None


def preview_for(user: people.Person, dataset: Dataset, kind: str, subject: str = "") -> dict[str, Any] | None:
    """Open a steward object. The audit log says who opened what, every time, before anything is decrypted.

    None when there is none or it has expired. PermissionDenied unless `user` may see real data of this dataset.
    """
    if not may(user, dataset, Need.REAL):
        raise PermissionDenied
    preview = preview_store.latest(dataset, kind, subject)
    if preview is None:
        return None
    audit.record(
        actor=user,
        action="report.opened" if kind == Preview.Kind.REPORT else "preview.opened",
        target=("dataset", dataset.code),
        organisation=dataset.organisation,
        detail={"preview": preview.code, **({"release": subject} if subject else {})},
    )
    return preview_store.read(preview)
