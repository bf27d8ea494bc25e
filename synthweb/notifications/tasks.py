"""The Celery task of the outbox, sent by beat. Its worker has a queue of its own: a mail server that hangs keeps nobody else
waiting, and no other process needs a way to the internet."""

from __future__ import annotations

from celery import shared_task

DELIVER = "notifications.deliver"


@shared_task(name=DELIVER)
def deliver() -> None:
    """Send what is due."""
    from synthweb.notifications import delivering

    delivering.deliver()
