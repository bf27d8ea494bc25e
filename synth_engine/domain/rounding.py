"""Round what a suggestion contains: from the clocks of a column to the step and the spelling of its
moments."""

from __future__ import annotations

from collections.abc import Set

from synth_engine.kinds.date_time import SECONDS
from synth_engine.strict_json import JsonObject

_SPELLINGS = {
    16: "%Y-%m-%d{}%H:%M",
    17: "%Y-%m-%d{}%H:%MZ",
    19: "%Y-%m-%d{}%H:%M:%S",
    20: "%Y-%m-%d{}%H:%M:%SZ",
}


def moments(*, common: int, spellings: Set[tuple[str, int]]) -> JsonObject:
    """Moments in the coarsest unit of which `common` seconds are a multiple, up to days. `spellings` are the
    signs between day and clock and the lengths that were met: a single one says how they are written."""
    unit = next(
        unit for unit in ("days", "hours", "minutes", "seconds") if common % SECONDS[unit] == 0
    )
    draft: JsonObject = {"of": "datetime", "step": SECONDS[unit]}
    if len(spellings) == 1:
        [(between, length)] = spellings
        if style := _SPELLINGS.get(length):
            draft["format"] = style.format(between)
    return draft
