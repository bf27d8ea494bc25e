"""Columns of one situation each, made by a rule, and the verdict of `bench/meaning.py` on their draft."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import meaning

Case = Mapping[str, Any]
ROWS = 120
GERMAN = "Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
SHORT_FRENCH = "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."
SPANISH = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
SHORT_GERMAN = "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez."
ENGLISH = (
    "January February March April May June July August September October November December"
)
WEEK = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"
DAYS = [date(2019, 1, 3) + timedelta(days=11 * index) for index in range(ROWS)]


def dated(write: Callable[[date], str]) -> list[str]:
    """The days, written by a function of one day."""
    return [write(day) for day in DAYS]


def of(names: str, day: date) -> str:
    """The name of a day's month, of twelve names."""
    return names.split()[day.month - 1]


def ordinal(day: int) -> str:
    """A day of the month as English has it: 1st, 2nd, 11th."""
    end = "th" if day in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{end}"


def some(cells: Sequence[str], others: Sequence[str], each: int) -> list[str]:
    """The cells, of which one of `each` is one of the others."""
    return [
        others[(index // each) % len(others)] if index % each == 0 else cell
        for index, cell in enumerate(cells)
    ]


WHOLE = [str(10 + (7 * index) % 61) for index in range(ROWS)]
MONEY = [f"{index * 37 % 91}.{index % 100:02d}" for index in range(ROWS)]
LARGE = [f"{1 + index % 8}'{index * 53 % 1000:03d}.{index % 100:02d}" for index in range(ROWS)]
NUMBERS: Case = {"right": ["numbers"], "asked": ["numbers"]}
DAYS_ONLY: Case = {"right": ["days"]}
DAYS_OR_OUT: Case = {"right": ["days"], "asked": ["days", "left out"]}
OUT: Case = {"asked": ["numbers", "left out"], "loses": True}
CODES: Case = {"right": ["codes"], "asked": ["codes"]}
LEFT_OUT: Case = {"right": ["left out"], "asked": ["left out"]}


def judged(column: str, cells: Sequence[str], case: Case, folder: Path) -> tuple[str, str]:
    """The verdict on the draft of such a column, beside one of plain categories, and what was said."""
    wards = ["north", "south", "east"]
    lines = [f"ward;{column}", *(f"{wards[n % 3]};{cell}" for n, cell in enumerate(cells))]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return meaning.judged(path, {"column": column, "read": ["header=yes"], **case})
