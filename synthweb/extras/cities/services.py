"""What people do with cities: bring the documents, edit them, choose releases, generate, and let a city
grow."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from django.db import transaction

from synthweb.accounts import selectors as people
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.extras.cities import selectors as cities
from synthweb.extras.cities.models import CityBuild
from synthweb.extras.cities.selectors import CityDocuments
from synthweb.lib import names
from synthweb.runs import errors, queue
from synthweb.runs.stages import WAIT

State = CityBuild.State
MAX_CITIES = 20
"""Of one person: each stands in the database."""


@transaction.atomic
def draft(
    *, user: User, documents: CityDocuments, before: CityBuild | None = None
) -> CityBuild:
    """Keep the documents of a city. before: the one that it grows from, whose seed it has. Nothing is
    generated. Errors: SpecError, NotReady."""
    spec = cities.specification_of(documents.specification)
    _require_room(user)
    return CityBuild.objects.create(
        organisation=people.organisation_of(user),
        created_by=user,
        name=names.one_line(spec.name)[:200],
        specification=documents.specification,
        areas=documents.areas,
        descriptions=dict(documents.descriptions),
        releases=dict(documents.releases),
        before=before,
        seed=secrets.token_hex(16) if before is None else before.seed,
    )


@transaction.atomic
def edit(
    *, user: User, build: CityBuild, specification: str, releases: Mapping[str, str]
) -> CityBuild:
    """Other words of the specification, or other releases, of a city that is not generated yet. Errors:
    SpecError, NotOpen."""
    build = _locked(build, user)
    _require_draft(build)
    spec = cities.specification_of(specification)
    build.specification, build.name = specification, names.one_line(spec.name)[:200]
    known = cities.fed_by_releases(spec)
    build.releases = {name: code for name, code in releases.items() if code and name in known}
    build.save(update_fields=["specification", "name", "releases"])
    return build


@transaction.atomic
def start(*, user: User, build: CityBuild) -> CityBuild:
    """Check a city with its sources, and queue it. It costs nothing. Errors: SpecError and TableError by
    table, field, rule and repair; NotOpen."""
    build = _locked(build, user)
    _require_draft(build)
    cities.assemble(user, cities.documents_of(build))
    build.state, build.stage = State.WAITING, WAIT.name
    build.failure, build.attempts = None, 0
    build.save(update_fields=["state", "stage", "failure", "attempts"])
    queue.enqueue(CityBuild.TASK, build.code, queue.DEFAULT)
    audit.record(
        actor=user,
        action="city.requested",
        target=("city", build.code),
        organisation=build.organisation,
        detail={"releases": ", ".join(sorted(set(build.releases.values())))},
    )
    return build


def grow(*, user: User, build: CityBuild) -> CityBuild:
    """A draft with the same documents, releases and seed: whatever release is exchanged changes the tables
    that it feeds, and leaves all others as they are. Errors: NotOpen, NotReady."""
    if build.state != State.FINISHED:
        raise errors.NotOpen("only a generated city grows", repair="generate it first")
    return draft(user=user, documents=cities.documents_of(build), before=build)


@transaction.atomic
def delete(*, user: User, build: CityBuild) -> None:
    """Remove a city with its files. Errors: NotOpen while it is generated, or where another one grew from
    it."""
    build = _locked(build, user)
    if build.state == State.WAITING:
        raise errors.NotOpen("this city is being generated", repair="wait until it is done")
    if build.grown.exists():
        raise errors.NotOpen("another city grew from this one", repair="delete that one first")
    audit.record(
        actor=user,
        action="city.deleted",
        target=("city", build.code),
        organisation=build.organisation,
    )
    build.delete()


def _locked(build: CityBuild, user: User) -> CityBuild:
    rows = CityBuild.objects.select_for_update(of=("self",)).select_related("organisation")
    return rows.defer("areas", "archive", "database", "descriptions").get(
        pk=build.pk, created_by=user
    )


def _require_draft(build: CityBuild) -> None:
    if build.state not in (State.DRAFT, State.FAILED):
        raise errors.NotOpen(
            "this city is generated, or about to be", repair="let it grow into another one"
        )


def _require_room(user: User) -> None:
    if CityBuild.objects.filter(created_by=user).count() >= MAX_CITIES:
        raise errors.NotReady(
            f"a person has up to {MAX_CITIES} cities", repair="delete one that is not needed"
        )
