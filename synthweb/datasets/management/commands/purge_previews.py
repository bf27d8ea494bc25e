"""`manage.py purge_previews`: what the reconciler does about expired previews and interrupted uploads, by
hand."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from synthweb.datasets import services


class Command(BaseCommand):
    help = "Removes expired previews and reports, and what interrupted uploads left behind."

    def handle(self, **_options: Any) -> None:
        self.stdout.write(f"removed {services.sweep()}")
