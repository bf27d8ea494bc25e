"""API tokens: how one is made and recognised. 32 random bytes behind a prefix that secret scanners can find;
the database keeps the SHA-256 alone, which is enough because nobody can guess 256 bits."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from synthweb.accounts import selectors
from synthweb.accounts.models import ApiToken
from synthweb.audit import services as audit

PREFIX = "synthweb_"
SCOPES = {
    "read": _("Read what you may read: datasets, releases, receipts, the ledger; draw samples"),
    "spend": _(
        "Upload, replace, describe and delete tables, ask for budget, submit and cancel runs"
    ),
    "share": _("Share releases, revoke shares, name releases"),
    "webhooks": _("Register, test and remove webhooks of your own"),
    "grant": _("Grant and refuse budget, for custodians"),
    "people": _("Say whether everybody needs a second factor, for those who manage people"),
}
SEEN_EVERY = timedelta(minutes=1)  # a busy program must not cost a write a request


def mint() -> tuple[str, str]:
    """A fresh token and its digest."""
    token = PREFIX + secrets.token_urlsafe(32)
    return token, digest(token)


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(token: str) -> ApiToken | None:
    """The token's row if it may be used now, None otherwise; `.user` is its owner, `.scopes` what it may
    do."""
    # Other programs' credentials in the header cost no query.
    if not token.startswith(PREFIX):
        return None
    row = selectors.token_with(digest(token))
    now = timezone.now()
    ends = None if row is None else selectors.token_ends(row)
    if row is not None and ends is not None and ends <= now:
        _record_end(row, ends=ends, now=now)
        return None
    if row is not None and (row.last_used_at is None or now - row.last_used_at > SEEN_EVERY):
        # update() and not save(): a revocation that was written meanwhile must stay.
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


@transaction.atomic
def _record_end(token: ApiToken, *, ends: datetime, now: datetime) -> None:
    """Record that a token was used which ended with its owner's last sign-in: one entry for each such end."""
    # One conditional UPDATE: of many requests at once, only the one that changed the row writes an entry.
    unrecorded = Q(end_recorded_at=None) | Q(end_recorded_at__lt=ends)
    if ApiToken.objects.filter(unrecorded, pk=token.pk).update(end_recorded_at=now):
        member = token.user.memberships.select_related("organisation").first()
        audit.record(
            actor="system",
            action="token.ended",
            target=("token", token.code),
            organisation=member.organisation if member else None,
            detail={
                "of": token.user.get_username(),
                "because": f"no sign-in for {selectors.UNSEEN_DAYS} days",
            },
        )
