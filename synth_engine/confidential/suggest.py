"""Suggestions for the description of a column, read off its values: for the steward's eyes, to be confirmed or not.

Bounds are rounded outwards and lists are cut at a hundred, so that a suggestion is a draft rather than a summary; it is
still made from the data, which is why every fact of it is marked "suggested"."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth_engine.domain import rounding

MARKERS = ("", "?", "NA", "N/A", "null", "None", "nan", "<NULL>", ".")
MOST_CATEGORIES = 100
LONGEST_CATEGORY = 200
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"))
_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,14})$"
_DECIMAL = r"^[+-]?(0|[1-9][0-9]{0,14})?(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,2})?$"
_DAY = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
_MOMENT = _DAY[:-1] + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_CONFIRM = "Confirm only what is known without looking at this table, for example from a codebook."


def attribute(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    """A draft of one attribute, in the form of a domain's JSON."""
    times = _times(column)
    total = sum(times.values())
    missing = [marker for marker in MARKERS if times.pop(marker, 0)]
    draft = _draft(times, rows=total)
    if draft["kind"] != "identifier":
        draft["missing"] = missing or None
        if missing:
            written = " ".join(f'"{marker}"' for marker in missing)
            draft["why"] += f" Missing values seem to be written {written}."
            if "outside" in draft:
                draft["outside"] = "missing"
    draft["why"] += "" if draft["kind"] == "identifier" else f" {_CONFIRM}"
    return {"name": name, **draft, "provenance": "suggested"}


def _times(column: pa.ChunkedArray) -> Counter[str]:
    counts = pc.value_counts(pc.fill_null(column, ""))
    texts, times = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
    return Counter(dict(zip(texts, times, strict=True)))


def _draft(times: Counter[str], *, rows: int) -> dict[str, Any]:
    if not times:
        return {"kind": "identifier", "why": "Every value is missing: left out."}
    texts = pa.array(times.keys(), type=pa.string())
    pair = _pair(times)
    if pair:
        return {"kind": "boolean", "true": pair[0], "false": pair[1], "why": "Two values that say yes and no."}
    if _all(texts, _WHOLE):
        return _integer(times, rows=rows)
    if _all(texts, _DECIMAL) and not _any(texts, r"^[+-]?$|^[+-]?[eE]"):
        return _number(times)
    if _all(texts, _DAY) and all(map(_is_day, times)):
        why = "All values are dates; the range is in whole years."
        return {"kind": "date", **rounding.days(min(times)[:4], max(times)[:4]), "why": why}
    if _all(texts, _MOMENT) and (found := _moments(times)):
        return found
    return _text(times, rows=rows)


def _pair(times: Counter[str]) -> tuple[str, str] | None:
    if len(times) != 2:
        return None
    by_folded = {text.casefold(): text for text in times}
    return next(((by_folded[t], by_folded[f]) for t, f in _PAIRS if {t, f} == set(by_folded)), None)


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _any(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _moments(times: Counter[str]) -> dict[str, Any] | None:
    """Moments in the coarsest unit on which all stand, spelled as in the file where all are spelled in one way."""
    try:
        clocks = [datetime.datetime.fromisoformat(text).time() for text in times]
    except ValueError:
        return None
    common = int(np.gcd.reduce([clock.hour * 3_600 + clock.minute * 60 + clock.second for clock in clocks]))
    why = "All values are moments; the range is in whole years, the step the coarsest unit that fits. No zone is kept."
    ends, spellings = (min(times)[:4], max(times)[:4]), {(text[10], len(text)) for text in times}
    return {"kind": "datetime", **rounding.moments(*ends, common=common, spellings=spellings), "why": why}


def _integer(times: Counter[str], *, rows: int) -> dict[str, Any]:
    values = np.array(list(times), dtype=np.int64)
    weights = np.array(list(times.values()))
    least, most = int(values.min()), int(values.max())
    if len(times) == rows >= 100 and most - least < 2 * rows:
        return {"kind": "identifier", "why": "Whole numbers, all different and close together: they look like row ids."}
    low, high = (int(bound) for bound in rounding.outwards(least, most))
    draft: dict[str, Any] = {"kind": "integer", "low": low, "high": high}
    why = "All values are whole numbers; the bounds are the smallest and largest, rounded outwards."
    edges = _skewed_edges(values, weights, low=low, high=high)
    if edges:
        draft["edges"] = edges
        why += " Most values are small, so bins widen towards the top."
    elif high - low < 200:
        draft["width"] = 1
    return draft | {"why": why}


def _number(times: Counter[str]) -> dict[str, Any]:
    values = [float(text) for text in times]
    low, high = rounding.outwards(min(values), max(values))
    why = "All values are numbers; the bounds are the smallest and largest, rounded outwards."
    return {"kind": "number", "low": low, "high": high, "why": why}


def _skewed_edges(values: Any, weights: Any, *, low: int, high: int) -> list[int] | None:
    """Edges 1, 2, 5, 10 … for counts and amounts, of which most lie in the first of equal bins."""
    if low != 0 or high < 1_000 or weights[values < high / 32].sum() < 0.8 * weights.sum():
        return None
    return rounding.widening_edges(high)


def _text(times: Counter[str], *, rows: int) -> dict[str, Any]:
    different = len(times)
    if (different > 0.9 * rows and different > MOST_CATEGORIES) or max(map(len, times)) > LONGEST_CATEGORY:
        return {
            "kind": "identifier",
            "why": "Nearly every value is different, or long: it may name a record. Left out.",
        }
    values = sorted(text for text, _ in times.most_common(MOST_CATEGORIES))
    if different > MOST_CATEGORIES:
        why = f"{different:,} different texts: the {MOST_CATEGORIES} most frequent are listed, all else is other."
        return {"kind": "categorical", "values": values, "other": True, "why": why}
    why = f"{different} different texts. A text that is not listed counts as missing, or as the first if none can be."
    return {"kind": "categorical", "values": values, "other": False, "outside": "clamp", "why": why}
