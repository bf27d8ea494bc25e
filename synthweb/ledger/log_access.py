"""Who may read which part of the audit log. The log lies below people and their roles, so this is where they
meet.

An auditor reads everything of the organisation; a steward what was done with its tables, and who saw real
rows of them; everybody what they did and what was done about them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext

from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import Person
from synthweb.audit.labels import READS_REAL_ROWS
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset

_DATASET_OBJECT_KINDS = (
    "run",
    "release",
    "sample",
    "table-job",
)  # kinds of objects that belong to one dataset


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the log that somebody may read, and how its page and its files are called."""

    log: QuerySet[AuditEntry]
    title: str
    lede: str
    name: str  # of files
    address: str
    exports: dict[str, str]
    without: tuple[str, ...] = ()  # filters that make no sense here
    real_rows: bool = False
    about: dict[str, str] = field(default_factory=dict)


def may_read_all(user: Person) -> bool:
    """Whether `user` is an auditor."""
    return accounts.can(user, Need.LOG)


def whole_log(user: Person) -> Part:
    """Every deed of the auditor's organisation; PermissionDenied for everybody else."""
    accounts.require(user, Need.LOG)
    organisation = accounts.organisation_of(user)
    return _part(
        _log(user),
        "audit",
        title=gettext("Audit log"),
        lede=gettext(
            "Who did what in %(organisation)s. Entries are never changed or deleted; each carries the hash "
            "of the one before it."
        )
        % {"organisation": organisation.name},
        name=f"audit-{organisation.code}",
    )


def real_rows(user: Person) -> Part:
    """Every opening of something made from real rows: for auditors and stewards, to whom they may be
    shown."""
    accounts.require(user, Need.OPENINGS)
    return _part(
        _log(user).filter(action__in=READS_REAL_ROWS),
        "real-rows",
        title=gettext("Who looked at real rows"),
        lede=gettext(
            "Each opening of first rows, suggestions or a comparison with the real table. It is written "
            "down before anything is decrypted."
        ),
        name=f"real-rows-{accounts.organisation_of(user).code}",
        real_rows=True,
    )


def of_dataset(user: Person, code: str) -> Part:
    """What was done with one table, its runs and its releases: for auditors and its stewards."""
    log = _log(user)
    if may_read_all(user):
        dataset = Dataset.objects.filter(
            code=code, organisation=accounts.organisation_of(user)
        ).first()
    else:
        dataset = datasets.dataset_for(user, code)  # of a deleted one too
        accounts.require(user, Need.OPENINGS)
    # Not every entry of a run or release names the dataset; one that does gives the code.
    belongs = log.filter(object_kind__in=_DATASET_OBJECT_KINDS, detail__dataset=code).values(
        "object_code"
    )
    log = log.filter(
        Q(object_kind="dataset", object_code=code)
        | Q(detail__dataset=code)
        | Q(object_kind__in=_DATASET_OBJECT_KINDS, object_code__in=belongs)
    )
    if dataset is None and not log.exists():  # the log outlives a dataset
        raise Http404("No such dataset")
    return _part(
        log,
        "history-dataset",
        code,
        title=gettext("History of %(name)s") % {"name": dataset.name if dataset else code},
        lede=gettext(
            "Who uploaded, described, paid for, ran, released and shared it, and who looked at its real rows."
        ),
        name=f"history-{code}",
        without=("object",),
        about={"dataset": code if dataset else ""},
    )


def of_person(user: Person, username: str) -> Part:
    """What somebody did, and what was done about them: for auditors and for themselves."""
    organisation = accounts.organisation_of(user)
    person = accounts.people_of(organisation).filter(username=username).first()
    if person is None:
        raise Http404("No such person")
    if person.pk != user.pk and not may_read_all(user):
        raise PermissionDenied("The history of a person is for auditors and for themselves")
    return _part(
        _log(user).filter(_about(person)),
        "history-person",
        username,
        title=gettext("Your history")
        if person.pk == user.pk
        else gettext("History of %(name)s") % {"name": username},
        lede=gettext("What they did, and what was done "
        "about them.") if person.pk != user.pk else gettext("What the audit "
        "log says about you: what you did, and what was done about you."),
        name=f"history-{person.pk}",
        without=("actor",),
    )  # fmt: skip


def _about(person: User) -> Q:
    name = person.username
    named = Q(detail__username=name) | Q(detail__analyst=name) | Q(detail__of=name)
    return Q(actor=name) | Q(object_kind="user", object_code=str(person.pk)) | named


def _log(user: Person) -> QuerySet[AuditEntry]:
    code = accounts.organisation_of(user).code
    # By code: entries refer to no other table, so that they outlive what they name.
    return AuditEntry.objects.filter(organisation_code=code).order_by("-sequence")


def _part(log: QuerySet[AuditEntry], route: str, *arguments: str, **facts: object) -> Part:
    exports = {
        kind: reverse(f"ledger:{route}-entries", args=[*arguments, kind])
        for kind in ("csv", "json")
    }
    return Part(
        log=log,
        address=reverse(f"ledger:{route}", args=arguments),
        exports=exports,
        **facts,  # type: ignore[arg-type]
    )
