"""`manage.py rotate_vault_key`: another key of the vault, without reading a table.

Runs where both halves of the key can be written. Whoever was interrupted runs it again.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from synthweb.datasets import files
from synthweb.datasets.services import rotate_vault_key
from synthweb.lib.errors import Conflict
from synthweb.runs.models import SynthesisRun

State = SynthesisRun.State


class Command(BaseCommand):
    help = "Change the key of the vault: wrap the key of each table again, then forget the old one."
    requires_migrations_checks = True

    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            count = rotate_vault_key(is_measuring=is_measuring)
        except (Conflict, files.StorageError, OSError) as problem:
            raise CommandError(str(problem), returncode=1) from None
        self.stdout.write(
            f"The vault has another key. Keys of tables wrapped again: {count}. "
            "Copy the keys, and destroy the copies of the old one when no "
            "backup needs it any more."
        )


def is_measuring() -> bool:
    """Whether the secret choices of a run may have been made, and its answers are not all stored."""
    return SynthesisRun.objects.filter(
        Q(state=State.CHARGED) | Q(state=State.HELD, lease_held=True)
    ).exists()
