"""A draft says nothing that another reading of the same cells contradicts: it is right, or it asks, for every
notation, share of cells and repetition."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from synth_engine import readers
from synth_engine.codec import sentinels
from synth_engine.domain import parse_attribute
from synth_engine.errors import TableError
from synth_engine.formats import Marks
from synth_engine.kinds import month_names
from synth_engine.kinds.date import Date
from synth_engine.kinds.date_time import DateTime
from synth_engine.steward import ingest, suggest
from synth_engine.steward.hints import Hint
from synth_engine.steward.summary import Column

ROWS = 400
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
ONE_READING: dict[str, Callable[[float], str]] = {
    "in brackets": lambda value: f"({value:.2f})",
    "minus behind": lambda value: f"{value:.2f}-",
    "minus behind a blank": lambda value: f"{value:.2f} -",
    "minus sign": lambda value: f"\u2212{value:.2f}",
    "en dash": lambda value: f"\u2013{value:.2f}",
    "blank behind": lambda value: f"{value:.2f}\u00a0",
    "invisible sign before": lambda value: f"\u200b{value:.2f}",
    "digits of another script": lambda value: f"{value:.2f}".translate(ARABIC),
    "full-width digits": lambda value: "".join(chr(ord(c) + 0xFEE0) for c in f"{value:.2f}"),
}
UNREAD: dict[str, Callable[[float], str]] = {
    "credit": lambda value: f"{value:.2f} CR",
    "another currency": lambda value: f"€{value:.2f}",
    "a bound": lambda value: f"<{value:.2f}",
    "top code": lambda value: f"{value:.0f}+",
    "percent": lambda value: f"{value:.2f}%",
    "hours": lambda value: f"{int(value) // 60}h {int(value) % 60}m",
    "place": lambda value: f"({value / 10:.3f}, -71.{int(value):03})",
}
EVERY = list(itertools.product((0.03, 0.08, 0.25, 0.6), (1, 3)))
"""Share of the cells in the notation, and rows that have one value."""


def drafted(
    cells: list[str], name: str = "amount", **facts: Any
) -> tuple[dict[str, Any], Hint]:
    column = Column(facts.pop("marks", Marks()))
    column.add(pa.array(cells))
    said = suggest.suggestion(name, column, **facts)
    return said.attribute, said.hint


def mixed(written: Callable[[float], str], *, share: float, repeated: int) -> list[str]:
    every = round(1 / share)
    values = [1 + 1.5 * (row // repeated) for row in range(ROWS)]
    return [
        written(value) if row % every == 0 else f"{value:.2f}"
        for row, value in enumerate(values)
    ]


@pytest.mark.parametrize("written", ONE_READING)
@pytest.mark.parametrize(("share", "repeated"), EVERY)
def test_a_notation_with_one_reading_is_read_and_nothing_is_asked(
    written: str, share: float, repeated: int
) -> None:
    cells = mixed(ONE_READING[written], share=share, repeated=repeated)
    attribute, hint = drafted(cells)
    assert (attribute["kind"], attribute.get("of")) == ("scale", "number")
    assert not hint.question
    assert attribute["missing"] is None


@pytest.mark.parametrize("written", UNREAD)
@pytest.mark.parametrize(("share", "repeated"), EVERY)
def test_a_notation_that_nothing_reads_is_asked_about(
    written: str, share: float, repeated: int
) -> None:
    column = Column(Marks())
    column.add(pa.array(mixed(UNREAD[written], share=share, repeated=repeated)))
    said = suggest.suggestion("amount", column)
    # How the numbers of a file are written is asked once for all columns.
    answers = said.hint.choices if said.numbers is None else said.numbers.readings
    assert said.hint.certainty == "open"
    assert 1 <= len(answers) <= 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(12.50)", "-12.50"),
        ("1.234-", "-1.234"),
        ("$ (12)", "-$12"),
        ("- 5", "-5"),
        ("\uff11\uff12", "12"),
    ]
    + [(same, same) for same in ("(d)", "–", "(1) yes", "12-14", "2021-01-02", "90+")],
)
def test_a_number_is_written_in_one_way(text: str, value: str) -> None:
    assert Marks().plain(pa.array([text])).to_pylist() == [value]


def test_what_is_declared_missing_stays_what_it_is() -> None:
    cells = pa.array(["–", "(7)", "(8)"])
    assert Marks().plain(cells, apart_from=["–", "(7)"]).to_pylist() == ["–", "(7)", "-8"]


@pytest.mark.parametrize("order", range(4))
def test_a_draft_does_not_depend_on_the_order_of_rows(order: int) -> None:
    columns = [
        mixed(UNREAD["credit"], share=0.25, repeated=3),
        mixed(ONE_READING["in brackets"], share=0.08, repeated=1),
        [f"{1 + row % 28:02}.{1 + row % 12:02}.{13 + row % 11:02}" for row in range(ROWS)],
        ["250.0", "250.00", "401.9"] * 100,
        ["2021-01-01", "2021-01-02 10:00", "2021-01-03"] * 100,
    ]
    for cells in columns:
        turned = [cells[(row * 7 + 131 * order) % len(cells)] for row in range(len(cells))]
        again = drafted(turned if order else cells)
        assert again[0] == drafted(cells)[0]
        assert again[1].to_json() == drafted(cells)[1].to_json()


# --- days ---------------------------------------------------------------------------------------------------
def days(style: str, *, first: int = 2_019, last: int = 2_023) -> list[str]:
    start = datetime.date(first, 1, 1)
    span = (datetime.date(last, 12, 31) - start).days
    return [
        (start + datetime.timedelta(days=(row * 37) % span)).strftime(style)
        for row in range(ROWS)
    ]


@pytest.mark.parametrize("style", ["%d%m%Y", "%Y年%m月%d日", "%Y/%m/%d", "%Y%m%d"])
def test_layouts_with_one_reading_are_days(style: str) -> None:
    attribute, hint = drafted(days(style), name="seen")
    assert (attribute.get("of"), attribute.get("format")) == ("date", style)
    assert not hint.question


def test_days_without_padding_lose_nothing() -> None:
    cells = [f"{2_019 + row % 4}/{1 + row % 12}/{1 + row % 28}" for row in range(ROWS)]
    attribute, hint = drafted(cells, name="seen")
    assert (attribute["format"], attribute["missing"], hint.question) == ("%Y/%m/%d", None, "")


@pytest.mark.parametrize("style", ["%y%m%d", "%Y%j", "%y.%m.%d"])
def test_layouts_with_a_rival_are_asked_and_are_among_the_answers(style: str) -> None:
    first, last = (2_013, 2_023)
    _, hint = drafted(days(style, first=first, last=last), name="seen")
    assert hint.question
    assert style in [(choice.facts or {}).get("format") for choice in hint.choices]


def test_births_are_never_in_the_future() -> None:
    attribute, hint = drafted(days("%d/%m/%y", first=1_930, last=1_968), name="born")
    assert not hint.question
    column = parse_attribute({key: value for key, value in attribute.items() if key != "why"})
    reader = column.lattice.reader(column)
    assert reader.parse("13/01/42") == datetime.date(1_942, 1, 13)


def test_births_of_two_centuries_are_asked() -> None:
    _, hint = drafted(days("%d/%m/%y", first=1_920, last=1_999), name="date_of_birth")
    lows = [(choice.facts or {})["low"] for choice in hint.choices]
    assert hint.question and "1900-01-01" in lows


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("5. März 2021", "%d. %B %Y"),
        ("05-Mrz-2021", "%d-%b-%Y"),
        ("5 MARS 2021", "%d %b %Y"),
        ("05.Mar.2021", "%d.%b.%Y"),
        ("5 de marzo de 2021", "%d de %B de %Y"),
        ("5. Ma\u0308rz 2021", "%d. %B %Y"),
        ("March 5, 2021", "%b %d, %Y"),
    ],
)
def test_names_of_months_are_read_in_several_languages(text: str, style: str) -> None:
    days = {"low": datetime.date(2020, 1, 1), "high": datetime.date(2030, 1, 1)}
    column = Date(name="day", format=style, **days)
    assert column.parse(text) == datetime.date(2021, 3, 5)
    assert column.parse(text.replace("2021", "2021 later")) is None


def test_a_name_that_two_months_have_is_none() -> None:
    assert month_names.directive("jui") == ""
    assert [month_names.directive(word) for word in ("Sept", "September")] == ["%b", "%B"]


def test_bounds_fix_the_century() -> None:
    day = Date(
        name="born",
        low=datetime.date(1_930, 1, 1),
        high=datetime.date(1_968, 12, 31),
        step_days=365,
        format="%d/%m/%y",
    )
    assert day.parse("13/01/42") == datetime.date(1_942, 1, 13)
    moment = DateTime(
        name="born",
        low=datetime.datetime(1_930, 1, 1),  # noqa: DTZ001  # clocks without a zone
        high=datetime.datetime(1_968, 12, 31),  # noqa: DTZ001
        unit="days",
        format="%d/%m/%y %H:%M",
    )
    assert str(moment.parse("13/01/42 10:00")) == "1942-01-13 10:00:00"
    assert moment.parse("29/02/00 10:00") is None  # 1900 had none


@pytest.mark.parametrize(
    "cells",
    [
        ["2021-10-31T02:30:00+02:00", "2021-10-31T02:30:00+01:00"],
        ["2021-10-31T02:30:00Z", "2021-10-31T02:30:00"],
    ],
)
def test_several_time_zones_are_asked(cells: list[str]) -> None:
    assert drafted(cells * 50, name="t")[1].question


def test_serial_days_of_spreadsheets_are_asked_by_the_name_of_the_column() -> None:
    cells = [str(43_831 + row) for row in range(ROWS)]
    assert drafted(cells, name="admission_date")[1].question
    assert not drafted(cells, name="meter")[1].question


# --- codes and markers --------------------------------------------------------------------------------------
@pytest.mark.parametrize("members", [[997, 998, 999], [998], [999], [996, 999]])
def test_families_of_codes_above_all_values_are_markers(members: list[int]) -> None:
    cells = [str(50 + row % 60) for row in range(ROWS)] + [str(code) for code in members] * 20
    assert drafted(cells, name="weight")[0]["missing"] == [str(code) for code in members]


@pytest.mark.parametrize("members", [[-1, -2, -7, -8, -9], [-99, -98, -97, -96]])
def test_families_of_codes_below_money_are_markers(members: list[int]) -> None:
    cells = [str(600 + 13 * (row % 60)) for row in range(ROWS)] + [
        str(code) for code in members
    ] * 20
    assert set(drafted(cells, name="income")[0]["missing"]) == {str(code) for code in members}


def test_degrees_below_zero_are_values() -> None:
    cells = [str(row % 30 - 9) for row in range(ROWS)]
    assert drafted(cells, name="celsius")[0]["missing"] is None


def test_an_outlier_is_no_code() -> None:
    values = pa.array(range(20)).to_numpy()
    assert (
        sentinels.of_numbers(pa.array([*values, 77]).to_numpy(), pa.array([5] * 21).to_numpy())
        is None
    )


@pytest.mark.parametrize("name", ["icd9", "ICD9_code", "zip", "naics"])
def test_decimals_that_the_name_calls_codes_are_codes(name: str) -> None:
    attribute, hint = drafted(["250.1", "401.9", "428.5"] * 100, name=name)
    assert attribute["kind"] in ("categorical", "weak")
    assert not hint.question


def test_two_spellings_of_one_number_are_asked() -> None:
    _, hint = drafted(["1.1", "1.10", "1.9"] * 100, name="release")
    assert [choice.key for choice in hint.choices] == ["codes", "number"]


def test_a_word_beside_few_numbers_is_asked_when_it_carries_a_share() -> None:
    cells = [str(1 + row % 12) for row in range(ROWS)] + ["K"] * 30
    _, hint = drafted(cells, name="grade")
    assert {choice.key for choice in hint.choices} == {"numbers", "categories"}
    assert not drafted([*cells[:ROWS], *["unknown"] * 30], name="grade")[1].question


def test_the_country_na_is_asked() -> None:
    attribute, hint = drafted(["NA", "IT", "DE", "FR"] * 60, name="country")
    assert hint.question
    assert (hint.choices[0].facts or {})["values"] == ["DE", "FR", "IT", "NA"]
    assert not drafted(["NA", "low", "high"] * 60, name="level")[1].question
    assert attribute["missing"] == ["NA"]


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_cells_with_several_items_are_asked(separator: str) -> None:
    kinds = [
        ["car"],
        ["bike"],
        ["car", "bike"],
        ["tv", "car"],
        ["tv", "bike"],
        ["tv", "car", "bike"],
    ]
    _, hint = drafted([separator.join(kinds[row % 6]) for row in range(ROWS)], name="owns")
    assert (hint.choices[0].facts or {})["items"] == ["bike", "car", "tv"]


@pytest.mark.parametrize(
    ("cells", "remarked"),
    [
        (["Rome", "ROME", "Bari"], True),
        (["Köln", "Ko\u0308ln"], True),
        (["KÃ¶ln", "Rome"], True),
        (["Rome", "Bari"], False),
    ],
)
def test_values_that_look_alike_get_a_remark(cells: list[str], remarked: bool) -> None:
    assert bool(drafted(cells * 100, name="town")[1].remarks) is remarked


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (["0-4", "5-9", "10-14", "65+"], "age_group"),
        (["yes", "Yes", "no", "NO"], "insured"),
        (["1.0", "0.0"], "black"),
    ],
)
def test_what_has_one_reading_is_not_asked(cells: list[str], name: str) -> None:
    attribute, hint = drafted(cells * 100, name=name)
    assert attribute["kind"] in ("categorical", "boolean")
    assert not hint.question


# --- files --------------------------------------------------------------------------------------------------
def test_titles_that_a_spreadsheet_padded_stand_above_the_table(tmp_path: Path) -> None:
    rows = "".join(f"Rome,{18 + row % 60},male\n" for row in range(50))
    path = tmp_path / "padded.csv"
    path.write_text(f"Report 2023,,\n,,\ntown,age,sex\n{rows}")
    form = readers.detect(path)
    assert form is not None
    assert (form.skip, "skip" in form.asked) == (2, True)
    assert ingest.read(path, dialect=replace(form, asked=())).columns == ("town", "age", "sex")


def test_lines_of_a_survey_program_below_the_names_are_refused(tmp_path: Path) -> None:
    head = 'a,b\n"How old?","Which?"\n"{""ImportId"":""1""}","{""ImportId"":""2""}"\n'
    path = tmp_path / "survey.csv"
    path.write_text(head + "18,0\n19,1\n" * 50)
    with pytest.raises(TableError, match="header_lines"):
        ingest.read(path)
