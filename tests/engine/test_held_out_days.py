"""Columns of days, moments and times of day that are no part of `bench/meaning.py`: their readings were
written down before they were drafted. Each is drafted right, or asked about with a right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.engine.held_out import (
    CODES,
    DAYS_ONLY,
    DAYS_OR_OUT,
    ENGLISH,
    FRENCH,
    GERMAN,
    LEFT_OUT,
    ROWS,
    SHORT_FRENCH,
    SHORT_GERMAN,
    SPANISH,
    WEEK,
    Case,
    dated,
    judged,
    of,
    ordinal,
    some,
)

TABLES: Mapping[str, tuple[str, Sequence[str], Case]] = {
    "months of Austria": (
        "aufnahme",
        dated(lambda day: f"{day.day}. {of(GERMAN, day)} {day.year}"),
        DAYS_ONLY,
    ),
    "short German months": (
        "visit",
        dated(lambda day: f"{day.day:02d}. {of(SHORT_GERMAN, day)} {day.year}"),
        DAYS_ONLY,
    ),
    "French months": (
        "visit",
        dated(lambda day: f"{day.day} {of(FRENCH, day)} {day.year}"),
        DAYS_OR_OUT,
    ),
    "short French months": (
        "visit",
        dated(lambda day: f"{day.day:02d}-{of(SHORT_FRENCH, day)}-{day.year}"),
        DAYS_OR_OUT,
    ),
    "Spanish months": (
        "visit",
        dated(lambda day: f"{day.day} de {of(SPANISH, day)} de {day.year}"),
        DAYS_OR_OUT,
    ),
    "a day of the week": (
        "visit",
        dated(
            lambda day: (
                f"{WEEK.split()[day.weekday()]}, {day.day}. {of(GERMAN, day)} {day.year}"
            )
        ),
        DAYS_OR_OUT,
    ),
    "Chinese, padded": ("visit", dated(lambda day: f"{day:%Y年%m月%d日}"), DAYS_ONLY),
    "blanks after dots": (
        "visit",
        dated(lambda day: f"{day.day}. {day.month}. {day.year}"),
        DAYS_ONLY,
    ),
    "a dot at the end": ("visit", dated(lambda day: f"{day:%Y.%m.%d.}"), DAYS_OR_OUT),
    "two digits of a year": (
        "visit",
        dated(lambda day: f"{day.day}-{of(ENGLISH, day)[:3]}-{day:%y}"),
        DAYS_ONLY,
    ),
    "the American way": (
        "visit",
        dated(lambda day: f"{of(ENGLISH, day)} {day.day}, {day.year}"),
        DAYS_ONLY,
    ),
    "ordinals": (
        "visit",
        dated(lambda day: f"{ordinal(day.day)} {of(ENGLISH, day)} {day.year}"),
        DAYS_OR_OUT,
    ),
    "weeks": (
        "visit",
        dated(lambda day: f"{day.year}-W{day.isocalendar().week:02d}"),
        LEFT_OUT,
    ),
    "quarters": (
        "visit",
        dated(lambda day: f"Q{(day.month + 2) // 3} {day.year}"),
        CODES,
    ),
    "compact moments": (
        "visit",
        dated(lambda day: f"{day:%Y%m%d}T1015{day.day:02d}"),
        {"right": ["moments"], "asked": ["moments", "left out"]},
    ),
    "seconds since 1970": (
        "created_at",
        [str(1546500000 + 950400 * index) for index in range(ROWS)],
        {"asked": ["numbers", "moments", "left out"]},
    ),
    "moments of half a day": (
        "visit",
        dated(
            lambda day: f"{day:%m/%d/%Y} {1 + day.day % 12}:{day.day:02d} {'AP'[day.day % 2]}M"
        ),
        {"right": ["moments"], "asked": ["moments", "left out"]},
    ),
    "which number is the day": (
        "visit",
        [f"{1 + index % 12:02d}/{1 + index % 11:02d}/2021" for index in range(ROWS)],
        {"asked": [{"of": "date", "format": "%d/%m/%Y"}]},
    ),
    "the last day of all": (
        "ende",
        some(dated(lambda day: f"{day:%d.%m.%Y}"), ["31.12.9999"], 5),
        {"right": [{"of": "date", "missing": ["31.12.9999"]}]},
    ),
    "month name and clock": (
        "visit",
        dated(lambda d: f"{d.day:02d}-{of(ENGLISH, d)[:3]}-{d.year} 10:{d.day:02d}:00"),
        {"right": ["moments"], "asked": ["moments", "left out"]},
    ),
    "German moment": (
        "visit",
        dated(lambda d: f"{d:%d.%m.%Y} {d.day % 24:02d}:30 Uhr"),
        {"right": ["moments"], "asked": ["moments", "left out"]},
    ),
    "Uhr alone": (
        "t",
        [f"{n % 24:02d}:{n * 7 % 60:02d} Uhr" for n in range(ROWS)],
        {"right": ["times"], "asked": ["times", "left out"]},
    ),
    "10.30 Uhr": (
        "t",
        [f"{n % 24}.{n * 7 % 60:02d} Uhr" for n in range(ROWS)],
        {"right": ["times"], "asked": ["times", "left out"]},
    ),
    "millis": (
        "t",
        [f"{n % 24:02d}:{n * 7 % 60:02d}:{n % 60:02d}.{n:03d}" for n in range(ROWS)],
        {"right": ["times"], "asked": ["times", "left out"]},
    ),
    "epoch ms in created": (
        "created",
        [str(1546500000000 + 950400000 * n) for n in range(ROWS)],
        {"asked": ["numbers", "left out"]},
    ),
    "year and month name": (
        "monat",
        dated(lambda d: f"{of(GERMAN, d)} {d.year}"),
        {"right": ["codes", "days"], "asked": ["codes", "days", "left out"]},
    ),
    "short month and year": (
        "monat",
        dated(lambda d: f"{of(ENGLISH, d)[:3]}-{d:%y}"),
        {"right": ["codes", "days"], "asked": ["codes", "days", "left out"]},
    ),
    "yyyy-mm": (
        "monat",
        dated(lambda d: f"{d:%Y-%m}"),
        {"right": ["codes", "days"], "asked": ["codes", "days", "left out"]},
    ),
    "01.01.1900 beside births": (
        "eintritt",
        some(dated(lambda d: f"{d:%d.%m.%Y}"), ["01.01.1900"], 5),
        {"right": [{"of": "date", "missing": ["01.01.1900"]}]},
    ),
    "dates and text unknown": (
        "geburtsdatum",
        some(dated(lambda d: f"{d:%d.%m.%Y}"), ["unbekannt"], 4),
        {"right": [{"of": "date", "missing": ["unbekannt"]}]},
    ),
    "partial dates 00": (
        "geburtsdatum",
        some(dated(lambda d: f"{d:%d.%m.%Y}"), [f"00.00.{y}" for y in range(1990, 2010)], 4),
        {"asked": ["days", "left out"], "loses": True},
    ),
    "slash y/m/d clock": (
        "visit",
        dated(lambda d: f"{d:%Y/%m/%d} {d.day % 24:02d}:15"),
        {"right": ["moments"]},
    ),
    "rfc 2822": (
        "visit",
        dated(lambda d: f"{d:%a, %d %b %Y} 10:15:00 +0000"),
        {"right": ["moments"], "asked": ["moments", "left out"]},
    ),
    "iso with fraction Z": (
        "visit",
        dated(lambda d: f"{d:%Y-%m-%d}T10:15:{d.day:02d}.123Z"),
        {"right": ["moments"]},
    ),
    "Japanese era": (
        "visit",
        dated(lambda d: f"令和{d.year - 2018}年{d.month}月{d.day}日"),
        {"asked": ["left out"], "right": ["left out"]},
    ),
    "js toLocale": (
        "visit",
        dated(lambda d: f"{d.day}.{d.month}.{d.year}, 10:{d.day:02d}:00"),
        {"right": ["moments"]},
    ),
    "js toLocale US": (
        "visit",
        dated(lambda d: f"{d.month}/{d.day}/{d.year}, {1 + d.day % 12}:{d.day:02d}:00 PM"),
        {"right": ["moments"]},
    ),
    "ctime": (
        "visit",
        dated(lambda d: f"{d:%a %b %d} 10:30:00 {d.year}"),
        {"asked": ["left out"], "right": ["moments"]},
    ),
    "months French moment": (
        "visit",
        dated(lambda d: f"{d.day} {of(FRENCH, d)} {d.year} 10:{d.day:02d}"),
        {"right": ["moments"], "asked": ["left out"]},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_days_are_drafted_right_or_asked_about(name: str, tmp_path: Path) -> None:
    column, cells, case = TABLES[name]
    verdict, said = judged(column, cells, case, tmp_path)
    assert verdict in {"right", "asked with a right answer"}, f"{verdict}: {said}"
