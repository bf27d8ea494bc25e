"""Signs and words that stand around numbers: the one list by which cells with currencies and shares are
recognised."""

from __future__ import annotations

CURRENCY_SIGNS = "$€£¥₹₺₽₩₪₫₦₱฿₴"
CURRENCY_CODES = ("USD", "EUR", "GBP", "CHF")
CURRENCY_WORDS = ("Fr", "kr", "Rs")
"""Abbreviations before an amount, with or without a point."""
SHARE_SIGNS = "%‰"
