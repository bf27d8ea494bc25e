"""Notifying people of what happened, and what each of them chooses.

`notify` writes rows in the caller's transaction and does nothing else: no request waits for a mail server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.lib.errors import Conflict
from synthweb.notifications import addresses, selectors
from synthweb.notifications.models import (
    CHOSEN,
    Delivery,
    Event,
    Notification,
    Preferences,
    Webhook,
)

WEBHOOKS_PER_PERSON = 5
LONGEST_NAME = 200


class TooManyWebhooks(Conflict):
    """Somebody has as many webhooks as one person can have."""

    code = "too-many-webhooks"


@dataclass(frozen=True, kw_only=True)
class NotificationSubject:
    """What an event is about: `kind` and `code` give the link, `name` is what people call it."""

    kind: str
    code: str
    name: str


def notify(
    *,
    event: Event,
    people: Iterable[User],
    subject: NotificationSubject,
    key: str,
    at: datetime | None = None,
) -> list[Notification]:
    """Have `people` notified of an event, in the caller's transaction. The same `key` again notifies nobody
    again. at: when they may know of it; None for now.

    Call it before an entry of the audit log is written, because behind that all writers wait."""
    written = []
    for user in people:
        notification, created = Notification.objects.get_or_create(
            user=user,
            event=event,
            key=key,
            defaults={
                "kind": subject.kind,
                "subject_code": subject.code,
                "name": subject.name[:LONGEST_NAME],
            },
        )
        if created:
            if at is not None:
                notification.at = at
                notification.save(update_fields=["at"])
            _enqueue(notification)
            written.append(notification)
    return written


def _enqueue(notification: Notification) -> None:
    """A delivery for each channel that the person chose for the event."""
    user, event = notification.user, Event(notification.event)
    deliveries = [
        Delivery(
            notification=notification,
            channel=Delivery.Channel.WEBHOOK,
            webhook=webhook,
            due_at=notification.at,
        )
        for webhook in selectors.webhooks_for(user, event)
    ]
    if selectors.gets_mail(user, event):
        deliveries.append(
            Delivery(
                notification=notification,
                channel=Delivery.Channel.EMAIL,
                due_at=notification.at,
            )
        )
    Delivery.objects.bulk_create(deliveries)


def choose(*, user: User, events: Collection[str], language: str) -> Preferences:
    """From now on somebody gets e-mail about `events` alone, in this language."""
    preferences, _ = Preferences.objects.update_or_create(
        user=user,
        defaults={
            "muted": [event.value for event in CHOSEN if event.value not in events],
            "language": language,
        },
    )
    return preferences


@transaction.atomic
def register_webhook(*, user: User, url: str, events: Collection[str]) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown this once.

    Raises ValidationError for an address that is not allowed, TooManyWebhooks, and PermissionDenied without
    an organisation.
    """
    organisation = accounts.organisation_of(user)
    addresses.require_allowed_form(url)
    # Locked, so that two requests at once do not both find room for one more.
    User.objects.select_for_update(of=_own_row()).get(pk=user.pk)
    if Webhook.objects.filter(user=user).count() >= WEBHOOKS_PER_PERSON:
        raise TooManyWebhooks(
            f"A person has at most {WEBHOOKS_PER_PERSON} webhooks",
            repair="remove one that is no longer needed",
        )
    webhook = Webhook.objects.create(
        user=user, url=url, events=[event.value for event in CHOSEN if event.value in events]
    )
    audit.record(
        actor=user,
        action="webhook.registered",
        target=("webhook", webhook.code),
        organisation=organisation,
        detail={"host": addresses.host_of(url)},
    )
    return webhook, webhook.secret


@transaction.atomic
def remove_webhook(*, user: User, webhook: Webhook) -> None:
    """Remove a webhook with its deliveries; nothing more is sent to it. Doing it twice is no error."""
    deleted, _ = Webhook.objects.filter(pk=webhook.pk, user=user).delete()
    if deleted:
        audit.record(
            actor=user,
            action="webhook.removed",
            target=("webhook", webhook.code),
            organisation=accounts.organisation_of(user),
        )


@transaction.atomic
def enable_webhook(*, user: User, webhook: Webhook) -> None:
    """Switch a webhook on again that was switched off because nothing arrived."""
    changed = Webhook.objects.filter(pk=webhook.pk, user=user).exclude(disabled_at=None)
    if changed.update(disabled_at=None, failing_since=None):
        audit.record(
            actor=user,
            action="webhook.enabled",
            target=("webhook", webhook.code),
            organisation=accounts.organisation_of(user),
        )


@transaction.atomic
def test_webhook(*, user: User, webhook: Webhook) -> Delivery:
    """Send a test to one webhook of somebody's own."""
    now = timezone.now()
    notification = Notification.objects.create(
        user=user,
        event=Event.WEBHOOK_TEST,
        key=now.isoformat(),
        kind="webhook",
        subject_code=webhook.code,
        name=addresses.host_of(webhook.url)[:LONGEST_NAME],
    )
    return Delivery.objects.create(
        notification=notification,
        channel=Delivery.Channel.WEBHOOK,
        webhook=webhook,
        due_at=now,
    )


def disable_webhook(webhook: Webhook) -> None:
    """Switch off a webhook to which nothing has arrived for `WEBHOOK_DISABLE_DAYS`, and notify its owner."""
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, disabled_at=None).update(
            disabled_at=timezone.now()
        ):
            return
        webhook.deliveries.filter(state=Delivery.State.WAITING).update(
            state=Delivery.State.CANCELLED,
            problem=Delivery.Problem.GONE,
            finished_at=timezone.now(),
        )
        notify(
            event=Event.WEBHOOK_DISABLED,
            people=[webhook.user],
            subject=NotificationSubject(
                kind="webhook", code=webhook.code, name=addresses.host_of(webhook.url)
            ),
            key=f"{webhook.code} {webhook.failing_since}",
        )
        audit.record(
            actor=None,
            action="webhook.disabled",
            target=("webhook", webhook.code),
            organisation=_organisation(webhook.user),
            detail={"days": settings.WEBHOOK_DISABLE_DAYS},
        )


def _organisation(user: User) -> str:
    membership = user.memberships.select_related("organisation").first()
    return "" if membership is None else membership.organisation.code


def _own_row() -> tuple[str, ...]:
    """Lock the row alone where the database can."""
    return ("self",) if transaction.get_connection().features.has_select_for_update_of else ()
