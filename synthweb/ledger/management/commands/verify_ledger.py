"""`manage.py verify_ledger`: recompute every hash chain and every sum; exit 1 if anything does not fit.

A chain cannot show that its end was cut off, or that the whole database was set back to an older backup. So
keep the heads somewhere else: `--save FILE` writes them down, `--against FILE` later demands that each is
still in its chain; FILE may also be a signed checkpoint, which shows besides that it is one of ours.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from synthweb.audit import chain as audit_chain
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, checkpoints, publication_plans
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.lib import hashing, occurrences, signatures
from synthweb.lib.chain import ChainVerdict

SCHEMA = "synthweb/ledger-heads/1"
AUDIT = checkpoints.AUDIT


class Command(BaseCommand):
    help = "Verify the hash chains and sums of every budget account and of the audit log."
    requires_migrations_checks = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--save", type=Path, metavar="FILE", help="write the heads of all chains to FILE"
        )
        parser.add_argument(
            *("--against",), type=Path, metavar="FILE", nargs="+", default=[],
            help="demand that the heads in each FILE are still there",
        )  # fmt: skip

    def handle(
        self, *_args: Any, save: Path | None, against: list[Path], **_options: Any
    ) -> None:
        accounts = BudgetAccount.objects.select_related("organisation").order_by("pk")
        verdicts = {
            account.code: self._report(account.code, chain.verify(account))
            for account in accounts
        }
        plans = {account.code: publication_plans.faults(account) for account in accounts}
        verdicts[AUDIT] = self._report(AUDIT, audit_chain.verify())
        broken = [name for name, verdict in verdicts.items() if not verdict.intact]
        for name, faults in plans.items():
            for fault in faults:
                self.stdout.write(f"{name:<12} {self.style.ERROR('BROKEN')} {fault}")
                broken.append(name)
        for path in against:
            broken += self._compare(_read(path))
        if broken:
            raise CommandError(f"broken: {', '.join(dict.fromkeys(broken))}", returncode=1)
        occurrences.note(occurrences.VERIFIED)
        # Only after every check, so that no head of a broken chain is ever written down.
        if save is not None:
            heads = {
                name: {"length": verdict.length, "head": verdict.head}
                for name, verdict in verdicts.items()
            }
            save.write_bytes(hashing.canonical_json({"schema": SCHEMA, "heads": heads}) + b"\n")

    def _report(self, name: str, verdict: ChainVerdict) -> ChainVerdict:
        word = self.style.SUCCESS("intact") if verdict.intact else self.style.ERROR("BROKEN")
        self.stdout.write(f"{name:<12} {word} {verdict.length:>8} entries  head {verdict.head}")
        for fault in verdict.faults:
            self.stdout.write(f"{'':<12} - {fault}")
        return verdict

    def _compare(self, heads: dict[str, dict[str, object]]) -> list[str]:
        """Which of the heads written down earlier are no longer where they were."""
        # The head of an empty chain is no entry, so there is nothing to look for.
        gone = [
            name
            for name, known in heads.items()
            if known["length"] and not _is_there(name, known)
        ]
        for name in gone:
            self.stdout.write(
                f"{name:<12} {self.style.ERROR('BROKEN')} the head written down earlier is gone: cut off "
                "or set back"
            )
        return gone


def _is_there(name: str, known: dict[str, Any]) -> bool:
    if name == AUDIT:
        return AuditEntry.objects.filter(sequence=known["length"], hash=known["head"]).exists()
    return LedgerEntry.objects.filter(
        account__code=name, sequence=known["length"], hash=known["head"]
    ).exists()


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{path} cannot be read as JSON: {type(error).__name__}", returncode=2
        ) from None
    if isinstance(document, dict) and document.get("schema") == checkpoints.SCHEMA:
        return _signed(path, document)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CommandError(
            f"{path} is not a file of chain heads; make one with --save", returncode=2
        )
    return dict(document["heads"])


def _signed(path: Path, document: dict[str, object]) -> dict[str, dict[str, object]]:
    try:
        statement = signatures.check(document)
        return {statement["chain"]: {"length": statement["length"], "head": statement["head"]}}
    except (signatures.BadSignature, KeyError) as problem:
        raise CommandError(f"{path}: {problem}", returncode=2) from None
