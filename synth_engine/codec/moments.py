"""Moments between texts, seconds and codes, a whole column at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import DateTime
from synth_engine.domain.moments import ISO_MOMENT, ISO_TEXT, LONGEST_TEXT

_BLANKS = " \t"
_PLAIN = "%Y-%m-%d %H:%M:%S"


def seconds_since(attribute: DateTime, texts: list[str]) -> NDArray[np.float64]:
    """Seconds from the attribute's low to what each text says, a fraction left out; NaN where it cannot be read."""
    column = pc.utf8_trim(pa.array(texts, type=pa.string()), characters=_BLANKS)
    if attribute.format == ISO_MOMENT:
        read = pd.to_datetime(_plain(column), format=_PLAIN, errors="coerce")
    else:
        read = pd.to_datetime(_gated(column), format=attribute.format, errors="coerce")
    whole = read.to_numpy().astype("datetime64[s]")
    seconds = (whole - np.datetime64(attribute.low, "s")).astype(np.float64)
    return np.where(np.isnat(whole), np.nan, seconds)


def _plain(column: pa.Array) -> pd.Series:
    """ISO texts with a clock to the second; null where a text is none."""
    parts = pc.extract_regex(column, pattern=f"^{ISO_TEXT}$")
    day, clock = pc.struct_field(parts, "day"), pc.struct_field(parts, "clock")
    length = pc.utf8_length(clock)
    filled = pc.if_else(pc.equal(length, 0), "00:00:00", pc.if_else(pc.equal(length, 5), _joined(clock, ":00"), clock))
    return _series(_joined(day, filled, by=" "))


def _gated(column: pa.Array) -> pd.Series:
    """Texts that may be of a declared format. Words such as "now" have a meaning of their own to the reader below,
    and digits of other scripts a value: neither is what the format says."""
    long = pc.greater(pc.utf8_length(column), LONGEST_TEXT)
    foreign = pc.match_substring_regex(pc.replace_substring_regex(column, pattern="[0-9]", replacement=""), r"\p{Nd}")
    wordy = pc.invert(pc.match_substring_regex(column, "[0-9]"))
    unfit = pc.or_(long, pc.or_(foreign, wordy))
    return _series(pc.if_else(unfit, pa.scalar(None, pa.string()), column))


def _joined(*parts: Any, by: str = "") -> pa.Array:
    return pc.binary_join_element_wise(*parts, by)


def _series(column: pa.Array) -> pd.Series:
    return pd.Series(column.to_numpy(zero_copy_only=False), dtype="str")


def drawn(attribute: DateTime, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:
    """A moment of each code, on one of its steps."""
    cuts = np.asarray(attribute.cuts, dtype=np.int64)
    missing = codes == attribute.missing_code
    bins = np.where(missing, 0, codes)
    places = cuts[bins]
    if any(end - start > 1 for start, end in pairwise(attribute.cuts)):
        places = rng.integers(places, cuts[bins + 1])
    if attribute.unit == "months":
        seconds = np.array([attribute.offset(place) for place in range(attribute.points)], dtype=np.int64)[places]
    else:
        seconds = places * (attribute.offset(1) if attribute.points > 1 else 0)
    return pd.Series(np.datetime64(attribute.low, "s") + seconds).mask(missing)
