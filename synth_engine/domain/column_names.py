"""The words of which the name of a column is made."""

from __future__ import annotations

import re
import unicodedata


def words(name: str) -> list[str]:
    """The words of a column's name, folded, in their order: `patientAge (years)` has three."""
    spaced = re.sub(
        r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zà-ÿ])", " ", name
    )
    return [word.casefold() for word in re.findall(r"[^\W\d_]+", spaced)]


def without_accents(word: str) -> str:
    """A word without the signs above and below its letters."""
    parts = unicodedata.normalize("NFKD", word)
    return "".join(sign for sign in parts if not unicodedata.combining(sign))
