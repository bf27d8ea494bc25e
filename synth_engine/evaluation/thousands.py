"""Write numbers with thin separators between thousands."""

from __future__ import annotations

THIN_SPACE = "\u202f"  # narrow and not breaking


def grouped(value: float, form: str = ",") -> str:
    """A number with thin separators: 48842 becomes 48 842. form: a format specification with a comma."""
    return format(value, form).replace(",", THIN_SPACE)
