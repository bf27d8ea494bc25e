"""Texts that stand for a missing value among numbers or dates: known words and signs, and short words that
are no value."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Written so in files of every kind; they are missing wherever they stand.
MARKERS = ("", "?", "NA", "N/A", "null", "None", "nan", "<NULL>", ".")
# Missing beside numbers or dates; in a column of words they may be words.
_BESIDE_VALUES = frozenset(
    """
    - -- --- – — .. ... : * ** / n/a na n.a. n.a #n/a #null! #value! nan null none nil nul <na> <null> missing
    0000-00-00 00.00.0000 00/00/0000 unknown unbekannt inconnu desconocido k.a. keine nd n.d. nr tbd tba
    refused withheld suppressed (d) (s) (z) (x)
    """.split()  # noqa: SIM905  # words are read as lines
) | {"not available", "not applicable", "not reported", "no data", "keine angabe", "no answer"}
_IN_FAMILY = re.compile(r"\.[a-z]|([0-9])\1{3,}")
"""Missing values of statistical programs, and one digit over and over beside days."""
MAX_ODD_TEXTS = 8
_MAX_UNKNOWN = 3  # words that are no known marker
_VALUES_PER_UNKNOWN = 10  # different values that each of them needs
_MAX_LENGTH = 20


def is_known(text: str) -> bool:
    """Whether a text stands for a missing value beside numbers or dates; a cell of blanks does."""
    folded = text.strip().casefold()
    known = not folded or text in MARKERS or {folded, folded.replace(" ", "")} & _BESIDE_VALUES
    return bool(known) or _IN_FAMILY.fullmatch(folded) is not None


def odd_markers(texts: pa.Array, readable: NDArray[np.bool_]) -> list[str] | None:
    """The texts that are not readable, if they may all be markers of missing values beside the readable ones;
    else None."""
    if not readable.any():
        return None
    odd = texts.filter(pa.array(~readable))
    if len(odd) > MAX_ODD_TEXTS:
        return None
    listed = odd.to_pylist()
    return listed if may_be_markers(listed, values=int(readable.sum())) else None


def may_be_markers(odd: Sequence[str], *, values: int) -> bool:
    """Whether texts beside so many different values may stand for missing ones. `N` beside ten incomes may;
    beside the codes 1, 2 and 3 it is a code as well."""
    unknown = [text for text in odd if not is_known(text)]
    if len(odd) > MAX_ODD_TEXTS or len(unknown) > _MAX_UNKNOWN:
        return False
    if any(len(text) > _MAX_LENGTH or any(map(str.isdigit, text)) for text in unknown):
        return False
    known_enough = values >= 2 or not odd
    return known_enough and values >= _VALUES_PER_UNKNOWN * len(unknown)
