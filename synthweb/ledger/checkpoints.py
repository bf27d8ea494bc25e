"""Signed checkpoints: where a chain ended, and what the account then held, as a small document that auditors keep elsewhere.

A head is signed only after its whole chain has been recomputed, so a broken one never gets a signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from synth_engine.privacy.signing import SignedDocument
from synthweb.audit import chain as audit_chain
from synthweb.ledger import chain, selectors
from synthweb.ledger.errors import ChainBroken
from synthweb.ledger.models import BudgetAccount
from synthweb.lib import signatures
from synthweb.lib.chain import FIRST, ChainVerdict

SCHEMA = "synthweb/chain-head/1"
AUDIT = "audit"  # the name of the audit log's chain, beside the codes of accounts


@transaction.atomic
def of_account(account: BudgetAccount) -> SignedDocument:
    """The signed checkpoint of an account's chain, with its balance."""
    # `verify` locks the account until this transaction ends: the balance is that of the verified
    # chain, not of an entry that was written in between.
    verdict = _intact(chain.verify(account))
    account.refresh_from_db()
    balance = selectors.balance(account)
    statement = {
        "chain": account.code,
        "identity": chain.identity(account),
        "first_hash": chain.first_hash(account),
        "balance": {
            part: getattr(balance, part).as_dict for part in ("cap", "held", "charged")
        },
    }
    return _signed(statement, verdict)


def of_audit_log() -> SignedDocument:
    """The signed checkpoint of the audit log, which is one chain for the installation."""
    return _signed({"chain": AUDIT, "first_hash": FIRST}, _intact(audit_chain.verify()))


def public_key() -> bytes:
    """The public half of the key that signs, as PEM."""
    return signatures.public_pem(_key())


def key_name() -> str | None:
    """How the key that signs is called; None where this process has none."""
    try:
        return signatures.key_id(public_key())
    except signatures.NoSigningKey:
        return None


def _signed(statement: Mapping[str, object], verdict: ChainVerdict) -> SignedDocument:
    facts = {**statement, "length": verdict.length, "head": verdict.head, "at": timezone.now()}
    return signatures.sign(facts, schema=SCHEMA, key=_key())


def _intact(verdict: ChainVerdict) -> ChainVerdict:
    if not verdict.intact:
        raise ChainBroken(
            f"The chain is broken: {verdict.faults[0]}",
            repair="stop spending and look at the database",
        )
    return verdict


def _key() -> Ed25519PrivateKey:
    return signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
