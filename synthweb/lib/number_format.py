"""The engine's texts in the letters and words of our pages."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from synth_engine.privacy import loss
from synthweb.lib.language import written_number

GREEK = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
RELATIONS = {"add-remove": "added or removed", "replace-one": "replaced"}
_AMOUNT = re.compile(r"\b(epsilon|delta|rho) = (?=[0-9])")
_PAIR = re.compile(r"\((ε [^()]*, δ [^()]*)\)")
_NAME = re.compile(r"\b(epsilon|delta|rho)\b")
_SMALL = re.compile(r"(?<=δ )0\.000[0-9]+")
THIN_SPACE = "\u202f"  # narrow and not breaking


def grouped(number: int) -> str:
    """A count with thin separators."""
    return f"{number:,}".replace(",", THIN_SPACE)


def short(number: str) -> str:
    """`0.0000005` becomes `5e-7`, because nobody counts zeros; larger numbers, and what is none, stay."""
    try:
        amount = Decimal(number)
    except InvalidOperation:
        return number
    return (
        f"{amount.normalize():e}".replace("e-0", "e-")
        if 0 < amount < Decimal("0.0001")
        else number
    )


def share(value: float) -> str:
    """A distance as a share of records: two significant digits of a per cent, as the language of the page
    writes them."""
    return written_number(f"{float(f'{100 * value:.2g}'):g} %")


def shortened(text: str, *, most: int) -> str:
    """A text of at most so many characters: the end of a longer one becomes an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def delta(amount: str | Fraction) -> str:
    """An exact delta as people read it: `1e-9`, `5e-7`, `0.01`."""
    return short(loss.scientific(Fraction(amount)))


def in_letters(text: str) -> str:
    """`(epsilon = 1, delta = 1e-9) differential privacy` becomes `ε 1, δ 1e-9 differential privacy`."""
    lettered = _AMOUNT.sub(lambda match: f"{GREEK[match[1]]} ", text)
    named = _NAME.sub(lambda match: GREEK[match[1]], _PAIR.sub(r"\1", lettered))
    return _SMALL.sub(lambda match: short(match[0]), named)
