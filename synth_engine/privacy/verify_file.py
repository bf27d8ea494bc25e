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
from synth_engine.privacy.verify import Verified, verify
from synth_engine.privacy.verify_calls import refuse

LARGEST_RECEIPT = 2**28


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        sys.stderr.write("usage: python verify_receipt.py RECEIPT.json\n")
        return 1
    try:
        found = verify(read(Path(arguments[0])))
    except VerificationError as error:
        sys.stderr.write(f"REFUSED: {error}\n")
        return 1
    sys.stdout.write(report(found))
    return 0


def read(path: Path) -> dict[str, Any]:
    """Errors: VerificationError."""
    try:
        if path.stat().st_size > LARGEST_RECEIPT:
            refuse("the file is too large for a receipt")
        document = json.loads(path.read_text("utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except OSError:
        refuse("the file cannot be read")
    except (ValueError, RecursionError):
        refuse("the file is not JSON in UTF-8, or gives a name twice")
    if not isinstance(document, dict):
        refuse("the file is no JSON object")
    return document


def report(found: Verified) -> str:
    """What was proved, as lines of text."""
    lines = [f"epsilon = {float(found.epsilon):.12g}", f"delta = {float(found.delta):.12g}", *found.sentences]
    return "\n".join(lines) + "\n"


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


def _no_constant(_: str) -> float:
    raise ValueError
