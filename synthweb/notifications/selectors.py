"""Who gets what, and what somebody sees of their own deliveries."""

from __future__ import annotations

from urllib.parse import urljoin

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils import timezone

from synthweb.accounts import selectors as accounts
from synthweb.accounts.models import User
from synthweb.notifications.models import Event, Notification, Preferences, Webhook

PAGES = {
    "run": "runs:run",
    "release": "releases:release",
    "dataset": "pages:dataset",
    "request": "ledger:request",
    "account": "ledger:account",
    "counts": "runs:filled",
    "link": "runs:link",
}
"""Kind of subject → its page, which takes the code. Everything else leads to the page of webhooks."""
OWN_PAGES = {"person": "accounts:sessions"}
"""Kind of subject → a page about oneself."""


def sends_mail() -> bool:
    """Whether this installation sends e-mail at all."""
    return bool(settings.EMAIL_HOST)


def preferences_of(user: User) -> Preferences:
    """What somebody chose; unsaved and with everything on for who has chosen nothing."""
    return Preferences.objects.filter(user=user).first() or Preferences(
        user=user, language=settings.LANGUAGE_CODE
    )


def gets_mail(user: User, event: Event) -> bool:
    """Whether an event leads to an e-mail to somebody."""
    return (
        sends_mail()
        and bool(user.email)
        # The addresses of demo users are made up.
        and not user.is_demo
        and event != Event.WEBHOOK_TEST  # which goes to its webhook alone
        and event.value not in preferences_of(user).muted
    )


def webhooks_for(user: User, event: Event) -> list[Webhook]:
    """The webhooks of somebody that are on and asked for the event."""
    return [
        webhook
        for webhook in webhooks_of(user)
        if event.value in webhook.events and webhook.disabled_at is None
    ]


def webhooks_of(user: User) -> QuerySet[Webhook]:
    """Somebody's own webhooks, the oldest first."""
    return Webhook.objects.filter(user=user)


def webhook_of(user: User, code: str) -> Webhook:
    """One of somebody's own webhooks; 404 for everybody else's."""
    webhook = webhooks_of(user).filter(code=code).first()
    if webhook is None:
        raise Http404("No such webhook.")
    return webhook


def notifications_of(user: User) -> QuerySet[Notification]:
    """What somebody was notified of, the newest first, with its deliveries."""
    known = Notification.objects.filter(user=user, at__lte=timezone.now())
    return known.prefetch_related("deliveries__webhook")


def has_access(user: User) -> bool:
    """Whether somebody still may know of what happens here."""
    return accounts.may_sign_in(user) and bool(accounts.roles_of(user))


def path_of(notification: Notification) -> str:
    """The path of the page that a notification leads to."""
    if notification.kind in OWN_PAGES:
        return reverse(OWN_PAGES[notification.kind])
    page = PAGES.get(notification.kind)
    if page is None:
        return reverse("notifications:webhooks")
    return reverse(page, args=[notification.subject_code])


def link_of(notification: Notification) -> str:
    """… with the address of this installation, which no request gives: a host header may be forged."""
    link: str = urljoin(settings.SITE_URL, path_of(notification))
    return link
