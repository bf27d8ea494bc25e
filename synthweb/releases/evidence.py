"""Whether what a receipt says of its plan and its core is what the ledger and the audit log hold.

The plan's digest was written into the ledger as the evidence of the HOLD, before anything was paid for; the
digest of the core into the audit log when the release was published. Both are links of chains whose heads are
signed and kept elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.urls import reverse
from django.utils.translation import gettext as _

from synthweb.accounts.models import User
from synthweb.audit.models import AuditEntry
from synthweb.ledger import log_access
from synthweb.ledger import selectors as ledger
from synthweb.ledger.models import LedgerEntry
from synthweb.releases import databases
from synthweb.releases.models import Release


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One digest of the receipt beside the one that was written down elsewhere.

    name: of what; ours: in the receipt; theirs: in the entry, empty where there is none; entry: which entry;
    address: where it can be read, empty for who may not; account, account_address: the account, likewise.
    """

    name: str
    ours: str
    theirs: str
    entry: str
    address: str = ""
    account: str = ""
    account_address: str = ""

    @property
    def same(self) -> bool:
        return self.ours == self.theirs


def of(user: User, release: Release) -> tuple[Compared, ...]:
    """The plan beside the ledger, and the core beside the audit log; the caller has fetched the release for
    `user`."""
    return (_plan(user, release), _core(user, release))


def _plan(user: User, release: Release) -> Compared:
    # The HOLD, not the CHARGE: its evidence is the digest of the plan,
    # written before any row was read (ADR 40).
    hold = LedgerEntry.objects.filter(
        account=release.account_id, run_code=release.run_code, kind=LedgerEntry.Kind.HOLD
    ).first()
    account = (
        reverse("ledger:account", args=[release.account.code])
        if _reads_account(user, release)
        else ""
    )
    return Compared(
        name=_("Plan"),
        ours=databases.plan_digest(release.receipt)
        if databases.is_database(release)
        else release.receipt["plan"]["sha256"],
        theirs=hold.evidence if hold else "",
        entry=_("entry %(number)s, HOLD") % {"number": hold.sequence}
        if hold
        else _("no entry HOLD of this run"),
        address=f"{account}?run={release.run_code}#entry-{hold.sequence}"
        if account and hold
        else "",
        account=release.account.name,
        account_address=account,
    )


def _core(user: User, release: Release) -> Compared:
    published = AuditEntry.objects.filter(
        action="release.published", object_kind="release", object_code=release.code
    ).first()
    log = (
        f"{reverse('ledger:audit')}?object={release.code}"
        if log_access.may_read_all(user)
        else ""
    )
    return Compared(
        name=_("Core"),
        ours=release.receipt["digest"],
        theirs=str(published.detail.get("receipt", "")) if published else "",
        entry=_("entry %(number)s of the audit log") % {"number": published.sequence}
        if published
        else _("no entry of its publication"),
        address=log if published else "",
    )


def _reads_account(user: User, release: Release) -> bool:
    try:
        return ledger.accounts_for(user).filter(pk=release.account_id).exists()
    except PermissionDenied:
        return False
