"""Who vouches for cells that were computed before a table is read, of which nothing else shows that each
record depends on itself alone."""

from __future__ import annotations

MAX_VOUCHER = 200
"""Letters of a name and a role."""


def is_voucher(text: object) -> bool:
    """Whether a text may name somebody who vouches: it stands in sentences of receipts, on one line."""
    return (
        isinstance(text, str)
        and 0 < len(text.strip()) == len(text) <= MAX_VOUCHER
        and text.isprintable()
    )
