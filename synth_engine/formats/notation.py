"""Notations of one number that have no second reading: signs behind or around it, digits of every script,
blanks of every kind.

A cell that is read as a number is first written with ASCII digits and its sign before. That is a function of
the cell alone, and no fact that a file has to state."""

from __future__ import annotations

import functools
import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_MINUS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\ufe58\ufe63\uff0d"
_INVISIBLE = (
    "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068"
    "\u2069\ufeff"
)
_OTHERS = {
    "\u066b": ".",
    "\u066c": ",",
    "\u066a": "%",
    "\uff0c": ",",
    "\uff0e": ".",
    "\uff05": "%",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0b": "+",
    "\u2019": "'",
}
_EDGES = " \t\u00a0\u202f"
_AROUND = r"^[ \t]*([^0-9()+\-]{0,5}?)[ \t]*\([ \t]*([^()+\-]*[0-9][^()+\-]*)\)[ \t]*$"
_BEHIND = r"^[ \t]*([^()+\-]*[0-9][^()+\-]*?)[ \t]*-[ \t]*$"
_APART = r"^[ \t]*([+\-])[ \t\x{a0}\x{202f}]+([0-9.])"
_MARKED = r"\)|-$|[+\-][ \t\x{a0}\x{202f}]"
"""In every text that one of the patterns takes."""


def unified(texts: pa.Array) -> pa.Array:
    """Texts with a digit, written with ASCII digits, visible signs and the minus before; others as they
    are."""
    import pyarrow.compute as pc

    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = _in_ascii(texts)
    # Most columns have none of them. No text that a pattern below takes is without one: what is read of a
    # cell depends on no other cell.
    if not pc.any(pc.match_substring_regex(texts, _MARKED)).as_py():
        return texts
    texts = pc.replace_substring_regex(texts, _AROUND, r"-\1\2")
    texts = pc.replace_substring_regex(texts, _BEHIND, r"-\1")
    return pc.replace_substring_regex(texts, _APART, r"\1\2")


def _in_ascii(texts: pa.Array) -> pa.Array:
    """The same texts with the signs of other scripts written as those of ASCII, where they have a digit."""
    import pyarrow as pa

    coded = texts.dictionary_encode()
    written = [
        text if text is None or text.isascii() else unified_signs(text)
        for text in coded.dictionary.to_pylist()
    ]
    plain = pa.array(written, type=pa.string())
    return pa.DictionaryArray.from_arrays(coded.indices, plain).cast(pa.string())


def unified_signs(text: str) -> str:
    """One text in these signs; unchanged if it has no digit."""
    if not any(sign.isdecimal() for sign in text):
        return text
    return text.translate(_plain()).strip(_EDGES)


@functools.cache
def _plain() -> dict[int, str | None]:
    """What stands for each sign of these notations. Made for the first text that needs it, because it asks
    for each sign of Unicode what it is."""
    plain: dict[int, str | None] = {ord(sign): "-" for sign in _MINUS}
    plain |= {ord(sign): None for sign in _INVISIBLE}
    plain |= {ord(sign): written for sign, written in _OTHERS.items()}
    for code in range(128, sys.maxunicode + 1):
        sign = chr(code)
        if sign.isdecimal():
            plain[code] = str(unicodedata.decimal(sign))
    # Blanks besides those that stand between thousands, which are kept as they are inside of a number.
    blanks = (code for code in range(128, 0x3001) if unicodedata.category(chr(code)) == "Zs")
    return plain | {code: " " for code in blanks if chr(code) not in "\u00a0\u202f"}
