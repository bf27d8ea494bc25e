"""`manage.py restore FILE --key KEYFILE`: put a backup into an installation that has nothing yet, and check
the result.

The backup has to be signed by a key that the operator knows from elsewhere: `backup` prints a line with its
name, which the file of the private key then has in it, or --signed-by names the key. Whoever has that key
decided what is in the backup: people, passwords, roles, keys and the ledger.

Afterwards every hash chain and every key is tried. With --against, signed checkpoints that were kept
elsewhere are looked for: an account whose checkpoint is missing was spent from after the backup, and must not
spend. With --tombstones, keys of tables that were destroyed after the backup stay destroyed.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pyrage
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from synthweb.backups import services, signers
from synthweb.backups.errors import BackupError
from synthweb.datasets import files


class Command(BaseCommand):
    help = "Restore a backup to an empty database and empty folders, and verify it."
    # There are no tables yet that checks could look at.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--key", type=Path, required=True, help="the file of the private key"
        )
        parser.add_argument("--against", type=Path, nargs="+", default=[], metavar="CHECKPOINT")
        parser.add_argument(
            "--tombstones",
            type=Path,
            metavar="FILE",
            help="the signed list of destroyed keys, tombstones.signed beside the checkpoints",
        )
        parser.add_argument(
            "--signed-by",
            nargs="+",
            default=[],
            metavar="KEY",
            help="keys that may have signed the backup or the list: each the file of a public key, or its "
            "name. Whoever has such a key decided what is in the backup: people, passwords, roles, keys "
            "and the ledger",
        )

    def handle(
        self, *_args: Any, file: Path, key: Path, against: list[Path], **options: Any
    ) -> None:
        try:
            identity = pyrage.x25519.Identity.from_str(files.read_key(key))
        except (files.StorageError, pyrage.IdentityError, UnicodeError):
            raise CommandError(f"{key} is no file of a private key", returncode=2) from None
        try:
            noted = signers.noted(key)
            manifest = services.restore(
                file,
                identity=identity,
                signers=noted | signers.named(options["signed_by"]),
                destroyed=options["tombstones"],
            )
        except (BackupError, OSError) as problem:
            raise CommandError(str(problem), returncode=1) from None
        self.stdout.write(
            f"Restored: the backup of {manifest['at']}, as the key {manifest['key']} signed it."
        )
        if manifest["key"] not in noted:
            self.stdout.write(
                "You named this key: whoever has its other half decided what was restored, people, "
                "passwords, roles, keys and the ledger."
            )
        if options["tombstones"]:
            self.stdout.write(
                f"{manifest['buried']} tables that were destroyed after it stay destroyed."
            )
        else:
            self.stdout.write(
                "No list of destroyed keys was given: tables that were deleted after this backup are back. "
                "Delete them again, or restore with --tombstones."
            )
        verification = ["--against", *map(str, against)] if against else []
        call_command("verify_ledger", *verification, stdout=self.stdout)
        call_command("check_keys", stdout=self.stdout)
