"""One spelling of a JSON value, so that two programs that hash the same facts get the same hash.

Canonical JSON here: keys are strings, sorted by code point; no spaces; UTF-8, nothing escaped that need not
be; no floats (their spelling is not one); times in UTC with six decimals and a `Z`. Integers of any size are
written out.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def plain(value: Any) -> Any:
    """`value` as JSON's own types: what a JSON column gives back, and what `canonical_json` writes."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, dt.datetime):
        return instant(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("canonical JSON: every key is a string")
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    raise TypeError(
        f"canonical JSON: a {type(value).__name__} has no single spelling; give an integer or a string"
    )


def instant(moment: dt.datetime) -> str:
    """A moment in UTC to the microsecond, e.g. 2026-03-01T09:30:00.000000Z."""
    if moment.tzinfo is None:
        raise TypeError("canonical JSON: a time needs its zone")
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def canonical_json(value: Any) -> bytes:
    """The one spelling of `value`; TypeError for what has none (floats, bytes, times without a zone)."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`, in hexadecimal."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
