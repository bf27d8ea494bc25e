"""Signed checkpoints: where a chain ended, and what the account then held, as a small document that auditors
keep elsewhere.

A head is signed only after its whole chain has been recomputed, so a broken one never gets a signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from synth_engine.privacy.signing import SignedDocument
from synthweb.accounts.models import Organisation
from synthweb.audit import chain as audit_chain
from synthweb.audit.models import AuditEntry
from synthweb.ledger import chain, selectors
from synthweb.ledger.errors import ChainBroken
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import signatures
from synthweb.lib.chain import FIRST, ChainVerdict

SCHEMA = "synthweb/chain-head/1"
EVERYTHING = "synthweb/ledger-and-audit/1"
AUDIT = "audit"  # the name of the audit log's chain, beside the codes of accounts


def of_account(account: BudgetAccount) -> SignedDocument:
    """The signed checkpoint of an account's chain, with its balance."""
    return _signed(SCHEMA, _end_of(account))


def of_audit_log() -> SignedDocument:
    """The signed checkpoint of the audit log, which is one chain for the installation."""
    return _signed(SCHEMA, _end_of_log())


def of_everything(
    organisation: Organisation,
    accounts: Iterable[BudgetAccount],
    log: QuerySet[AuditEntry],
) -> SignedDocument:
    """The signed list of all accounts of an organisation and of its entries of the audit log, with the end of
    each chain."""
    ends = [_end_of(account) for account in accounts]
    # Last: the log has what the accounts have.
    end = _end_of_log()
    entries, digest = _listed(log.filter(sequence__lte=end["length"]))
    return _signed(
        EVERYTHING,
        {
            "organisation": organisation.code,
            "accounts": ends,
            # The chain has entries of other organisations between these.
            "audit": {**end, "entries": entries, "digest": digest},
        },
    )


@transaction.atomic
def _end_of(account: BudgetAccount) -> dict[str, object]:
    # `verify` locks the account until this transaction ends: the balance is that of the verified
    # chain, not of an entry that was written in between.
    verdict = _intact(chain.verify(account))
    account.refresh_from_db()
    balance = selectors.balance(account)
    return {
        "chain": account.code,
        "identity": chain.identity(account),
        "first_hash": chain.first_hash(account),
        "balance": {
            part: getattr(balance, part).as_dict for part in ("cap", "held", "charged")
        },
        "length": verdict.length,
        "head": verdict.head,
    }


def _end_of_log() -> dict[str, object]:
    verdict = _intact(audit_chain.verify())
    return {
        "chain": AUDIT,
        "first_hash": FIRST,
        "length": verdict.length,
        "head": verdict.head,
    }


def _listed(log: QuerySet[AuditEntry]) -> tuple[list[list[int]], str]:
    """Which entries these are, as first and last number of each row without gaps, and the SHA-256 of their
    hashes in order."""
    ranges: list[list[int]] = []
    digest = hashlib.sha256()
    rows = log.order_by("sequence").values_list("sequence", "hash")
    for number, known in rows.iterator(chunk_size=2000):
        digest.update(known.encode())
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges, digest.hexdigest()


def public_key() -> bytes:
    """The public half of the key that signs, as PEM."""
    return signatures.public_pem(_key())


def key_name() -> str | None:
    """How the key that signs is called; None where this process has none."""
    try:
        return signatures.key_id(public_key())
    except signatures.NoSigningKey:
        return None


def _signed(schema: str, statement: Mapping[str, object]) -> SignedDocument:
    return signatures.sign({**statement, "at": timezone.now()}, schema=schema, key=_key())


def _intact(verdict: ChainVerdict) -> ChainVerdict:
    if not verdict.intact:
        raise ChainBroken(
            f"The chain is broken: {verdict.faults[0]}",
            repair="stop spending and look at the database",
        )
    return verdict


def _key() -> Ed25519PrivateKey:
    return signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
