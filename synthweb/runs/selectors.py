"""Who sees which run, and what a run or job looks like to them. Reads only; every function authorises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import Http404

from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import can, organisation_of, roles_of
from synthweb.datasets.models import Dataset
from synthweb.releases.models import Release
from synthweb.runs.models import ReleaseJob, SynthesisRun, TableJob

ReleaseJobT = TypeVar("ReleaseJobT", bound=ReleaseJob)

MOST_FAILURES = 3
"""Failures of one kind of job for a release, after which nobody but the operator has it tried again."""


def runs_for(user: AbstractBaseUser) -> QuerySet[SynthesisRun]:
    """Every run of the user's organisation, for stewards, custodians and auditors; PermissionDenied for
    others."""
    if not can(user, Need.VIEW):
        raise PermissionDenied("Runs are for stewards, custodians and auditors.")
    runs = SynthesisRun.objects.filter(dataset__organisation=organisation_of(user))
    releases = ("release_run__release", "check_run__checks")
    runs = runs.select_related(
        "dataset__organisation",
        "hold__account",
        "created_by",
        *releases,
        "check_run__paid_check",
        "sketch_run__side__link",
    )
    # Documents that may be megabytes, and that no page of runs shows.
    heavy = [f"{name}__{part}" for name in releases for part in ("model", "receipt")]
    heavy += ["sketch_run__side__sketch", "sketch_run__side__link__estimate"]
    return runs.defer("dataset__draft", *heavy).order_by("-created_at", "-pk")


def run_for(user: AbstractBaseUser, code: str, *, act: bool = False) -> SynthesisRun:
    """One run. Http404 for strangers and for roles that see no runs; PermissionDenied for a reader who would
    act."""
    roles = roles_of(user)
    if not roles & Need.VIEW.roles:
        raise Http404("no such run")
    run = runs_for(user).filter(code=code).first()
    if run is None:
        raise Http404("no such run")
    if act and not roles & Need.SPEND.roles:
        raise PermissionDenied("Only a steward acts on runs.")
    return run


def ends_unseen(user: AbstractBaseUser) -> QuerySet[SynthesisRun]:
    """What `user` asked for, that finished or failed, and whose end they have not seen yet."""
    return unseen_of(SynthesisRun.objects.all(), user)


def waits_for_an_end(user: AbstractBaseUser) -> bool:
    """Whether something that `user` asked for is under way."""
    return SynthesisRun.objects.filter(created_by=user.pk, state__in=SynthesisRun.OPEN).exists()


def latest_job(
    *, kind: str, dataset: Dataset, release: Release | None = None
) -> TableJob | None:
    """The newest job of a kind, for its page to say whether it waits, ended or failed; the caller
    authorised."""
    return (
        TableJob.objects.filter(kind=kind, dataset=dataset, release=release)
        .order_by("-created_at", "-pk")
        .first()
    )


def latest_of_release(kind: type[ReleaseJobT], release: Release) -> ReleaseJobT | None:
    """The newest job of a kind for a release; the caller authorised."""
    jobs = kind._default_manager.filter(release=release)
    return jobs.order_by("-created_at", "-pk").first()


def may_try_again(kind: type[ReleaseJob], release: Release) -> bool:
    """Whether a job of a kind may be asked for once more: not while one waits, nor after it failed a few
    times."""
    jobs = kind._default_manager.filter(release=release)
    failed = jobs.filter(state=ReleaseJob.State.FAILED).count()
    waits = jobs.filter(state__in=ReleaseJob.OPEN).exists()
    return not waits and failed < MOST_FAILURES


def unseen_of(runs: QuerySet[SynthesisRun], user: AbstractBaseUser) -> QuerySet[SynthesisRun]:
    """Those of `runs` that `user` asked for and whose end they have not seen yet; a run that went on has a
    new one."""
    unseen = Q(seen=None) | Q(seen__at__lt=F("finished_at"))
    return runs.filter(unseen, created_by=user.pk, state__in=SynthesisRun.TELLING)


def filtered(runs: QuerySet[SynthesisRun], query: Mapping[str, str]) -> QuerySet[SynthesisRun]:
    """Narrowed by `state`, by `mechanism`, by a `dataset` code, and by words `q` of names and codes; unknown
    states narrow nothing."""
    if (state := query.get("state", "")) in SynthesisRun.State:
        runs = runs.filter(state=state)
    if mechanism := query.get("mechanism", ""):
        runs = runs.filter(spec__mechanism=mechanism)
    if dataset := query.get("dataset", ""):
        runs = runs.filter(dataset__code=dataset)
    for word in query.get("q", "").split():
        runs = runs.filter(
            Q(name__icontains=word)
            | Q(dataset__name__icontains=word)
            | Q(code__startswith=word)
        )
    return runs
