"""Values of a column that look alike, and cells that were damaged before: remarks, and no facts of a
description."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_MOST = 5_000  # texts that are compared
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_TWICE = re.compile("[ÃÂâÅÄÐÑ][\u0080-\u00bf\u2018-\u2122\u0152-\u0192\u02c6\u02dc]")
_ROUNDED = re.compile(r"[0-9]\.[0-9]{2,}[eE]\+[0-9]{2}")
_HALF = 0.5


def remarks(texts: Collection[str]) -> list[str]:
    """Remarks about the different texts of a column."""
    some = sorted(texts)[:_MOST]
    remarked = []
    folded = {_folded(text) for text in some}
    if len(folded) < len(some):
        alike = len(some) - len(folded)
        remarked.append(
            f"{alike} of the {len(some):,} different values {'differs' if alike == 1 else 'differ'} only "
            "in case, blanks, invisible signs or the form of letters from another one: they count as "
            "different values unless the file writes them alike."
        )
    if any(unicodedata.normalize("NFC", text) != text for text in some):
        remarked.append(
            "Some letters are composed of a letter and an accent: a list that is written elsewhere may "
            "have them as one sign, and the two differ."
        )
    if any(_is_encoded_twice(text) for text in some):
        remarked.append(
            "Some cells seem to be encoded twice, as “Ã¶” for “ö”: save the file again from its source."
        )
    rounded = sum(_ROUNDED.fullmatch(text.strip()) is not None for text in some)
    if some and rounded >= _HALF * len(some):
        remarked.append(
            "Numbers like 1.23E+10 were rounded by a spreadsheet: different numbers may have become one. "
            "Export the column as text."
        )
    return remarked


def _folded(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


def _is_encoded_twice(text: str) -> bool:
    if not _TWICE.search(text):
        return False
    for encoding in ("cp1252", "latin-1"):
        try:
            text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False
