"""`manage.py reconcile`: the reconciler by hand, or for a cron job.

What is stuck is what has been silent for a lease, so the command watches for as long if anything is open."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from synthweb.runs import leases, reconcile


class Command(BaseCommand):
    help = (
        "Send the messages of what waits again, end what was interrupted after its charge, remove expired "
        "previews."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        # A new process has seen nothing: it frees only what stays
        # silent for a lease while it watches.
        watch = leases.Watch()
        outcome = reconcile.reconcile(watch)
        for _ in range(leases.BEATS_A_LEASE):
            if not reconcile.is_anything_open():
                break
            time.sleep(settings.RUN_LEASE_SECONDS / leases.BEATS_A_LEASE)
            outcome += reconcile.reconcile(watch)
        self.stdout.write(
            f"sent {outcome.sent} messages, ended {outcome.interrupted} interrupted, "
            f"asked to read {outcome.unread} uploads, removed {outcome.expired} expired objects"
        )
