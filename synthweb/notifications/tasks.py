"""The Celery task of the outbox, sent by beat. Its worker has a queue of its own: a mail server that hangs
keeps nobody else waiting, and no other process needs a way to the internet."""

from __future__ import annotations

from celery import shared_task

DELIVER = "notifications.deliver"


@shared_task(name=DELIVER)
def deliver() -> None:
    """Notify people of failed sign-ins, and send what is due."""
    from synthweb.notifications import about_accounts, delivering

    about_accounts.failed_sign_ins()
    delivering.deliver()
