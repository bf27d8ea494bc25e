"""Suggestions for the description of a column, read off its values: for the steward's eyes, to be confirmed or not.

Bounds are rounded outwards and lists are cut at a hundred, so that a suggestion is a draft rather than a summary; it is
still made from the data, which is why every fact of it is marked "suggested"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from synth_engine.codec import numbers
from synth_engine.confidential import ambiguous
from synth_engine.confidential.summary import (
    MARKERS,
    MAX_DISTINCT_TEXTS,
    MAX_TEXT_BYTES,
    Column,
    Wide,
)
from synth_engine.domain import rounding
from synth_engine.formats import Marks
from synth_engine.kinds import KINDS
from synth_engine.kinds.fragments import MAX_EXACT

MAX_CATEGORIES = 100
MAX_CATEGORY_LENGTH = 200
MAX_LABELS_LENGTH = 800  # characters
CODES = (
    10**9
)  # whole numbers from here on that have equally many digits are codes more often than amounts
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"))
_ROW_IDS = {
    "kind": "identifier",
    "why": "Whole numbers, all different and close together: they look like row ids.",
}
_NAMES = {
    "kind": "identifier",
    "why": "Nearly every value is different, or long: it may name a record. Left out.",
}
_WORDS = "If the words themselves are wanted, “Unknown categories” finds the frequent ones, out of the budget of a release."
_CONFIRM = (
    "Confirm only what is known without looking at this table, for example from a codebook."
)


_BASKETS: Mapping[str, Any] = {
    "kind": "weak-basket",
    "values": {"set": "integers", "low": 0, "high": 9_999},
    "keep": 50,
    "why": "Each line is a basket. Say which items there may be, as is publicly known: these bounds are an example.",
}


def attribute(
    name: str, column: Column, *, codebook: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A draft of one attribute, in the form of a domain's JSON; `codebook` is what the file itself says about it."""
    if codebook and codebook.get("baskets"):
        return {"name": name, **_BASKETS, "provenance": "suggested"}
    draft = _draft_from_codebook(column, codebook) if codebook else None
    return {"name": name, **(draft or _draft_column(column)), "provenance": "suggested"}


def _draft_from_codebook(column: Column, codebook: Mapping[str, Any]) -> dict[str, Any] | None:
    """The draft that a codebook makes: its codes are the values, if every value has one."""
    missing = codebook.get("missing", [])
    labels = {
        code: label for code, label in codebook.get("values", {}).items() if code not in missing
    }
    empty = [""] * bool(column.times[""])
    about = f"The file calls it “{codebook['label']}”. " if codebook.get("label") else ""
    # A value outside the codebook would be lost by a closed list, so it is drafted from the
    # values instead.
    if labels and column.wide is None and set(column.times) <= {*labels, *missing, ""}:
        labels_listed = "; ".join(f"{code} = {label}" for code, label in labels.items())
        why = f"{about}The file's own codebook lists: {labels_listed[:MAX_LABELS_LENGTH]}. {_CONFIRM}"
        markers = [*empty, *missing] or None
        outside = "missing" if markers else "clamp"
        facts = {"values": list(labels), "other": False, "missing": markers, "outside": outside}
        return {"kind": "categorical", **facts, "why": why}
    draft = _draft_column(column.without(missing))
    further_markers = [
        code
        for code in missing
        if code not in (draft.get("missing") or []) and not _within(draft, code)
    ]
    if further_markers and draft["kind"] != "identifier":
        draft["missing"] = [*(draft["missing"] or []), *further_markers]
        draft["why"] += (
            " The codes that the file itself declares as missing are taken for missing."
        )
    return draft | {"why": about + draft["why"]}


def _within(draft: Mapping[str, Any], code: str) -> bool:
    """Returns whether a code is also a value of what is drafted, which no marker of missing
    values may be."""
    if draft["kind"] in ("integer", "number"):
        return numbers.within(code, draft["low"], draft["high"])
    return code in draft.get("values", [draft.get("true"), draft.get("false")])


def _draft_column(column: Column) -> dict[str, Any]:
    if column.wide is not None:
        missing = [marker for marker in MARKERS if column.wide.missing[marker]]
        draft = _draft_of_many(column.wide)
    else:
        times = Counter(column.times)
        total = sum(times.values())
        missing = [marker for marker in MARKERS if times.pop(marker, 0)]
        draft = _draft(times, rows=total, marks=column.marks)
    if draft["kind"] != "identifier":
        draft["missing"] = missing or None
        if missing:
            written = " ".join(f'"{marker}"' for marker in missing)
            draft["why"] += f" Missing values seem to be written {written}."
            if "outside" in draft:
                draft["outside"] = "missing"
    draft["why"] += "" if draft["kind"] == "identifier" else f" {_CONFIRM}"
    return draft


def _draft(times: Counter[str], *, rows: int, marks: Marks) -> dict[str, Any]:
    if not times:
        return {"kind": "identifier", "why": "Every value is missing: left out."}
    texts = pa.array(times.keys(), type=pa.string())
    pair = _pair(times)
    if pair:
        return {
            "kind": "boolean",
            "true": pair[0],
            "false": pair[1],
            "why": "Two values that say yes and no.",
        }
    plain = marks.plain(texts)
    if (whole := numbers.whole(plain)) is not None:
        return _integer(whole, np.array(list(times.values())), rows=rows)
    if (decimals := numbers.decimal(plain)) is not None:
        return _number(decimals.min(), decimals.max())
    if (moments := numbers.times(texts)) is not None:
        if moments.days:
            return _days(moments.first, moments.last)
        return _span(moments, int(np.gcd.reduce(moments.clocks)))
    for kind in KINDS.values():
        if (draft := kind.suggest(texts)) is not None:
            return draft
    return ambiguous.dates(texts) or ambiguous.add_question(_text(times, rows=rows), texts)


def _draft_of_many(wide: Wide) -> dict[str, Any]:
    """The same of a column whose texts were too many to be kept."""
    if wide.read == "numbers":
        return _many_numbers(wide)
    if wide.read == "times":
        return _days(wide.first, wide.last) if wide.days else _span(wide, wide.common)
    if (
        wide.different > 0.9 * wide.looked_at
        or not wide.frequent
        or wide.longest > MAX_TEXT_BYTES
    ):
        return dict(_NAMES)
    values = sorted(text for text, _ in wide.frequent.most_common(MAX_CATEGORIES))
    why = f"More than {MAX_DISTINCT_TEXTS:,} different texts: {MAX_CATEGORIES} frequent ones are listed, all else is other."
    return {"kind": "categorical", "values": values, "other": True, "why": f"{why} {_WORDS}"}


def _many_numbers(wide: Wide) -> dict[str, Any]:
    if not wide.whole:
        return _number(wide.least, wide.most)
    least, most = int(wide.least), int(wide.most)
    if wide.all_different and wide.rows >= 100 and most - least < 2 * wide.rows:
        return dict(_ROW_IDS)
    sample = wide.sample()
    return _whole(least, most, values=sample, weights=np.ones(len(sample), dtype=np.int64))


def _pair(times: Counter[str]) -> tuple[str, str] | None:
    if len(times) != 2:
        return None
    by_folded = {text.casefold(): text for text in times}
    return next(
        ((by_folded[t], by_folded[f]) for t, f in _PAIRS if {t, f} == set(by_folded)), None
    )


def _days(first: str, last: str) -> dict[str, Any]:
    why = "All values are dates; the range is in whole years."
    return {"kind": "date", **rounding.days(first, last), "why": why}


def _span(span: numbers.Times | Wide, common: int) -> dict[str, Any]:
    """Moments in the coarsest unit on which all stand, spelled as in the file where all are spelled in one way."""
    why = "All values are moments; the range is in whole years, the step the coarsest unit that fits. No zone is kept."
    ends = rounding.moments(span.first, span.last, common=common, spellings=span.spellings)
    return {"kind": "datetime", **ends, "why": why}


def _integer(values: Any, weights: Any, *, rows: int) -> dict[str, Any]:
    least, most = int(values.min()), int(values.max())
    # Such numbers name records: as a histogram, they would describe nothing but the numbering.
    if len(values) == rows >= 100 and most - least < 2 * rows:
        return dict(_ROW_IDS)
    return _whole(least, most, values=values, weights=weights)


def _whole(least: int, most: int, *, values: Any, weights: Any) -> dict[str, Any]:
    low, high = (int(bound) for bound in rounding.outwards(least, most))
    draft: dict[str, Any] = {"kind": "integer", "low": low, "high": high}
    why = "All values are whole numbers; the bounds are the smallest and largest, rounded outwards."
    edges = _skewed_edges(values, weights, low=low, high=high)
    if edges:
        draft["edges"] = edges
        why += " Most values are small, so bins widen towards the top."
    elif high - low < 200:
        draft["width"] = 1
    if least >= CODES and len(str(least)) == len(str(most)):
        why = f"All have {len(str(least))} digits: if they are codes, such as census blocks, make them categories. {why}"
    return draft | {"why": why}


def _number(least: float, most: float) -> dict[str, Any]:
    low, high = rounding.outwards(float(least), float(most))
    # Beyond 2^53 floats skip whole numbers, so bounds would not be those that are shown.
    if max(-low, high) > MAX_EXACT:
        return {
            "kind": "identifier",
            "why": "Numbers beyond 2^53, which no bounds hold: left out.",
        }
    why = "All values are numbers; the bounds are the smallest and largest, rounded outwards."
    return {"kind": "number", "low": low, "high": high, "why": why}


def _skewed_edges(values: Any, weights: Any, *, low: int, high: int) -> list[int] | None:
    """Edges 1, 2, 5, 10 … for counts and amounts, of which most lie in the first of equal bins."""
    if low != 0 or high < 1_000 or weights[values < high / 32].sum() < 0.8 * weights.sum():
        return None
    return rounding.widening_edges(high)


def _text(times: Counter[str], *, rows: int) -> dict[str, Any]:
    different = len(times)
    if (different > 0.9 * rows and different > MAX_CATEGORIES) or max(
        map(len, times)
    ) > MAX_CATEGORY_LENGTH:
        return dict(_NAMES)
    values = sorted(text for text, _ in times.most_common(MAX_CATEGORIES))
    if different > MAX_CATEGORIES:
        why = f"{different:,} different texts: the {MAX_CATEGORIES} most frequent are listed, all else is other."
        return {
            "kind": "categorical",
            "values": values,
            "other": True,
            "why": f"{why} {_WORDS}",
        }
    why = f"{different} different texts. A text that is not listed counts as missing, or as the first if none can be."
    return {
        "kind": "categorical",
        "values": values,
        "other": False,
        "outside": "clamp",
        "why": why,
    }
