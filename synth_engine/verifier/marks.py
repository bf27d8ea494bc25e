"""The verifier checks the marks of a receipt, its signature, and the head of its chain.

Standard library only, and nothing shared with what writes receipts. The core of a receipt never changes; what
is learned later (that somebody looked at real data before the release was shared) is a mark in a chain, each
with the digest of the one before it, so that none can be changed or taken out of the middle. What a chain
alone cannot show is that its end was cut off: a signature over all of the receipt shows it, and so does the
latest head, which the installation publishes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synth_engine.verifier.calls import SHA256, refuse
from synth_engine.verifier.signature import (
    bytes_of,
    key_name,
    signature_fits,
    signed_bytes,
)

MARK, SEAL, HEAD = "synthweb/mark/1", "synthweb/receipt-seal/1", "synthweb/marks-head/1"
LOOKED, DESCRIBED = "chosen-after-looking", "edited-description"
OUTSIDE, VOID = "outside-the-guarantee", "void"
_MARK_FIELDS = {"core", "sequence", "previous", "kind", "at", "text"}
_SIGNATURE_FIELDS = {"key", "public_key", "signature"}
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_MAX_MARKS, _MAX_MARK_LENGTH = 500, 1_000


@dataclass(kw_only=True)
class MarksReport:
    """The findings about marks and signature. looked: whether a mark states that a choice was made after
    somebody looked at real data; outside: whether one states that exact counts of the table were published.
    signed_by: the name of the key that signed all of it, or empty."""

    sentences: list[str] = field(default_factory=list)
    looked: bool = False
    outside: bool = False
    signed_by: str = ""


def check_marks_and_seal(
    receipt: Mapping[str, object], *, head: Mapping[str, object] | None, key: bytes | None
) -> MarksReport:
    """Checks the chain of marks, the signature and the head.

    head: the latest signed head, if there is one; key: the public key, of 32 bytes, with which everything has
    to be signed. Errors: VerificationError.
    """
    summary = MarksReport()
    hashes = _check_chain(receipt, summary, key=key)
    _check_seal(receipt, hashes, summary, key=key)
    if head is not None:
        _check_head(receipt, hashes, summary, head=head, key=key)
        return summary
    summary.sentences.append(
        f"Marks are unknown beyond number {len(hashes) - 1}: compare with the latest head of this release."
    )
    return summary


def core_of(receipt: Mapping[str, object]) -> dict[str, object]:
    """The part of a receipt that its digest covers: all but the sample, the marks and the signature."""
    core = {
        name: value
        for name, value in receipt.items()
        if name not in ("digest", "marks", "seal")
    }
    # The digest is the same for every table that is drawn from the release.
    return core | {"sample": None}


def _check_chain(
    receipt: Mapping[str, Any], summary: MarksReport, *, key: bytes | None
) -> list[str]:
    """Check the chain. Returns the digest of the core, which stands before the first mark, and that of every
    mark."""
    marks = receipt["marks"]
    if len(marks) > _MAX_MARKS:
        refuse(f"there are more than {_MAX_MARKS} marks")
    # The chain starts from the core, so that marks of one release fit no other.
    hashes: list[str] = [receipt["digest"]]
    for number, mark in enumerate(marks, start=1):
        if not isinstance(mark, dict) or set(mark) != _MARK_FIELDS | {"hash", "signed"}:
            refuse(f"mark {number} has missing or unknown parts")
        statement = {name: mark[name] for name in _MARK_FIELDS}
        _check_mark(statement, number, previous=hashes[-1], core=receipt["digest"])
        if mark["hash"] != hashlib.sha256(signed_bytes(MARK, statement)).hexdigest():
            refuse(f"mark {number} does not give its digest; it was changed")
        # A mark may be unsigned: the signature of the receipt covers the whole chain.
        if mark["signed"] is not None:
            _check_mark_signature(mark["signed"], statement, number, key=key)
        hashes.append(mark["hash"])
        summary.looked = summary.looked or mark["kind"] == LOOKED
        summary.outside = summary.outside or mark["kind"] == OUTSIDE
        summary.sentences.append(f"Mark {number}, {mark['at']}: {mark['text']}")
    return hashes


def _check_mark(mark: Mapping[str, object], number: int, *, previous: str, core: str) -> None:
    if type(mark["sequence"]) is not int or mark["sequence"] != number:
        refuse(f"mark {number} has another number: marks are missing or out of order")
    if mark["core"] != core:
        refuse(f"mark {number} belongs to another release")
    if mark["previous"] != previous:
        refuse(
            f"mark {number} does not continue from the one before it: marks are missing or were changed"
        )
    if mark["kind"] not in (LOOKED, DESCRIBED, OUTSIDE, VOID):
        refuse(f"mark {number} is of an unknown kind")
    if not isinstance(mark["at"], str) or not _MOMENT.fullmatch(mark["at"]):
        refuse(f"mark {number} has no moment")
    if not isinstance(mark["text"], str) or not 0 < len(mark["text"]) <= _MAX_MARK_LENGTH:
        refuse(f"mark {number} has no text, or one that is too long")


def _check_mark_signature(
    signed: Any, mark: Mapping[str, object], number: int, *, key: bytes | None
) -> None:
    if not isinstance(signed, dict) or set(signed) != _SIGNATURE_FIELDS:
        refuse(f"the signature of mark {number} has missing or unknown parts")
    document = {
        "schema": MARK,
        "statement": {**mark, "key": signed["key"]},
        "public_key": signed["public_key"],
        "signature": signed["signature"],
    }
    statement_of(document, schema=MARK, what=f"mark {number}", key=key)


def _check_seal(
    receipt: Mapping[str, object], hashes: list[str], summary: MarksReport, *, key: bytes | None
) -> None:
    """Check the signature over all of the receipt: core, sample and marks."""
    # With a key given, a missing signature fails: otherwise removing it would pass.
    if receipt["seal"] is None:
        if key is not None:
            refuse("the receipt is not signed, and a public key was given")
        summary.sentences.append(
            f"This receipt is NOT SIGNED: compare the digest of its core, {receipt['digest']}, with the "
            "one that a citation or the audit log of the installation names."
        )
        return
    statement = statement_of(receipt["seal"], schema=SEAL, what="the receipt", key=key)
    if set(statement) != {"core", "sample", "marks", "head", "key"}:
        refuse("the signature of the receipt states something else than a receipt")
    if statement["core"] != receipt["digest"]:
        refuse("the signature is that of another receipt: the core was changed")
    if statement["sample"] != digest_of_sample(receipt["sample"]):
        refuse("the signature is that of another table: the sample was changed or left out")
    if (statement["marks"], statement["head"]) != (len(hashes) - 1, hashes[-1]):
        refuse(
            "the signature names other marks than the receipt holds: marks are missing or were added"
        )
    summary.signed_by = statement["key"]
    summary.sentences.append(
        f"The receipt of the core {receipt['digest']} is signed with the "
        + ("key that was given, called " if key is not None else "key called ")
        + statement["key"]
        + ("." if key is not None else ": compare this name with the one that you were handed.")
    )


def _check_head(
    receipt: Mapping[str, object],
    hashes: list[str],
    summary: MarksReport,
    *,
    head: Mapping[str, object],
    key: bytes | None,
) -> None:
    statement = statement_of(head, schema=HEAD, what="the head", key=key)
    number = statement.get("marks")
    if (
        set(statement) != {"core", "marks", "head", "at", "key"}
        or type(number) is not int
        or number < 0
    ):
        refuse("the head states something else than where a chain of marks ends")
    if not isinstance(statement["at"], str) or not _MOMENT.fullmatch(statement["at"]):
        refuse("the head has no moment")
    if statement["core"] != receipt["digest"]:
        refuse("the head is that of another release, or the core of the receipt was changed")
    if number >= len(hashes):
        refuse(
            f"marks are missing: the head names mark {number}, and the receipt ends at mark {len(hashes) - 1}"
        )
    if statement["head"] != hashes[number]:
        refuse("the marks are not the ones that the head names")
    if number < len(hashes) - 1:
        summary.sentences.append(
            f"The head is older than the receipt: it ends at mark {number}, of {statement['at']}. Compare "
            "with a newer one."
        )
        return
    summary.sentences.append(
        f"The head given shows that no mark is missing, as of {statement['at']}."
    )


def statement_of(document: Any, *, schema: str, what: str, key: bytes | None) -> dict[str, Any]:
    """The statement of a signed document. Errors: VerificationError if the signature does not fit, or is of
    another key than the one that was given."""
    if not isinstance(document, Mapping) or set(document) != {
        "schema",
        "statement",
        "public_key",
        "signature",
    }:
        refuse(f"the signed document of {what} has missing or unknown parts")
    statement, public, signature = (
        document["statement"],
        bytes_of(document["public_key"]),
        bytes_of(document["signature"]),
    )
    if (
        document["schema"] != schema
        or not isinstance(statement, dict)
        or public is None
        or signature is None
    ):
        refuse(f"the signed document of {what} is malformed")
    # The name is signed too: signed again by another key it is another statement.
    named = statement.get("key")
    if not isinstance(named, str) or not SHA256.fullmatch(named) or named != key_name(public):
        refuse(f"the signature of {what} names another key than the one that signed it")
    if key is not None and public != key:
        refuse(f"{what} is signed with another key than the one given")
    try:
        message = signed_bytes(schema, statement)
    except (TypeError, ValueError, RecursionError):
        refuse(f"the signed document of {what} is no plain JSON")
    if not signature_fits(public, message, signature):
        refuse(f"the signature of {what} does not fit; it was changed")
    return statement


def digest_of_sample(sample: Any) -> str | None:
    """The digest by which a signature names the sample; None without a sample."""
    if sample is None:
        return None
    text = json.dumps(
        sample, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()
