"""Round what a suggestion contains: from the ends of a range to bounds and steps that a person might have written."""

from __future__ import annotations

import datetime
import math
from collections.abc import Set

from synth_engine.kinds.date_time import SECONDS
from synth_engine.strict_json import JsonObject

_DAY_STEPS = (1, 7, 30, 365)
_SPELLINGS = {
    16: "%Y-%m-%d{}%H:%M",
    17: "%Y-%m-%d{}%H:%MZ",
    19: "%Y-%m-%d{}%H:%M:%S",
    20: "%Y-%m-%d{}%H:%M:%SZ",
}
_MOST_DAYS = 1_000  # codes of a suggested column of days


def outwards(least: float, most: float) -> tuple[float, float]:
    """Bounds around two numbers, further out the further they are apart."""
    span = most - least
    if span == 0:
        return least, most
    # The exact ends of a range are values of single records. Rounded outwards they are bounds
    # that a person could have declared.
    exponent = math.floor(math.log10(span)) - (1 if span > 150 else 0)
    step = 1.0 if 1 <= span <= 30 else 5.0 if 30 < span <= 150 else 10.0**exponent
    digits = max(0, -exponent)
    return round(math.floor(least / step) * step, digits), round(
        math.ceil(most / step) * step, digits
    )


def days(first_year: str, last_year: str) -> JsonObject:
    """Whole years of days, and a step that keeps them few."""
    low, high = datetime.date(int(first_year), 1, 1), datetime.date(int(last_year), 12, 31)
    span = (high - low).days
    step = next(step for step in (*_DAY_STEPS, span + 1) if span // step < _MOST_DAYS)
    return {"low": low.isoformat(), "high": high.isoformat(), "step_days": step}


def moments(
    first_year: str, last_year: str, *, common: int, spellings: Set[tuple[str, int]]
) -> JsonObject:
    """Whole years of moments in the coarsest unit of which `common` seconds are a multiple, up to days. `spellings`
    are the signs between day and clock and the lengths that were met: a single one says how they are written."""
    unit = next(
        unit for unit in ("days", "hours", "minutes", "seconds") if common % SECONDS[unit] == 0
    )
    draft: JsonObject = {
        "low": f"{first_year}-01-01T00:00:00",
        "high": f"{last_year}-12-31T23:59:59",
        "step": 1,
        "unit": unit,
    }
    if len(spellings) == 1:
        [(between, length)] = spellings
        if style := _SPELLINGS.get(length):
            draft["format"] = style.format(between)
    return draft
