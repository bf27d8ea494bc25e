"""Describe files from outside: their kinds, the dialect of a CSV, and what names columns may have.

Nothing here opens a file or keeps what it is shown, so that whoever receives a table can refuse it before
storing it.
"""

from __future__ import annotations

from synth_engine.formats import notation
from synth_engine.formats.currencies import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    CURRENCY_WORDS,
    SHARE_SIGNS,
)
from synth_engine.formats.dialect import (
    DELIMITERS,
    ERROR_CELLS,
    ESCAPES,
    EXTRA_ROWS,
    QUESTIONS,
    QUOTES,
    Dialect,
)
from synth_engine.formats.encodings import ENCODINGS, Encodings
from synth_engine.formats.guess import guess
from synth_engine.formats.header import (
    checked_names,
    counted_names,
    joined_names,
    looks_like_data,
    nameless,
)
from synth_engine.formats.kinds import (
    BASKET_LIST,
    BASKETS,
    DELIMITED,
    ENDINGS,
    GZIP,
    HEAD,
    JSON,
    KIND_NAMES,
    KINDS,
    MEDIA_TYPES,
    PACKED,
    PARQUET,
    SAVE_AS_CSV,
    WITH_SCHEMA,
    WORKBOOKS,
    Kind,
    check_kind,
    endings,
    found_kind,
    kind_of,
    refuse_foreign,
    unknown_ending,
)
from synth_engine.formats.marks import DECIMALS, THOUSANDS, Marks
from synth_engine.formats.number_marks import NUMBER_MARKS, like_phones
from synth_engine.formats.voucher import MAX_VOUCHER, is_voucher

__all__ = [
    "BASKETS",
    "BASKET_LIST",
    "CURRENCY_CODES",
    "CURRENCY_SIGNS",
    "CURRENCY_WORDS",
    "DECIMALS",
    "DELIMITED",
    "DELIMITERS",
    "ENCODINGS",
    "ENDINGS",
    "ERROR_CELLS",
    "ESCAPES",
    "EXTRA_ROWS",
    "GZIP",
    "HEAD",
    "JSON",
    "KINDS",
    "KIND_NAMES",
    "MAX_VOUCHER",
    "MEDIA_TYPES",
    "NUMBER_MARKS",
    "PACKED",
    "PARQUET",
    "QUESTIONS",
    "QUOTES",
    "SAVE_AS_CSV",
    "SHARE_SIGNS",
    "THOUSANDS",
    "WITH_SCHEMA",
    "WORKBOOKS",
    "Dialect",
    "Encodings",
    "Kind",
    "Marks",
    "check_kind",
    "checked_names",
    "counted_names",
    "endings",
    "found_kind",
    "guess",
    "is_voucher",
    "joined_names",
    "kind_of",
    "like_phones",
    "looks_like_data",
    "nameless",
    "notation",
    "refuse_foreign",
    "unknown_ending",
]
