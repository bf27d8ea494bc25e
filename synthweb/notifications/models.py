"""What people are notified of, and each attempt to deliver it.

A Notification is written in the transaction of the event. Its Deliveries are the outbox: one for e-mail and
one for each webhook that asked for the event. A worker claims a delivery by one conditional UPDATE, sends it,
and records the outcome under that claim; a worker that dies in between leaves a row that is due again. So
each is sent at least once, always under the same id.
"""

from __future__ import annotations

import secrets
from base64 import b64encode

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from synthweb.lib import codes

SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix that Standard Webhooks gives to secrets
SECRET_BYTES = 32
URL_LENGTH = 500


def new_secret() -> str:
    """A fresh secret in the form of Standard Webhooks."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class Event(models.TextChoices):
    """What somebody can be notified of."""

    RUN_FINISHED = "run.finished", _("A run of mine has finished")
    RUN_FAILED = "run.failed", _("A run of mine has failed")
    RELEASE_SHARED = "release.shared", _("A release was shared with me")
    BUDGET_REQUESTED = "budget.requested", _("A steward asks for privacy budget")
    APPROVAL_WANTED = "budget.approval_wanted", _("A grant needs a second approval")
    BUDGET_GRANTED = "budget.granted", _("My request for budget was granted")
    BUDGET_REFUSED = "budget.refused", _("My request for budget was refused")
    BUDGET_EXPIRES = "budget.expires", _("A grant is about to expire")
    COUNTS_ASKED = "counts.asked", _("A steward asks for filled counts")
    COUNTS_DECIDED = "counts.decided", _("My request for filled counts was decided")
    LINK_CHANGED = "link.changed", _("The other side of a link of mine has acted")
    WEBHOOK_DISABLED = "webhook.disabled", _("A webhook of mine was switched off")
    SIGN_INS_FAILED = "account.sign_ins_failed", _("Somebody fails to sign in under my name")
    ACCOUNT_CHANGED = "account.changed", _("How I sign in was changed")
    PASSWORD_RESET = "account.password_reset", _("A link to choose a new password")
    WEBHOOK_TEST = "webhook.test", _("A test of a webhook")


ASKED_FOR = frozenset({Event.WEBHOOK_TEST, Event.PASSWORD_RESET})
CHOSEN = tuple(event for event in Event if event not in ASKED_FOR)
"""The events that people choose from; the others are sent when somebody asks for them."""


class Preferences(models.Model):
    """What somebody gets by e-mail, and in which language. Without a row: every event, in English."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="notification_preferences",
    )
    language = models.CharField(max_length=8, default="en")
    # What is left out and not what is chosen: an event of a later version is on at first.
    muted = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name_plural = "preferences"

    def __str__(self) -> str:
        return f"Preferences of {self.user}"


class Webhook(models.Model):
    """An address of somebody's program, which gets what they are notified of."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks"
    )
    url = models.CharField(max_length=URL_LENGTH)
    events = models.JSONField(default=list)
    # Readable, because each delivery is signed with it (ADR 78). No page shows it again.
    secret = models.CharField(max_length=64, default=new_secret, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True)  # None: the last one arrived
    disabled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"Webhook {self.code} of {self.user}"


class Notification(models.Model):
    """One event that one person is notified of. `kind` and `subject_code` name what it is about, `name` is
    what people call it."""

    code = models.CharField(max_length=16, unique=True, default=codes.new, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications"
    )
    event = models.CharField(max_length=32, choices=Event)
    key = models.CharField(max_length=100)  # the same event again has the same key
    kind = models.CharField(max_length=16)
    subject_code = models.CharField(max_length=16)
    name = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "event", "key"], name="notification_once_an_event"
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.user}"


class Delivery(models.Model):
    """One notification on its way by one channel."""

    class Channel(models.TextChoices):
        EMAIL = "email", _("E-mail")
        WEBHOOK = "webhook", _("Webhook")

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Given up")
        CANCELLED = "cancelled", _("Cancelled")

    class Problem(models.TextChoices):
        UNREACHABLE = "unreachable", _("The server cannot be reached")
        TIMEOUT = "timeout", _("The server did not answer in time")
        REFUSED = "refused", _("The server refused it")
        CERTIFICATE = "certificate", _("The certificate is not valid for this host")
        ADDRESS = "address", _("The host has an address that is not public")
        GONE = "gone", _("The person has no access any more, or the webhook is off")

    notification = models.ForeignKey(
        Notification, on_delete=models.CASCADE, related_name="deliveries"
    )
    channel = models.CharField(max_length=8, choices=Channel)
    webhook = models.ForeignKey(
        Webhook, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)  # also the fencing token of a claim
    due_at = models.DateTimeField()
    status = models.PositiveIntegerField(
        null=True, blank=True
    )  # the last answer of HTTP or SMTP, by its code alone
    problem = models.CharField(max_length=12, choices=Problem, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["state", "due_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["notification", "webhook"], name="delivery_once_a_webhook"
            ),
            models.UniqueConstraint(
                fields=["notification"],
                condition=models.Q(channel="email"),
                name="delivery_once_by_email",
            ),
            models.CheckConstraint(
                condition=models.Q(channel="email", webhook=None)
                | models.Q(channel="webhook", webhook__isnull=False),
                name="delivery_names_its_webhook",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.notification} by {self.channel}"
