"""Moments between texts, seconds and codes, a whole column at once."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import DateTime
from synth_engine.domain.timestamps import ISO_MOMENT, ISO_TEXT

Seconds = NDArray[np.float64]
_BLANKS = " \t"
_UNREADABLE = "0000-00-00 00:00:00"  # no calendar has such a day
_SIGNS = len(_UNREADABLE)
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001  # clocks without a zone
_SECOND = datetime.timedelta(seconds=1)
_MONTHS_TO_1970 = 1970 * 12


def seconds_since(attribute: DateTime, texts: list[str]) -> Seconds:
    """Seconds from the attribute's low to the moment each text states, a fraction of a second left out.

    texts: the cells, shape (n,). Returns shape (n,), NaN where a text cannot be read. Entry i is a function of texts[i]
    alone: no step infers a type, a resolution or a format from several texts, because texts belong to different records.
    """
    since_1970 = (
        _iso_seconds(texts)
        if attribute.format == ISO_MOMENT
        else _formatted_seconds(attribute, texts)
    )
    return since_1970 - float(np.datetime64(attribute.low, "s").astype(np.int64))


def _formatted_seconds(attribute: DateTime, texts: list[str]) -> Seconds:
    """Seconds since 1970 of texts in a declared format, each parsed by itself."""
    seconds = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        moment = attribute.parse(text)
        if moment is not None:
            seconds[place] = (moment - _EPOCH) // _SECOND
    return seconds


def _iso_seconds(texts: list[str]) -> Seconds:
    """Seconds since 1970 of ISO texts, in whole-number arithmetic on the digits of each text."""
    signs = _signs(pc.utf8_trim(pa.array(texts, type=pa.string()), characters=_BLANKS))
    digits = signs.astype(np.int64) - ord("0")
    year = _number(digits[:, 0:4])
    month = _number(digits[:, 5:7])
    day = _number(digits[:, 8:10])
    hour = _number(digits[:, 11:13])
    minute = _number(digits[:, 14:16])
    second = _number(digits[:, 17:19])

    readable = (
        (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    )
    months = np.where(readable, year * 12 + month - 1 - _MONTHS_TO_1970, 0)
    first_day = _days_to(months)
    readable &= (day >= 1) & (day <= _days_to(months + 1) - first_day)

    days = first_day + day - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return np.where(readable, seconds.astype(np.float64), np.nan)


def _signs(column: pa.Array) -> NDArray[np.uint8]:
    """Each text in the form YYYY-MM-DD hh:mm:ss, as bytes, shape (n, 19); a text that is not ISO as an impossible day."""
    parts = pc.extract_regex(column, pattern=f"^{ISO_TEXT}$")
    day, clock = pc.struct_field(parts, "day"), pc.struct_field(parts, "clock")
    length = pc.utf8_length(clock)
    filled = pc.if_else(
        pc.equal(length, 0),
        "00:00:00",
        pc.if_else(pc.equal(length, 5), _joined(clock, ":00"), clock),
    )
    written = pc.fill_null(_joined(day, filled, by=" "), _UNREADABLE)
    return np.array(written.to_pylist(), dtype=f"S{_SIGNS}").view(np.uint8).reshape(-1, _SIGNS)


def _number(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole number written in each row of digits."""
    number = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        number = number * 10 + column
    return number


def _days_to(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Days from 1970 to the first day of each month, counted from January 1970."""
    days: NDArray[np.int64] = (
        months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    )
    return days


def _joined(*parts: Any, by: str = "") -> pa.Array:
    return pc.binary_join_element_wise(*parts, by)


def sample_moments(
    attribute: DateTime, codes: NDArray[np.intp], rng: np.random.Generator
) -> pd.Series:
    """A moment of each code, on one of its steps."""
    cuts = np.asarray(attribute.cuts, dtype=np.int64)
    missing = codes == attribute.missing_code
    bins = np.where(missing, 0, codes)
    places = cuts[bins]
    if any(end - start > 1 for start, end in pairwise(attribute.cuts)):
        places = rng.integers(places, cuts[bins + 1])
    if attribute.unit == "months":
        seconds = np.array(
            [attribute.offset(place) for place in range(attribute.points)], dtype=np.int64
        )[places]
    else:
        seconds = places * (attribute.offset(1) if attribute.points > 1 else 0)
    return pd.Series(np.datetime64(attribute.low, "s") + seconds).mask(missing)
