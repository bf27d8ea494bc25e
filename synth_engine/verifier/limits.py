"""The verifier refuses text that cannot be printed as it is, and sizes beyond what it computes with, before
it reads a receipt.

Standard library only, and nothing shared with what writes receipts. The report of the verifier is lines of
text that hold names from the receipt: a name with a line break, or with a sign that turns the direction of
writing, would add lines of its own or change how others read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synth_engine.errors import VerificationError

MAX_AMOUNT = 10**12
"""The largest epsilon, delta, rho or mu² in a receipt. No real release comes near it."""
MAX_NOISE_SPREAD = 2**120
"""The largest scale or variance; no sampler draws wider noise."""
MIN_DELTA = Fraction(1, 10**30)
"""The smallest delta above 0, far below the 10^-18 in which budgets are counted."""
MAX_RATIO_LENGTH = 1_000
"""Signs in the text of an exact amount."""
MAX_INTEGER = 2**512
"""The largest number of cells, bins or rows, and the largest threshold or sensitivity."""
MAX_CALLS = 20_000
MAX_AXES = 1_000
"""Columns of one table that is counted, and steps of one tree."""
MAX_NAME_LENGTH = 220
MAX_PUBLIC_TOTALS = 100
"""The largest number of public totals, each of which has a sentence in the report."""
_MAX_TEXT_LENGTH = 30_000
_MAX_DEPTH = 40
_MAX_VALUES = 20_000_000
_NOT_PRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of Unicode: control characters, signs without a shape (those that turn the direction of writing
are among them), halves of surrogates, private use, separators of lines and paragraphs."""
_NOT_PRINTED = {("mechanism", "parameters"), ("sample", "seed"), ("sample", "selection")}
"""Texts that a person chose, and that the verifier never prints."""


def check_limits(receipt: Mapping[str, object]) -> None:
    """Refuses a receipt with text that is not printable, with whole numbers that are too large, or with too
    many values.

    Without recursion, because a receipt may be nested to any depth. Errors: VerificationError.
    """
    waiting: list[tuple[Any, tuple[str, ...]]] = [(receipt, ())]
    count = 0
    while waiting:
        value, path = waiting.pop()
        count += 1
        if len(path) > _MAX_DEPTH or count > _MAX_VALUES:
            raise VerificationError("the receipt is nested too deep, or has too many values")
        printed = path[:2] not in _NOT_PRINTED
        if isinstance(value, str) and printed:
            _check_text(value)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise VerificationError("the receipt is no plain JSON")
                if printed:
                    _check_text(key)
                waiting.append((inner, (*path, key)))
        elif isinstance(value, list):
            waiting += [(inner, (*path, "")) for inner in value]
        # Before any arithmetic, which huge numbers could make arbitrarily slow.
        elif type(value) is int and abs(value) > MAX_INTEGER:
            raise VerificationError(
                "the receipt holds a whole number that is larger than the verifier counts"
            )


def _check_text(text: str) -> None:
    if len(text) > _MAX_TEXT_LENGTH:
        raise VerificationError("the receipt holds a text that is too long")
    if text.isascii() and text.isprintable():
        return
    if any(is_hidden(sign) for sign in text):
        raise VerificationError(
            "the receipt holds text that is not printable: line breaks, control characters, or signs that "
            "turn the direction of writing"
        )


def is_hidden(sign: str) -> bool:
    """Whether a character could break a line of the report, or change how the rest of it reads. A blank that
    is not the usual one is such a character, because it looks like it."""
    category = unicodedata.category(sign)
    return category in _NOT_PRINTABLE or (category == "Zs" and sign != " ")


def product_is(factors: list[int], expected: int) -> bool:
    """Whether positive whole numbers multiply to the expected one; stops as soon as they are beyond it."""
    product = 1
    for factor in factors:
        product *= factor
        if product > expected:
            return False
    return product == expected
