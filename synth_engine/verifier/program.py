"""The verifier as a program: `python verify_receipt.py RECEIPT.json`. Exit code 0 if the receipt proves its claim, else 1.

Standard library only. A name given twice and numbers that JSON does not have are refused, because then a person and
this program could read two different receipts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth_engine.errors import VerificationError
from synth_engine.verifier.calls import refuse
from synth_engine.verifier.receipt import Verified, verify
from synth_engine.verifier.signature import key_of_pem

LARGEST_RECEIPT = 2**28
_LARGEST_KEY = 10_000


_USAGE = """usage: python verify_receipt.py RECEIPT.json [--head HEAD.json] [--key PUBLIC.pem] [--digest SHA256]
  --head    the latest signed head of the marks: shows that none is missing
  --key     the public key with which receipt and head have to be signed
  --digest  the digest of the core, as a citation names it
"""


def main(arguments: Sequence[str]) -> int:
    given = _given(arguments)
    if given is None:
        sys.stderr.write(_USAGE)
        return 1
    try:
        found = verify(
            read(Path(given["receipt"])),
            head=read(Path(given["--head"])) if "--head" in given else None,
            key=read_key(Path(given["--key"])) if "--key" in given else None,
            core=given.get("--digest"),
        )
    except VerificationError as error:
        sys.stderr.write(f"REFUSED: {error}\n")
        return 1
    sys.stdout.write(report(found))
    return 0


def _given(arguments: Sequence[str]) -> dict[str, str] | None:
    """The receipt and the options; None for a wrong call."""
    found: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word in ("--head", "--key", "--digest"):
            if word in found or not waiting:
                return None
            found[word] = waiting.pop(0)
        elif word.startswith("-") or "receipt" in found:
            return None
        else:
            found["receipt"] = word
    return found if "receipt" in found else None


def read_key(path: Path) -> bytes:
    """The 32 bytes of an Ed25519 public key in a PEM file. Errors: VerificationError."""
    try:
        text = path.read_text("ascii") if path.stat().st_size <= _LARGEST_KEY else ""
    except (OSError, ValueError):
        text = ""
    found = key_of_pem(text)
    if found is None:
        refuse("the key file holds no Ed25519 public key in PEM")
    return found


def read(path: Path) -> dict[str, Any]:
    """Errors: VerificationError."""
    try:
        if path.stat().st_size > LARGEST_RECEIPT:
            refuse("the file is too large for a receipt")
        document = json.loads(
            path.read_text("utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constant
        )
    except OSError:
        refuse("the file cannot be read")
    except (ValueError, RecursionError):
        refuse("the file is not JSON in UTF-8, or gives a name twice")
    if not isinstance(document, dict):
        refuse("the file is no JSON object")
    return document


def report(found: Verified) -> str:
    """What was proved, as lines of text."""
    lines = [
        f"epsilon = {float(found.epsilon):.12g}",
        f"delta = {float(found.delta):.12g}",
        *found.sentences,
    ]
    return "\n".join(lines) + "\n"


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


def _no_constant(_: str) -> float:
    raise ValueError
