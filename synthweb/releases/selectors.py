"""Who sees which release: every function here fetches and authorises in one step.

A release is post-processing of noisy answers, so nothing about it is real; who may see it is still a decision
of the stewards. Analysts see what is shared with them, auditors and custodians see what was spent on, not the
samples.
"""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.http import Http404
from django.utils import timezone

from synth_engine.evaluation.quality_words import RELATION_LEVELS
from synth_engine.relational.plan import MECHANISM
from synthweb.accounts.models import Membership, Role, User
from synthweb.accounts.permissions import GIVEN_BY_SHARING, Need
from synthweb.accounts.selectors import holders_of
from synthweb.audit.models import AuditEntry
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import codes
from synthweb.releases import receipt_facts
from synthweb.releases.models import (
    Edition,
    PublicLink,
    Release,
    ReleaseGrant,
    ReleaseMark,
    Sample,
)

Person = User | AnonymousUser
LOOKS = ("first_look__document", "first_look__errors")
HEAVY = ("model", "receipt", "dataset__draft", *LOOKS)  # documents that no list shows


def releases_for(
    user: Person, *, search: str = "", mechanism: str = "", dataset: str = ""
) -> QuerySet[Release]:
    """Every release that `user` may view, newest first, narrowed by words of name, description and code, by
    method and by the code of a dataset; the models and receipts stay in the database."""
    releases = Release.objects.filter(_visible(user)).select_related(
        "dataset__organisation", "created_by", "first_look"
    )
    for word in search.split():
        releases = releases.filter(
            Q(name__icontains=word) | Q(description__icontains=word) | Q(code__startswith=word)
        )
    if mechanism:
        releases = releases.filter(mechanism=mechanism)
    if dataset:
        releases = releases.filter(dataset__code=dataset)
    return releases.defer(*HEAVY).order_by("-created_at", "-pk")


def to_draw_from(user: User) -> QuerySet[Release]:
    """The releases that `user` may draw samples from, newest first."""
    return releases_for(user).filter(_drawable(user)).exclude(mechanism=MECHANISM)


def release_for(
    user: Person, code: str, need: Need = Need.VIEW, *, tables: Literal["one", "any"] = "one"
) -> Release:
    """The release; Http404 for who may not know of it, PermissionDenied for who may know of it and not do
    this. tables: of one table alone, or of a database, too, whose model and receipt have another form."""
    release = _loaded(Release.objects.filter(_visible(user), code=code)).first()
    if release is None or (tables == "one" and release.mechanism == MECHANISM):
        raise Http404("no such release")
    if not may(user, release, need):
        raise PermissionDenied(
            "This is not shared with your role."
            if release.withdrawn_at is None
            else "This release was withdrawn: its receipt is still here, its model is not."
        )
    return release


def _loaded(releases: QuerySet[Release]) -> QuerySet[Release]:
    """With what pages of one release need, without the documents that few of them read."""
    related = releases.select_related(
        "dataset__organisation", "account", "domain_version", "created_by", "first_look"
    )
    documents = ("model", "receipt", "dataset__draft", "domain_version__document", *LOOKS)
    return related.defer(*documents).annotate(**receipt_facts.RELEASE_ANNOTATIONS)


def may(user: Person, release: Release, need: Need) -> bool:
    """Whether `user`, who sees the release, may do that."""
    if need == Need.VIEW:
        return True
    if release.withdrawn_at is not None:
        return False
    roles = set(
        _memberships(user)
        .filter(organisation=release.dataset.organisation_id)
        .values_list("role", flat=True)
    )
    if roles & need.roles:
        return True
    return (
        need in GIVEN_BY_SHARING
        and Role.ANALYST in roles
        and _open_grants(user).filter(release=release).exists()
    )


def sample_for(user: Person, code: str, *, release_code: str) -> Sample:
    """A sample of one's own; the seed is its requester's secret, so everybody else's do not exist."""
    release = release_for(user, release_code, Need.SAMPLE)
    sample = (
        Sample.objects.select_related("edition__created_by")
        .filter(code=code, release=release, requested_by=user.pk)
        .first()
    )
    if sample is None:
        raise Http404("no such sample")
    # The release that was authorised above, loaded once and without its heavy documents.
    sample.release = release
    return sample


def samples_of(user: Person, release: Release) -> QuerySet[Sample]:
    """The user's own samples of a release, newest first."""
    samples = Sample.objects.filter(release=release, requested_by=user.pk).select_related(
        "edition__created_by"
    )
    return samples.defer("edition__model").order_by("-created_at", "-pk")


def editions_of(release: Release) -> QuerySet[Edition]:
    """The edited descriptions of a release, newest first, without the models themselves; the caller
    authorised."""
    editions = (
        Edition.objects.filter(release=release).select_related("created_by").defer("model")
    )
    return editions.order_by("-created_at", "-pk")


def edition_for(release: Release, code: str) -> Edition:
    """One of them; Http404 if the release has none of this code. The caller authorised."""
    edition = editions_of(release).filter(code=codes.of_text(code)).first()
    if edition is None:
        raise Http404("no such edited description")
    return edition


def grants_of(release: Release) -> QuerySet[ReleaseGrant]:
    """With whom a release is shared now; the caller authorised."""
    open_grants = ReleaseGrant.objects.filter(release=release, revoked_at=None)
    return open_grants.select_related("analyst", "granted_by").order_by("analyst__username")


def somebody_has(release: Release) -> bool:
    """Whether the release is shared with an analyst now, or a public link opens it; the caller authorised."""
    links = PublicLink.objects.filter(
        release=release, revoked_at=None, expires_at__gt=timezone.now()
    )
    return grants_of(release).exists() or links.exists()


def release_of_link(link: PublicLink) -> Release:
    """The release that an open public link leads to, as `release_for` loads it."""
    return _loaded(Release.objects.filter(pk=link.release_id)).get()


def analysts_for(release: Release) -> QuerySet[User]:
    """With whom it could be shared: analysts of the organisation who do not have it yet."""
    return holders_of(release.dataset.organisation, Role.ANALYST).exclude(
        pk__in=grants_of(release).values("analyst")
    )


def with_sharing(releases: QuerySet[Release], user: Person) -> QuerySet[Release]:
    """The same releases, each with `shared_by`, who shared it with `user`, None for whoever sees it
    otherwise; `readers`, with how many it is shared; and `may_sample`, whether `user` may draw from it."""
    own = _open_grants(user).filter(release=OuterRef("pk"))
    grants = ReleaseGrant.objects.filter(release=OuterRef("pk"), revoked_at=None)
    # Counted in a query of its own: a join would group by every column.
    counted = grants.order_by().values("release").annotate(count=Count("pk")).values("count")
    return releases.annotate(
        shared_by=Subquery(own.values("granted_by__username")[:1]),
        readers=Coalesce(Subquery(counted), 0),
        may_sample=Case(
            When(_drawable(user), then=True),
            default=False,
            output_field=BooleanField(),
        ),
    )


def with_quality(releases: QuerySet[Release]) -> QuerySet[Release]:
    """The same releases, each with `column_count`, 0 before the first look is prepared, and the places of its
    two words of quality: `word_place`, that in `COLUMN_WORDS` of `ExpectedQuality.word`, or 4 before it is
    computed, and `relation_place`, that in `RELATION_LEVELS`, or 4."""
    good, coarse, lost = (
        Cast(KeyTextTransform(f"{level}_columns", "first_look__quality"), IntegerField())
        for level in ("found", "coarse", "not_found")
    )
    return releases.annotate(
        column_count=Coalesce("first_look__columns", 0),
        found_columns=good,
        coarse_columns=good + coarse,
        known_columns=good + coarse + lost,
    ).annotate(
        word_place=Case(
            When(known_columns=None, then=4),
            When(known_columns=0, then=3),
            When(known_columns__lte=F("found_columns") * 2, then=0),
            When(known_columns__lte=F("coarse_columns") * 2, then=1),
            default=2,
            output_field=IntegerField(),
        ),
        relation_place=Case(
            *(
                When(first_look__quality__relations=level, then=place)
                for place, level in enumerate(RELATION_LEVELS)
            ),
            default=len(RELATION_LEVELS),
            output_field=IntegerField(),
        ),
    )


def shared_by(user: Person, release: Release) -> str | None:
    """Who shared a release with `user`; None for whoever sees it otherwise. The caller authorised."""
    grants = _open_grants(user).filter(release=release)
    return grants.values_list("granted_by__username", flat=True).first()


def looked_at_real(account: BudgetAccount) -> bool:
    """Whether anybody has opened a comparison with real data of this account's tables, or of another upload
    of the very same content, now or in an earlier version of either: later choices may rest on it."""
    own = Dataset.objects.filter(coverage__account=account)
    keys = {
        key
        for pair in own.values_list("content_key", "tables__content_key")
        for key in pair
        if key
    }
    same = datasets.holding(keys, organisation_id=account.organisation_id)
    codes = Dataset.objects.filter(
        Q(pk__in=own.values("pk")) | Q(pk__in=same.values("pk"))
    ).values("code")
    # The log is complete: its entry is written before a comparison is decrypted.
    return AuditEntry.objects.filter(
        action="report.opened", object_kind="dataset", object_code__in=codes
    ).exists()


def with_look(releases: QuerySet[Release]) -> QuerySet[Release]:
    """The same releases, each with `looked`: whether its receipt says that a choice was made after a look at
    real data."""
    marked = ReleaseMark.objects.filter(release=OuterRef("pk"), kind=ReleaseMark.Kind.LOOKED)
    return releases.annotate(looked=Q(receipt__chosen_after_looking=True) | Exists(marked))


def _visible(user: Person) -> Q:
    insider = _memberships(user).filter(role__in=Need.VIEW.roles).values("organisation")
    analyst = _memberships(user).filter(role=Role.ANALYST).values("organisation")
    # A grant counts as long as its holder is an analyst of that organisation.
    shared = Q(pk__in=_open_grants(user).values("release"), dataset__organisation__in=analyst)
    return Q(dataset__organisation__in=insider) | shared


def _drawable(user: Person) -> Q:
    """Of the releases that `user` may view, those that samples may be drawn from."""
    memberships = _memberships(user)
    drawing = memberships.filter(role__in=Need.SAMPLE.roles).values("organisation")
    analyst = memberships.filter(role=Role.ANALYST).values("organisation")
    # As in `may`: a grant counts as long as its holder is an analyst of that organisation.
    shared = Q(pk__in=_open_grants(user).values("release"), dataset__organisation__in=analyst)
    return (shared | Q(dataset__organisation__in=drawing)) & Q(withdrawn_at=None)


def _memberships(user: Person) -> QuerySet[Membership]:
    if user.pk is None:
        return Membership.objects.none()
    # A session or a token may be older than the day on which its user was switched off.
    return Membership.objects.filter(user_id=user.pk, user__is_active=True)


def _open_grants(user: Person) -> QuerySet[ReleaseGrant]:
    return ReleaseGrant.objects.filter(analyst_id=user.pk, revoked_at=None)
