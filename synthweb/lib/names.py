"""Names that people give to things: one line of text, which looks the same wherever it is written."""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError

from synthweb.lib.errors import Refused

RULE = (
    "a name is one line, without control characters or marks that turn the direction of writing"
)
REPAIR = "leave out line breaks, tabs and invisible marks"

# Control characters, line and paragraph separators, halves of surrogate pairs.
_REFUSED_CATEGORIES = frozenset({"Cc", "Zl", "Zp", "Cs"})
# Embeddings, overrides and isolates: they can make a name read as another one.
_DIRECTION_MARKS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_one_line(text: str) -> bool:
    """Whether a text can be a name."""
    return not any(
        sign in _DIRECTION_MARKS or unicodedata.category(sign) in _REFUSED_CATEGORIES
        for sign in text
    )


def one_line(text: str, *, field: str = "name") -> str:
    """The name without blanks around it. Errors: Refused, which names the field of the request."""
    stripped = text.strip()
    if not is_one_line(stripped):
        raise Refused(RULE, repair=REPAIR, field=field)
    return stripped


def validate_one_line(text: str) -> None:
    """The same rule for a field of a form. Errors: Django's ValidationError."""
    if not is_one_line(text):
        raise ValidationError(f"{RULE[0].upper()}{RULE[1:]}; {REPAIR}.", code="one-line")
