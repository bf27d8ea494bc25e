"""`manage.py reconcile`: one pass of the reconciler, for a cron job or by hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from synthweb.runs import reconcile


class Command(BaseCommand):
    help = "Ring again for what waits, end what was interrupted after its charge, remove expired previews."

    def handle(self, *_args: Any, **_options: Any) -> None:
        outcome = reconcile.reconcile()
        self.stdout.write(
            f"rung for {outcome.rung}, ended {outcome.interrupted} interrupted, "
            f"asked to read {outcome.unread} uploads, removed {outcome.expired} expired objects"
        )
