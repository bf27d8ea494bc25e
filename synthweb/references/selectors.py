"""Reading public reference tables. Everybody who sees the datasets of an organisation sees them; stewards
bring them."""

from __future__ import annotations

from django.db.models import OuterRef, Prefetch, QuerySet, Subquery
from django.http import Http404

from synthweb.accounts import selectors as people
from synthweb.accounts.permissions import Need
from synthweb.references.models import ReferenceTable, ReferenceVersion

# Lists leave the content in the database: a gazetteer may have megabytes.
LISTED = (
    ReferenceVersion.objects.defer("content")
    .select_related("uploaded_by", "reference")
    .order_by("-number")
)


def references_of(user: people.Person) -> QuerySet[ReferenceTable]:
    """Every reference table of `user`'s organisation, by name, its versions prefetched, the newest first;
    `kind` is that of the newest."""
    people.require(user, Need.VIEW)
    tables = ReferenceTable.objects.filter(
        organisation=people.organisation_of(user)
    ).select_related("made_by")
    newest = ReferenceVersion.objects.filter(reference=OuterRef("pk")).order_by("-number")
    tables = tables.annotate(kind=Subquery(newest.values("kind")[:1]))
    return tables.prefetch_related(Prefetch("versions", LISTED)).order_by("name", "pk")


def reference_for(user: people.Person, code: str) -> ReferenceTable:
    """One of them, or 404 to strangers."""
    if not people.can(user, Need.VIEW):
        raise Http404("no such reference table")
    table = references_of(user).filter(code=code).first()
    if table is None:
        raise Http404("no such reference table")
    return table


def of_records(user: people.Person) -> list[ReferenceVersion]:
    """The newest version of every table of records of `user`'s organisation, by name; their content stays in
    the database."""
    newest = (version for table in references_of(user) for version in table.versions.all()[:1])
    return [version for version in newest if version.has_records]


def of_codes(user: people.Person) -> list[ReferenceTable]:
    """Every reference table of `user`'s organisation that has codes, by name."""
    # The versions of a table have all codes or all records.
    return [
        table
        for table in references_of(user)
        if not any(version.has_records for version in table.versions.all())
    ]


def version_for(user: people.Person, code: str, number: int | None = None) -> ReferenceVersion:
    """One version, the newest unless a number is given; or 404. Its content stays in the database until
    somebody reads it."""
    versions = (
        ReferenceVersion.objects.filter(reference=reference_for(user, code))
        .defer("content")
        .select_related("reference")
    )
    version = (
        versions.order_by("-number").first()
        if number is None
        else versions.filter(number=number).first()
    )
    if version is None:
        raise Http404("no such version")
    return version
