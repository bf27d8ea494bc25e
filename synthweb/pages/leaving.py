"""Somebody leaves: their access ends, and what was theirs is handed over."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from synthweb.accounts import selectors as accounts
from synthweb.accounts import services
from synthweb.accounts.models import Role, User
from synthweb.audit import services as audit
from synthweb.datasets.models import Dataset
from synthweb.releases import services as releases
from synthweb.releases.models import ReleaseGrant


@dataclass(frozen=True, kw_only=True)
class HandedOver:
    """What somebody had who left."""

    shares: int
    datasets: int


@transaction.atomic
def leave(*, person: User, successor: User | None, actor: User | str) -> HandedOver:
    """End the access of `person` and hand over to `successor` what their roles allow: releases that were
    shared with `person` to an analyst, datasets to a steward. Without one, shares end and datasets stay as
    they are, open to every steward.

    Raises ValidationError for a successor of another organisation, or who cannot sign in."""
    if successor is not None:
        _require_successor(person, successor)
    roles = set() if successor is None else accounts.roles_of(successor)
    grants = list(
        ReleaseGrant.objects.select_related("release__dataset__organisation", "analyst")
        .filter(analyst=person, revoked_at=None)
        .order_by("pk")
    )
    for grant in grants:
        if successor is not None and Role.ANALYST in roles:
            releases.hand_over(grant=grant, analyst=successor, actor=actor)
        else:
            releases.revoke(actor=actor, grant=grant)
    datasets = []
    if successor is not None and Role.STEWARD in roles:
        datasets = list(Dataset.objects.filter(steward=person).order_by("pk"))
        Dataset.objects.filter(steward=person).update(steward=successor)
    for dataset in datasets:
        audit.record(
            actor=actor,
            action="dataset.handed_over",
            target=("dataset", dataset.code),
            organisation=dataset.organisation,
            detail={"from": person.get_username(), "to": _name(successor)},
        )
    person.webhooks.all().delete()
    services.leave(actor=actor, person=person)
    return HandedOver(shares=len(grants), datasets=len(datasets))


def _require_successor(person: User, successor: User) -> None:
    if (
        successor.pk == person.pk
        or not accounts.may_sign_in(successor)
        or accounts.organisation_of(successor) != _organisation(person)
    ):
        raise ValidationError(
            _("Choose a successor of the same organisation who can sign in."), code="successor"
        )


def _organisation(person: User) -> object:
    # Of somebody who was shut out before, too.
    membership = person.memberships.select_related("organisation").first()
    return None if membership is None else membership.organisation


def _name(successor: User | None) -> str:
    return "" if successor is None else successor.get_username()
