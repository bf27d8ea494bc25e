"""Signed checkpoints that are kept outside the database: an account that lacks one was set back, and must not
spend.

A database that is restored from a backup does not know what was spent after it. What was published stays
published, so the spending that is missing still counts. Checkpoints in a folder outside
(`SYNTHWEB_CHECKPOINTS`, filled by `manage.py sign_heads`) remember how far each chain had come.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from django.conf import settings

from synthweb.ledger.errors import OlderThanCheckpoint
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import signatures

REPAIR = "ask an operator: docs/deployment.md says how to proceed after a restore"


def require(account: BudgetAccount) -> None:
    """Errors: OlderThanCheckpoint if the newest stored checkpoint of the account is not in its chain, or
    cannot be read.

    Without a folder in the settings, or a checkpoint of the account in it, there is nothing to compare
    with."""
    if not settings.CHECKPOINT_DIR:
        return
    newest = _newest(Path(settings.CHECKPOINT_DIR), account.code)
    if newest is None:
        return
    length, head = _statement(newest, account.code)
    # The head of an empty chain is no entry.
    if (
        length
        and not LedgerEntry.objects.filter(account=account, sequence=length, hash=head).exists()
    ):
        raise OlderThanCheckpoint(
            "A signed checkpoint names an entry of this account that the database does not have: it was "
            "set back to an older copy, in which later spending is missing",
            repair=REPAIR,
        )


def _newest(folder: Path, code: str) -> Path | None:
    """The checkpoint of the account's longest chain. Errors: OlderThanCheckpoint if the folder cannot be
    read."""
    pattern = re.compile(rf"head-{re.escape(code)}-([0-9]+)\.json")
    try:
        numbered = [
            (int(match[1]), path)
            for path in folder.iterdir()
            if (match := pattern.fullmatch(path.name))
        ]
    except OSError:
        raise OlderThanCheckpoint(
            "The folder of signed checkpoints cannot be read, so nobody knows whether the database is the "
            "newest one",
            repair=REPAIR,
        ) from None
    return max(numbered)[1] if numbered else None


def _statement(path: Path, code: str) -> tuple[int, str]:
    """Length and head of the chain that a checkpoint states."""
    try:
        statement = signatures.check(json.loads(path.read_text(encoding="utf-8")))
        if statement["chain"] != code:
            raise signatures.BadSignature("another chain")
        return int(statement["length"]), str(statement["head"])
    except (OSError, ValueError, TypeError, KeyError, signatures.BadSignature):
        raise OlderThanCheckpoint(
            f"The stored checkpoint {path.name} is damaged", repair=REPAIR
        ) from None
