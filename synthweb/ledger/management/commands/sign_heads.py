"""`manage.py sign_heads FOLDER`: recompute every chain and write its signed checkpoint, for auditors to keep
elsewhere.

Beside them lies the signed list of the keys of tables that were destroyed (`tombstones`), which a restore
needs.

One file for each account and one for the audit log, named after the chain and its length, so that a daily run
beside the old ones overwrites nothing but itself. Exit 1 if a chain is broken; the others are written all the
same.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from synth_engine.privacy.signing import SignedDocument
from synthweb.datasets import files, tombstones
from synthweb.ledger import checkpoints
from synthweb.ledger.errors import ChainBroken
from synthweb.ledger.models import BudgetAccount
from synthweb.lib.signatures import NoSigningKey


class Command(BaseCommand):
    help = "Write the signed checkpoints of the chains of every budget account and of the audit log."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder", type=Path, help="where the files go; made if it is not there"
        )
        parser.add_argument(
            "--account", action="append", default=[], metavar="CODE", help="only these accounts"
        )

    def handle(self, *_args: Any, folder: Path, account: list[str], **_options: Any) -> None:
        accounts = BudgetAccount.objects.select_related("organisation").order_by("pk")
        if account:
            accounts = accounts.filter(code__in=account)
            if missing := set(account) - set(accounts.values_list("code", flat=True)):
                raise CommandError(
                    f"no such account: {', '.join(sorted(missing))}", returncode=2
                )
        chains: dict[str, Callable[[], SignedDocument]] = {
            account.code: partial(checkpoints.of_account, account) for account in accounts
        }
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise CommandError(str(problem), returncode=2) from None
        if not account:
            chains[checkpoints.AUDIT] = checkpoints.of_audit_log
            self._write_tombstones(folder)
        broken = [name for name, head in chains.items() if not self._write(folder, name, head)]
        if broken:
            raise CommandError(f"broken, and not signed: {', '.join(broken)}", returncode=1)

    def _write_tombstones(self, folder: Path) -> None:
        path = folder / tombstones.FILE
        try:
            files.replace(path, _text(tombstones.signed()).encode())
        except (NoSigningKey, OSError) as problem:
            raise CommandError(str(problem), returncode=2) from None
        self.stdout.write(f"{'tombstones':<12} {path}")

    def _write(self, folder: Path, name: str, head: Callable[[], SignedDocument]) -> bool:
        try:
            document = head()
            path = folder / f"head-{name}-{document['statement']['length']}.json"
            path.write_text(_text(document), encoding="utf-8")
        except ChainBroken as problem:
            self.stdout.write(f"{name:<12} {self.style.ERROR('BROKEN')} {problem}")
            return False
        except (NoSigningKey, OSError) as problem:
            raise CommandError(str(problem), returncode=2) from None
        self.stdout.write(f"{name:<12} {path}")
        return True


def _text(document: SignedDocument) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
