"""Working off the outbox: claim a delivery, send it, record what came of it; and again later if it failed."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from synthweb.notifications import mail, selectors, services, webhooks
from synthweb.notifications.models import Delivery, Notification, Webhook
from synthweb.notifications.webhooks import DeliveryAttempt

logger = logging.getLogger(__name__)

Channel, State, Problem = Delivery.Channel, Delivery.State, Delivery.Problem
CLAIM = timedelta(minutes=5)  # after that long somebody else takes what a dead worker had
FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=12)
GIVE_UP = timedelta(days=3)
RETENTION = timedelta(days=90)
PASS_SECONDS = 60  # of one pass; the next one goes on
# The same server fails for all of them: one that is away is asked once, not once for each delivery.
SERVER_PROBLEMS = frozenset({Problem.UNREACHABLE, Problem.TIMEOUT, Problem.CERTIFICATE})


def deliver(*, seconds: float = PASS_SECONDS) -> int:
    """Send what is due, for about so many seconds. Returns how many deliveries were attempted."""
    forget()
    begun, attempted = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        delivery = _claim()
        if delivery is None:
            break
        attempted += 1
        _record(delivery, _attempt(delivery))
    return attempted


def forget() -> int:
    """Delete what people were notified of long ago, with its deliveries."""
    before = timezone.now() - RETENTION
    return Notification.objects.filter(at__lt=before).delete()[0]


def wait_after(attempts: int) -> timedelta:
    """How long a delivery waits after so many failures."""
    steps: int = 4 ** min(attempts - 1, 10)
    return min(LONGEST_WAIT, FIRST_WAIT * steps)


def _claim() -> Delivery | None:
    """The delivery that has been due for longest, taken from everybody else."""
    while True:
        now = timezone.now()
        row = (
            Delivery.objects.filter(state=State.WAITING, due_at__lte=now)
            .select_related("notification__user", "webhook__user")
            .order_by("due_at", "pk")
            .first()
        )
        if row is None:
            return None
        taken = Delivery.objects.filter(
            pk=row.pk, state=State.WAITING, attempts=row.attempts, due_at=row.due_at
        ).update(attempts=row.attempts + 1, due_at=now + CLAIM)
        if taken:
            row.attempts += 1
            return row


def _attempt(delivery: Delivery) -> DeliveryAttempt:
    if not selectors.has_access(delivery.notification.user) or _is_off(delivery.webhook):
        return DeliveryAttempt(problem=Problem.GONE)
    if delivery.channel == Channel.EMAIL:
        # Switched off since: it waits no longer, and is not sent later.
        return (
            mail.send(delivery)
            if selectors.sends_mail()
            else DeliveryAttempt(problem=Problem.GONE)
        )
    return webhooks.send(delivery, now=int(time.time()))


def _is_off(webhook: Webhook | None) -> bool:
    return webhook is not None and webhook.disabled_at is not None


def _record(delivery: Delivery, answer: DeliveryAttempt) -> None:
    now = timezone.now()
    if answer.problem is None:
        changed = {"state": State.SENT, "finished_at": now}
    elif answer.problem == Problem.GONE:
        changed = {"state": State.CANCELLED, "finished_at": now}
    elif _is_final(delivery, answer) or now - delivery.notification.at >= GIVE_UP:
        changed = {"state": State.FAILED, "finished_at": now}
    else:
        changed = {"due_at": now + wait_after(delivery.attempts)}
    # Under the claim: whoever took it over meanwhile records their own outcome.
    Delivery.objects.filter(
        pk=delivery.pk, state=State.WAITING, attempts=delivery.attempts
    ).update(problem=answer.problem or "", status=answer.status, **changed)
    if answer.problem in SERVER_PROBLEMS:
        _postpone(delivery)
    if delivery.webhook is not None and answer.problem != Problem.GONE:
        _judge(delivery.webhook, answer)
    if answer.problem is not None:
        logger.info("delivery %s by %s: %s", delivery.pk, delivery.channel, answer.problem)


def _is_final(delivery: Delivery, answer: DeliveryAttempt) -> bool:
    return delivery.channel == Channel.EMAIL and mail.is_final(answer)


def _postpone(delivery: Delivery) -> None:
    """Whatever else goes to a server that does not answer waits as long as its first failure does."""
    until = timezone.now() + FIRST_WAIT
    Delivery.objects.filter(
        state=State.WAITING,
        channel=delivery.channel,
        webhook=delivery.webhook,
        due_at__lt=until,
    ).update(due_at=until)


def _judge(webhook: Webhook, answer: DeliveryAttempt) -> None:
    """Note since when nothing arrives at a webhook, and switch it off after too many days."""
    rows = Webhook.objects.filter(pk=webhook.pk)
    if answer.problem is None:
        rows.exclude(failing_since=None).update(failing_since=None)
        return
    rows.filter(failing_since=None).update(failing_since=timezone.now())
    limit = timezone.now() - timedelta(days=settings.WEBHOOK_DISABLE_DAYS)
    failing = rows.filter(failing_since__lte=limit, disabled_at=None).first()
    if failing is not None:
        services.disable_webhook(failing)
