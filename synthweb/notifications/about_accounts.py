"""What people are notified of about their own accounts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from synthweb.accounts.models import User
from synthweb.audit.models import AuditEntry
from synthweb.lib import codes
from synthweb.notifications.models import Event, Notification
from synthweb.notifications.services import NotificationSubject, notify

FAILED, PAUSED = "user.sign_in_failed", "user.sign_in_paused"
FAILURES = 3  # within an hour: one or two are slips of the person's own
WITHIN = timedelta(hours=1)
MOST_ENTRIES = (
    2000  # of the end of the log, so that a look takes the same time however long it is
)
RESETS_EVERY = timedelta(minutes=5)


def changed(*, person: User, action: str, **_signal: Any) -> None:
    """How somebody signs in was changed: they are told, in case it was not them."""
    notify(
        event=Event.ACCOUNT_CHANGED,
        people=[person],
        subject=_about(action),
        key=codes.new(),
    )


def reset_requested(*, person: User, **_signal: Any) -> None:
    """Mail a link to choose a new password. A few minutes apart, so that nobody can fill a mailbox."""
    recent = Notification.objects.filter(
        user=person, event=Event.PASSWORD_RESET, at__gt=timezone.now() - RESETS_EVERY
    )
    if not recent.exists():
        notify(
            event=Event.PASSWORD_RESET,
            people=[person],
            subject=_about(person.get_username()),
            key=codes.new(),
        )


def failed_sign_ins(now: datetime | None = None) -> None:
    """Notify people under whose names sign-ins failed, once an hour.

    From the audit log, by the worker and not at the sign-in: the time of a refused sign-in would tell whether
    somebody has the name."""
    now = now or timezone.now()
    end = AuditEntry.objects.order_by("-sequence").values_list("sequence", flat=True).first()
    entries = AuditEntry.objects.filter(
        sequence__gt=(end or 0) - MOST_ENTRIES,
        at__gte=now - WITHIN,
        action__in=(FAILED, PAUSED),
        object_kind="user",
    ).order_by("sequence")
    failures: dict[str, int] = {}
    addresses: dict[str, str] = {}
    for entry in entries:
        # A pause is the end of many failures.
        count = FAILURES if entry.action == PAUSED else 1
        failures[entry.object_code] = failures.get(entry.object_code, 0) + count
        addresses[entry.object_code] = entry.detail.get("address", "")
    targets = [code for code, number in failures.items() if number >= FAILURES]
    for person in User.objects.filter(pk__in=targets):
        notify(
            event=Event.SIGN_INS_FAILED,
            people=[person],
            subject=_about(addresses[str(person.pk)] or "?"),
            key=f"{now:%Y-%m-%d %H}",
        )


def _about(name: str) -> NotificationSubject:
    return NotificationSubject(kind="person", code="", name=name)
