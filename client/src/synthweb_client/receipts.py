"""Receipts, verified on arrival by the verifier that auditors use: the one file that the engine writes,
packed into this package when it is built. It shares no code with the server's accountant."""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthweb_client import _verify_receipt as verifier
from synthweb_client.errors import ReceiptRefused


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A receipt that proves its claim.

    epsilon, delta: recomputed from the listed calls. digest: of the core, which citations name and which
    never changes. sentences: what was proved and what a receipt cannot prove; caveats: those that limit the
    guarantee. signed_by: the name of the key that signed it, if it is signed. document: the receipt itself.
    """

    epsilon: Fraction
    delta: Fraction
    digest: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]
    signed_by: str
    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What has to hold of a receipt besides what it says itself: the amounts that the server lists, the
    digest that a citation names, the latest head of its marks, and the key of the installation; None where
    that is not known."""

    epsilon: Decimal
    delta: Decimal
    digest: str | None = None
    head: Mapping[str, Any] | None = None
    key: bytes | None = None


def read_key(path: Path) -> bytes:
    """The public key in a PEM file. Errors: ReceiptRefused."""
    try:
        return verifier.read_key(path)
    except verifier.VerificationError as error:
        raise ReceiptRefused(f"{path}: {error}") from None


def verified(content: bytes, claim: Claim) -> Receipt:
    """The receipt in `content`, if it proves its claim and that of the server. Errors: ReceiptRefused."""
    try:
        document = _read(content)
        found = verifier.verify(document, head=claim.head, key=claim.key, core=claim.digest)
    except verifier.VerificationError as error:
        raise _refused("the receipt does not prove its claim", error) from None
    return _receipt(found, document, claim)


def verified_bundle(path: Path, claim: Claim) -> Receipt:
    """The receipt of a bundle, if every file of it is as it was written and the receipt proves its claim and
    that of the server. Errors: ReceiptRefused."""
    try:
        found = verifier.verify_bundle(path, head=claim.head, key=claim.key, core=claim.digest)
        with zipfile.ZipFile(path) as archive:
            document = _read(archive.read("receipt.json"))
    except verifier.VerificationError as error:
        raise _refused("the bundle does not verify", error) from None
    return _receipt(found, document, claim)


def _refused(what: str, error: Exception) -> ReceiptRefused:
    return ReceiptRefused(
        f"{what}: {error}. Do not rely on the guarantee, and tell whoever shared the release"
    )


def _receipt(found: verifier.Verified, document: Mapping[str, Any], claim: Claim) -> Receipt:
    """What was verified, compared with the amounts that the server lists. Errors: ReceiptRefused."""
    # The server lists amounts rounded up, so the receipt never proves more than they say.
    if not (found.epsilon <= Fraction(claim.epsilon) and found.delta <= Fraction(claim.delta)):
        raise ReceiptRefused(
            f"the receipt proves epsilon {_up(found.epsilon)} and delta {_up(found.delta)}, and the server "
            f"lists less: {claim.epsilon} and {claim.delta}"
        )
    return Receipt(
        epsilon=found.epsilon,
        delta=found.delta,
        digest=found.core,
        sentences=tuple(found.sentences),
        caveats=tuple(found.caveats),
        signed_by=found.signed_by,
        document=document,
    )


def _read(content: bytes) -> dict[str, object]:
    """The document, read by the verifier itself: it refuses JSON that two readers could read differently."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "receipt.json"
        path.write_bytes(content)
        return verifier.read(path)


def _up(amount: Fraction) -> str:
    """Twelve digits, rounded up."""
    if not amount:
        return "0"
    scale = 10 ** (11 - math.floor(math.log10(amount)))
    return f"{math.ceil(amount * scale) / scale:.12g}"
