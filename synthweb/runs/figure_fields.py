"""What fields about figures have in common: names of columns in one text, and numbers of per cent."""

from __future__ import annotations

from fractions import Fraction

from synth_engine.domain import Domain
from synth_engine.privacy.loss import parse_decimal

PER_CENT = 100


def columns_of(text: str, domain: Domain) -> tuple[str, ...]:
    """The columns that a text names, separated by commas."""
    # A name may hold commas: the whole text is a column where there is one of that name.
    if text.strip() in domain.sizes:
        return (text.strip(),)
    return tuple(name.strip() for name in text.split(",") if name.strip())


def share_of(text: str) -> Fraction:
    """A number of per cent as a share. Errors: SpecError."""
    return parse_decimal(text.strip() or "0", name="per cent") / PER_CENT
