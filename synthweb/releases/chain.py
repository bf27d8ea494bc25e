"""The chain of marks beside a release's receipt, and the receipts that are handed out: core, sample, marks,
and one signature over them. Reading alone; `services` adds marks.

The core stands in the database as it was published. What is handed out is put together at each request, so
that it always has the latest mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from synth_engine.privacy import receipt as receipts
from synth_engine.privacy.signing import SignedDocument
from synthweb.datasets.models import LearnedDescription, LearnedMark
from synthweb.lib import hashing, marks, signatures
from synthweb.releases import receipt_facts
from synthweb.releases.models import CheckMark, PaidCheck, Release, ReleaseMark, Sample


def marks_of(release: Release) -> list[receipts.Mark]:
    """The marks of a release, the oldest first."""
    return marks.documents(ReleaseMark.objects.filter(release=release))


def marks_of_check(check: PaidCheck) -> list[receipts.Mark]:
    """The marks of a check, the oldest first."""
    return marks.documents(CheckMark.objects.filter(paid_check=check))


def marks_of_purchase(purchase: LearnedDescription) -> list[receipts.Mark]:
    """The marks of a purchase, the oldest first."""
    return marks.documents(LearnedMark.objects.filter(learned=purchase))


def receipt_of_purchase(purchase: LearnedDescription) -> receipts.Receipt:
    """The receipt of a purchase, with its marks, signed."""
    return signed(receipts.with_marks(purchase.receipt, marks_of_purchase(purchase)))


def next_mark(
    receipt: receipts.Receipt, before: Sequence[receipts.Mark], *, kind: str, text: str
) -> receipts.Mark:
    """The mark that continues a chain beside a receipt, signed; whoever stores it has locked what the receipt
    is of."""
    return receipts.mark(
        receipt,
        after=before[-1] if before else None,
        kind=kind,
        at=hashing.instant(timezone.now()),
        text=text,
        sign=signer(),
    )


def signer() -> receipts.Sign | None:
    """What signs with the key of the installation; None in a process without it."""
    try:
        key = signatures.load(Path(settings.SIGNING_PRIVATE_KEY_FILE))
    except signatures.NoSigningKey:
        return None
    return lambda statement, schema: signatures.sign(statement, schema=schema, key=key)


def receipt_of(release: Release) -> receipts.Receipt:
    """The receipt of a release, of one table or of a database, with its marks, signed."""
    return signed(receipts.with_marks(release.receipt, marks_of(release)))


def receipt_of_sample(sample: Sample) -> receipts.Receipt:
    """The receipt of one table: that of its release, with the number of rows and the commitment to the seed;
    it says so where the table is drawn from an edited description."""
    edition = sample.edition
    drawn_sample = receipts.Sample(
        rows=sample.rows,
        seed_commitment=sample.commitment,
        edited=None if edition is None else edition.digest,
        after_looking=edition is not None and edition.after_looking,
        selection=sample.selection,
    )
    return receipt_of_table(sample.release, drawn_sample)


def receipt_of_table(release: Release, sample: receipts.Sample) -> receipts.Receipt:
    """The receipt of a table that is drawn from a release, with its marks, signed."""
    document = receipts.with_marks(release.receipt, marks_of(release))
    return signed(receipts.with_sample(document, sample))


def head_of(release: Release) -> SignedDocument | None:
    """Where the chain of marks ends now, as a signed document to compare receipts with; None without a
    key."""
    sign = signer()
    if sign is None:
        return None
    statement = receipts.ends(receipts.with_marks(release.receipt, marks_of(release)))
    return sign(statement | {"at": timezone.now()}, receipts.HEAD)


def is_after_looking(release: Release) -> bool:
    """Whether the receipt of a release says that a choice was made after a look at real data."""
    # In the core if the run was asked for after a look, in a mark if only the sharing was.
    marked = ReleaseMark.objects.filter(release=release, kind=ReleaseMark.Kind.LOOKED)
    # In the receipt of a database it stands beside what else was done after the measurement.
    facts = receipt_facts.of(release)
    core = facts.get("chosen_after_looking") or facts["post_processing"].get(
        "chosen_after_looking"
    )
    return bool(core) or marked.exists()


def signed(document: receipts.Receipt) -> receipts.Receipt:
    """The document with a signature over all of it, if there is a key."""
    sign = signer()
    # Without a key the receipt says NOT SIGNED, and the next seal covers its marks (ADR 40).
    return document if sign is None else receipts.signed(document, sign)
