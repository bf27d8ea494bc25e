"""Numbers that are not written plainly: by which signs between thousands and before decimals all cells of a
column make sense, and with which currency, percent sign or unit around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.formats import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    NUMBER_MARKS,
    SHARE_SIGNS,
    Marks,
    like_phones,
    notation,
)

_BEFORE = rf"[A-Z]{{0,3}}[{CURRENCY_SIGNS}]|{'|'.join(CURRENCY_CODES)}|Fr\.|kr\.?|Rs\.?"
_AFTER = (
    rf"[{SHARE_SIGNS}{CURRENCY_SIGNS}°]|°[CF]|[A-Za-zµ]{{1,3}}[²³2]?|[A-Za-z]{{1,3}}/[A-Za-z]{{1,3}}|Euro|"
    r"hours?|days?|years?|miles?|pcs\.?|persons?"
)
_NEARLY_ALL = 0.9  # of the texts, that have a percent sign where it is left out
_WITH_UNIT = (
    rf"^(?P<sign>[+-]?)(?P<before>(?:{_BEFORE})? ?)(?P<minus>[+-]?)"
    r"(?P<core>[0-9.,](?:[0-9.,' \x{a0}\x{202f}]*[0-9])?)"
    rf"(?P<after>[ \x{{a0}}]?(?:{_AFTER})?)$"
)


@dataclass(frozen=True, kw_only=True)
class NumberReading:
    """One way to read texts as numbers.

    marks: the signs, and what stands around numbers.
    readable: shape (n,), which texts are numbers by them.
    convincing: shape (n,), which of these are none by the marks that the file has now.
    values: shape (n,), NaN where a text is not readable.
    same: all marks by which the values are these, the simplest first.
    """

    marks: Marks
    same: list[Marks]
    readable: NDArray[np.bool_]
    convincing: NDArray[np.bool_]
    values: NDArray[np.float64]


def readings(texts: pa.Array, now: Marks) -> list[NumberReading]:
    """The ways in which some of these different texts are numbers, if they are none as the file is read now;
    of those with the same values the simplest alone."""
    plain_now = _values(now.plain(texts))
    plain = notation.unified(texts)
    units = _units(plain)
    readings_by_values: list[NumberReading] = []
    absent: list[Marks] = []
    for candidate in NUMBER_MARKS:
        if not _occurs(candidate, plain):
            absent.append(candidate)
            continue
        marks = Marks(decimal=candidate.decimal, thousands=candidate.thousands, units=units)
        values = _values(marks.plain(texts))
        readable = ~np.isnan(values)
        convincing = readable & np.isnan(plain_now)
        if not convincing.any() or like_phones(texts.filter(pa.array(readable)), marks):
            continue
        covering = [
            other for other in readings_by_values if _adds_nothing(values, other.values)
        ]
        if covering:
            if np.array_equal(values, covering[0].values, equal_nan=True):
                covering[0].same.append(marks)
            continue
        readings_by_values = [
            other for other in readings_by_values if not _adds_nothing(other.values, values)
        ]
        readings_by_values.append(
            NumberReading(
                marks=marks,
                same=[marks],
                readable=readable,
                convincing=convincing,
                values=values,
            )
        )
    # A sign that does not occur changes nothing, so such marks read the same, which matters to other columns
    # of the file.
    pointed = bool(pc.any(pc.match_substring_regex(texts, "[.,]")).as_py())
    for candidate in absent:
        for reading in readings_by_values:
            decimals = {each.decimal for each in reading.same if not each.thousands}
            if decimals and (candidate.decimal in decimals or not pointed):
                reading.same.append(
                    Marks(decimal=candidate.decimal, thousands=candidate.thousands, units=units)
                )
    return readings_by_values


def _occurs(marks: Marks, texts: pa.Array) -> bool:
    """Whether the signs of these marks occur at all, so that they may read what others do not."""
    if marks.thousands == " ":
        return bool(pc.any(pc.match_substring_regex(texts, r"[ \x{a0}\x{202f}]")).as_py())
    signs = marks.thousands or ("," if marks.decimal == "," else "")
    return not signs or bool(pc.any(pc.match_substring(texts, signs)).as_py())


def _adds_nothing(values: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether some texts are read by others as well, with the same values, and no further one."""
    readable = ~np.isnan(values)
    return bool(np.array_equal(values[readable], others[readable]))


def _values(plain: pa.Array) -> NDArray[np.float64]:
    """Plain numbers without leading zeros, NaN elsewhere."""
    numbers = pc.match_substring_regex(
        plain,
        r"^[ \t]*[+-]?((0|[1-9][0-9]{0,14})(\.[0-9]{1,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,2})?[ \t]*$",
    )
    values: NDArray[np.float64] = pc.cast(
        pc.utf8_trim(pc.if_else(numbers, plain, "0"), " \t"), pa.float64()
    ).to_numpy(zero_copy_only=False)
    return np.where(numbers.to_numpy(zero_copy_only=False), values, np.nan)


def _units(texts: pa.Array) -> tuple[str, ...]:
    """What stands before or after nearly all numbers: a currency, a percent sign or one unit."""
    parts = pc.extract_regex(pc.utf8_trim(texts, " \t"), _WITH_UNIT)
    matched = parts.filter(pc.is_valid(parts))
    if not len(matched):
        return ()
    units: list[str] = []
    for name in ("before", "after"):
        counted = pc.value_counts(
            pc.utf8_trim(pc.struct_field(matched, name), " \u00a0")
        ).to_pylist()
        written = {each["values"]: each["counts"] for each in counted if each["values"]}
        # A number alone, like 0, may go without; two units in one column would be two scales.
        if len(written) == 1:
            [(unit, times)] = written.items()
            # A share beside numbers without the sign is two scales in one column, and a debit is below zero;
            # a clock is no number.
            if unit.upper() in ("CR", "DR", "UHR"):
                return ()
            if unit in SHARE_SIGNS and times < _NEARLY_ALL * len(matched):
                return ()
            if times >= 2 or unit in SHARE_SIGNS + CURRENCY_SIGNS:
                units.append(unit)
        elif written:
            return ()
    return tuple(units)
