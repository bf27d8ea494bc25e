"""`manage.py backup FILE`: the database, tables, answers and keys together in one encrypted file, while
everything runs.

The file is encrypted to a public key (`SYNTHWEB_BACKUP_RECIPIENT`, or --to), whose private half is kept
elsewhere: `age-keygen` makes such a pair. In a folder, the file is named after the time. The keys of the
vault are in it, so whoever has the private half can read every table.

The installation's key signs it. The line with the name of this key, which is printed each time, belongs into
the file of the private half: `restore` then accepts what this key signed, and nothing else.

With --every the command goes on: it makes a backup each time so many hours have passed, and a failure is
reported and tried again at the next time. With --checkpoints it then signs the ends of all chains, for
`SYNTHWEB_CHECKPOINTS`.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from synthweb.backups import services
from synthweb.backups.errors import BackupError
from synthweb.backups.signers import SIGNED_BY
from synthweb.lib import disks, occurrences

PREFIX = "synthweb-"


class Command(BaseCommand):
    help = "Write database, vault, answers and keys to one encrypted file."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a new file, or a folder")
        parser.add_argument("--to", metavar="KEY", help="the public key, age1…")
        parser.add_argument("--checkpoints", type=Path, metavar="FOLDER")
        parser.add_argument(
            "--every", type=float, metavar="HOURS", help="go on; FILE is a folder"
        )
        parser.add_argument(
            "--retain", type=int, metavar="NUMBER", help="delete older backups in the folder"
        )

    def handle(self, *_args: Any, file: Path, every: float | None, **options: Any) -> None:
        recipient = _recipient(options["to"])
        if (every or options["retain"]) and not file.is_dir():
            raise CommandError("--every and --retain need a folder", returncode=2)
        while True:
            try:
                self._once(file, recipient, **options)
            except CommandError as problem:
                if not every:
                    raise
                self.stderr.write(str(problem))
            if not every:
                return
            connection.close()  # nothing is held while nothing is done
            time.sleep(every * 3600)

    def _once(
        self,
        file: Path,
        recipient: pyrage.x25519.Recipient,
        *,
        checkpoints: Path | None,
        retain: int | None,
        **_options: Any,
    ) -> None:
        new = file / f"{PREFIX}{timezone.now():%Y%m%dT%H%M%SZ}.age" if file.is_dir() else file
        try:
            made = services.make(new, recipient=recipient)
        except (BackupError, OSError) as problem:
            raise CommandError(str(problem), returncode=1) from None
        parts = ", ".join(f"{number} {part}" for part, number in made.counts.items())
        self.stdout.write(f"{new}: the database, {parts}")
        self.stdout.write(f"{SIGNED_BY}{made.signer}")
        if checkpoints is not None:
            call_command("sign_heads", str(checkpoints), stdout=self.stdout)
        if retain:
            for old in sorted(file.glob(f"{PREFIX}*.age"))[:-retain]:
                old.unlink()
        occurrences.note(occurrences.BACKED_UP, free=disks.free(new.parent))


def _recipient(given: str | None) -> pyrage.x25519.Recipient:
    try:
        return pyrage.x25519.Recipient.from_str(given or settings.BACKUP_RECIPIENT)
    except pyrage.RecipientError:
        raise CommandError(
            "no public key: set SYNTHWEB_BACKUP_RECIPIENT or give --to, a key that begins with age1",
            returncode=2,
        ) from None
