"""The verifier as a program: `python verify_receipt.py RECEIPT.json`, or `BUNDLE.zip`. Exit code 0 if the
receipt proves its claim and every file of the bundle is as it was written, else 1.

Standard library only. A name given twice and numbers that JSON does not have are refused, because then a
person and this program could read two different receipts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth_engine.errors import VerificationError
from synth_engine.verifier.bundle import is_bundle, verify_bundle
from synth_engine.verifier.calls import refuse
from synth_engine.verifier.database import verify_any
from synth_engine.verifier.receipt import Verified
from synth_engine.verifier.signature import key_of_pem

MAX_RECEIPT_BYTES = 2**28
_MAX_KEY_BYTES = 10_000


_USAGE = """\
usage: python verify_receipt.py RECEIPT.json [--head HEAD.json] [--key PUBLIC.pem] [--digest SHA256]
       python verify_receipt.py BUNDLE.zip   [--head HEAD.json] [--key PUBLIC.pem] [--digest SHA256]
  --head    the latest signed head of the marks: shows that none is missing
  --key     the public key with which receipt and head have to be signed
  --digest  the digest of the core, as a citation names it
"""


def main(arguments: Sequence[str]) -> int:
    options = _parse_arguments(arguments)
    if options is None:
        sys.stderr.write(_USAGE)
        return 1
    try:
        path = Path(options["receipt"])
        head = read(Path(options["--head"])) if "--head" in options else None
        key = read_key(Path(options["--key"])) if "--key" in options else None
        core = options.get("--digest")
        if is_bundle(path):
            verified = verify_bundle(path, head=head, key=key, core=core)
        else:
            verified = verify_any(read(path), head=head, key=key, core=core)
    except VerificationError as error:
        sys.stderr.write(f"REFUSED: {error}\n")
        return 1
    sys.stdout.write(report(verified))
    return 0


def _parse_arguments(arguments: Sequence[str]) -> dict[str, str] | None:
    """The receipt and the options; None for a wrong call."""
    # argparse would accept abbreviated options, and exit with 2 instead of 1.
    options: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word in ("--head", "--key", "--digest"):
            if word in options or not waiting:
                return None
            options[word] = waiting.pop(0)
        elif word.startswith("-") or "receipt" in options:
            return None
        else:
            options["receipt"] = word
    return options if "receipt" in options else None


def read_key(path: Path) -> bytes:
    """The 32 bytes of an Ed25519 public key in a PEM file. Errors: VerificationError."""
    try:
        text = path.read_text("ascii") if path.stat().st_size <= _MAX_KEY_BYTES else ""
    except (OSError, ValueError):
        text = ""
    key = key_of_pem(text)
    if key is None:
        refuse("the key file holds no Ed25519 public key in PEM")
    return key


def read(path: Path) -> dict[str, object]:
    """Read a receipt or a head from a JSON file. Errors: VerificationError."""
    try:
        if path.stat().st_size > MAX_RECEIPT_BYTES:
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


def report(verified: Verified) -> str:
    """What was proved, as lines of text."""
    lines = [
        f"epsilon = {float(verified.epsilon):.12g}",
        f"delta = {float(verified.delta):.12g}",
        *verified.sentences,
    ]
    return "\n".join(lines) + "\n"


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


def _no_constant(_: str) -> float:
    raise ValueError
