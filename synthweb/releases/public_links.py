"""Public links: a release read by whoever has the address, without an account, until a day that its steward
chose.

The address holds 256 random bits, of which the database has the SHA-256 alone. It opens what an analyst with
whom the release is shared may see, and no more: first rows, report, bundle, and tables drawn with the public
seed. A custodian of the organisation can switch all of its links off. How often a link was used is counted by
day; who used it is not recorded.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import Http404
from django.utils import timezone

from synthweb.accounts.models import Organisation, User
from synthweb.audit import services as audit
from synthweb.lib.errors import Conflict, Refused
from synthweb.releases import selectors, services
from synthweb.releases.models import PublicLink, PublicLinkPolicy, PublicLinkUse, Release

LONGEST = timedelta(days=366)


@dataclass(frozen=True, kw_only=True)
class MadeLink:
    """A link and the token of its address, which is shown once."""

    link: PublicLink
    token: str


def digest_of(token: str) -> str:
    """What the database keeps of a token: enough, because nobody can guess 256 bits."""
    return hashlib.sha256(token.encode()).hexdigest()


def are_allowed(organisation: Organisation) -> bool:
    """Whether the custodian lets releases of an organisation have public links; they do until one of them
    says no."""
    policy = PublicLinkPolicy.objects.filter(organisation=organisation).first()
    return policy is None or policy.allowed


@transaction.atomic
def allow(*, actor: User, organisation: Organisation, allowed: bool) -> None:
    """Switch the public links of an organisation on or off. Those that exist open nothing while they are
    off."""
    if are_allowed(organisation) == allowed:
        return
    PublicLinkPolicy.objects.update_or_create(
        organisation=organisation, defaults={"allowed": allowed}
    )
    audit.record(
        actor=actor,
        action="public_links.allowed" if allowed else "public_links.forbidden",
        target=("organisation", organisation.code),
        organisation=organisation,
    )


@transaction.atomic
def make(*, actor: User, release: Release, until: date, note: str = "") -> MadeLink:
    """Make a link that opens the release to the end of a day (UTC), at most a year ahead. The first reader
    counts as in `services.share`: a mark says so if somebody had looked at real data before. Raises
    Refused."""
    now = timezone.now()
    expires = datetime.combine(until, time.min, tzinfo=UTC) + timedelta(days=1)
    if not now < expires <= now + LONGEST:
        raise Refused(
            "a public link ends on a day within a year from now",
            repair="choose a day between today and a year from today",
            field="until",
        )
    release = (
        Release.objects.select_for_update(of=("self",))
        .select_related("dataset__organisation")
        .get(pk=release.pk)
    )
    organisation = release.dataset.organisation
    if not are_allowed(organisation):
        raise Conflict(
            "a custodian has switched public links off in your organisation",
            repair="ask a custodian, or share the release with an analyst",
        )
    services.mark_if_looked(release)
    token = secrets.token_urlsafe(32)
    link = PublicLink.objects.create(
        release=release,
        digest=digest_of(token),
        note=note.strip(),
        created_by=actor,
        expires_at=expires,
    )
    _record(actor, link, "public_link.made", until=f"{until:%Y-%m-%d}")
    return MadeLink(link=link, token=token)


@transaction.atomic
def revoke(*, actor: User | str, link: PublicLink) -> None:
    """End a link; what was downloaded stays where it is."""
    # Conditional: of two people who revoke at once one is written to the log.
    if PublicLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=timezone.now()):
        report_uses(PublicLinkUse.objects.filter(link=link))
        _record(actor, link, "public_link.revoked")


def opened(token: str) -> PublicLink:
    """The link with this token, if it opens its release now; Http404 for everything else, without a
    reason."""
    link = (
        PublicLink.objects.filter(_is_open(), digest=digest_of(token))
        .select_related("release__dataset__organisation")
        .first()
    )
    if link is None or not are_allowed(link.release.dataset.organisation):
        raise Http404("no such public link")
    link.release = selectors.release_of_link(link)
    return link


def count_use(link: PublicLink) -> None:
    """Count one request of a visitor. Nothing is recorded of who it was; a day that is over goes to the audit
    log."""
    today = timezone.now().date()
    PublicLinkUse.objects.get_or_create(link=link, day=today)
    PublicLinkUse.objects.filter(link=link, day=today).update(count=F("count") + 1)
    earlier = PublicLinkUse.objects.filter(link=link, day__lt=today)
    if earlier.exists():
        report_uses(earlier)


@transaction.atomic
def report_uses(uses: QuerySet[PublicLinkUse]) -> int:
    """Write counts that the audit log does not have yet, one entry for each link and day, and forget them;
    how many."""
    days = list(
        uses.select_for_update(of=("self",)).select_related(
            "link__release__dataset__organisation"
        )
    )
    for use in days:
        PublicLink.objects.filter(pk=use.link_id).update(uses=F("uses") + use.count)
        _record(
            None, use.link, "public_link.used", day=f"{use.day:%Y-%m-%d}", requests=use.count
        )
        use.delete()
    return len(days)


def report_days_that_are_over() -> int:
    """The counts of earlier days, of all links; how many. For the reconciler."""
    return report_uses(PublicLinkUse.objects.filter(day__lt=timezone.now().date()))


def links_of(release: Release) -> QuerySet[PublicLink]:
    """The links of a release that are not revoked, the newest first, each with `total`, how often it was
    used; the caller authorised."""
    return _counted(PublicLink.objects.filter(release=release, revoked_at=None))


def links_in(organisation: Organisation) -> QuerySet[PublicLink]:
    """Those of all releases of an organisation that open something now; the caller authorised."""
    links = PublicLink.objects.filter(_is_open(), release__dataset__organisation=organisation)
    return _counted(links.select_related("release"))


def _counted(links: QuerySet[PublicLink]) -> QuerySet[PublicLink]:
    counted = links.annotate(total=F("uses") + Coalesce(Sum("days__count"), 0))
    return counted.select_related("created_by").order_by("-created_at", "-pk")


def _is_open() -> Q:
    return Q(revoked_at=None, expires_at__gt=timezone.now())


def _record(
    actor: User | str | None, link: PublicLink, action: str, **detail: str | int
) -> None:
    audit.record(
        actor=actor,
        action=action,
        target=("release", link.release.code),
        organisation=link.release.dataset.organisation,
        detail={"link": link.code, **detail},
    )
