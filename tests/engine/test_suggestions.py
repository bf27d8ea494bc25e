"""Suggestions for the columns of real files: dirty numbers, dates, codes, markers, sentinels and free
text."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import pipeline
from synth_engine.domain import parse_attribute
from synth_engine.errors import TableError
from synth_engine.formats import Dialect, Marks
from synth_engine.steward import ingest, suggest, summary
from synth_engine.steward.ingest import Reading
from synth_engine.steward.summary import Column


def read(
    tmp_path: Path, columns: dict[str, list[str]], *, delimiter: str = ",", **form: Any
) -> Reading:
    """A file with these columns, read as the application reads it: the form is guessed, and open facts are
    taken as guessed."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path = tmp_path / "table.csv"
    path.write_text(buffer.getvalue())
    guessed = pipeline.detect(path)
    assert guessed is not None
    reading = ingest.read(
        path, kind="csv", dialect=replace(guessed, asked=(), header=True, **form)
    )
    for draft in reading.suggestions:  # every draft can be described
        parse_attribute(draft)
    for name, hint in reading.hints.items():
        drafts = [
            {"name": name, **choice["facts"]} for choice in hint["choices"] if "facts" in choice
        ]
        for draft in drafts:  # and so can everything else that a column could be
            parse_attribute(draft)
    return reading


def one(
    tmp_path: Path, values: list[str], *, name: str = "x", **form: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The suggestion for one column, and its hint."""
    reading = read(tmp_path, {name: values, "y": ["a"] * len(values)}, **form)
    return reading.suggestions[0], reading.hints[name]


# --- numbers ------------------------------------------------------------------------------------------------
NUMBERS: dict[str, tuple[list[str], str, Marks, dict[str, Any]]] = {
    "thousands beside lone zeros": (["0", "2,385,000", "0", "950,000", "7"], ",", Marks(thousands=","),
        {"kind": "scale", "of": "integer"}),
    "points between thousands": (["1.096.300", "12", "2.385.000"], ";", Marks(decimal=",", thousands="."),
        {"kind": "scale", "of": "integer"}),
    "thousands and decimals": (["1.096,50", "12,25"], ";", Marks(decimal=",", thousands="."),
        {"kind": "scale", "of": "number", "step": 0.01}),
    "spaces between thousands": (["1 234,5", "12,5"], ";", Marks(decimal=",", thousands=" "),
        {"kind": "scale", "of": "number"}),
    "apostrophes": (["1'234.5", "7"], ",", Marks(thousands="'"), {"kind": "scale", "of": "number"}),
    "dollars": (["$1,200.50", "$3.10", "$0.00", "$2,100,000.00"], ",", Marks(thousands=",", units=("$",)),
        {"kind": "scale", "of": "number"}),
    "negative dollars": (["-$5.00", "$3.10"], ",", Marks(units=("$",)),
        {"kind": "scale", "of": "number", "step": 0.1}),
    "percent": (["12 %", "7%", "100 %"], ",", Marks(units=("%",)), {"kind": "scale", "of": "integer"}),
    "euros behind decimal commas": (["1.200,50 €", "3,10 €"], ";",
        Marks(decimal=",", thousands=".", units=("€",)), {"kind": "scale", "of": "number"}),
    "a dash for missing": (["1,200", "-", "2,385,000"], ",", Marks(thousands=","),
        {"kind": "scale", "missing": ["-"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_can_be_read_in_one_way_alone_are_read_so(
    tmp_path: Path, name: str
) -> None:
    values, delimiter, marks, expected = NUMBERS[name]
    reading = read(tmp_path, {"x": values, "y": ["a"] * len(values)}, delimiter=delimiter)
    assert reading.dialect is not None
    assert reading.dialect.marks == marks
    draft = reading.suggestions[0]
    assert {key: draft[key] for key in expected} == expected
    assert reading.questions == []


def test_a_column_with_decimal_points_decides_what_a_comma_is_elsewhere(tmp_path: Path) -> None:
    reading = read(tmp_path, {"a": ["1,096", "2,385"], "b": ["1.5", "2.25"]})
    assert reading.dialect is not None
    assert reading.dialect.thousands == ","
    assert [each["of"] for each in reading.suggestions] == ["integer", "number"]


@pytest.mark.parametrize("values", [["1,096", "2,385"], ["1,096", "0", "12"]])
def test_a_comma_that_may_be_either_is_asked_with_cells_of_the_table(
    tmp_path: Path, values: list[str]
) -> None:
    reading = read(tmp_path, {"x": values, "y": ["a"] * len(values)})
    [question] = reading.questions
    assert (question["key"], question["columns"]) == ("marks", ["x"])
    forms = [choice["form"] for choice in question["choices"]]
    assert [(form["decimal"], form["thousands"]) for form in forms] == [(",", ""), (".", ",")]
    assert [choice["label"].split(" (")[0] for choice in question["choices"]] == [
        "“1,096” is 1.096",
        "“1,096” is 1096",
    ]
    assert (reading.hints["x"]["certainty"], reading.hints["x"]["question"]) == (
        "open",
        ingest.ASKED_OF_FILE,
    )
    assert "%" not in question["text"] + "".join(
        choice["label"] for choice in question["choices"]
    )


def test_what_a_steward_answers_is_read_so(tmp_path: Path) -> None:
    values = ["1,096", "0", "12"]
    [question] = read(tmp_path, {"x": values, "y": ["a"] * 3}).questions
    for choice, kind in zip(question["choices"], ("number", "integer"), strict=True):
        answered = read(
            tmp_path,
            {"x": values, "y": ["a"] * 3},
            **{**choice["form"], "units": tuple(choice["form"]["units"])},
        )
        assert (answered.suggestions[0]["of"], answered.questions) == (kind, [])


def test_one_convincing_cell_late_in_the_file_is_enough_to_ask(tmp_path: Path) -> None:
    values = [str(i % 90) for i in range(30_000)] + ["1,096,000"]
    reading = read(tmp_path, {"x": values, "y": ["a"] * len(values)})
    [question] = reading.questions
    [choice] = question["choices"]
    assert choice["form"]["thousands"] == ","
    assert "“1,096,000” is 1096000" in choice["label"]


@pytest.mark.parametrize(
    ("other", "decimals"),
    [
        (["1,5 kg", "2,25 kg"], [","]),
        (["5 kg", "7 kg"], [",", "."]),
        (["1.5 kg", "2.25 kg"], ["."]),
    ],
)
def test_marks_suit_all_columns_that_a_question_is_about(
    tmp_path: Path, other: list[str], decimals: list[str]
) -> None:
    reading = read(tmp_path, {"a": ["1,096 kg", "2,385 kg"], "b": other})
    [question] = reading.questions
    forms = [choice["form"] for choice in question["choices"]]
    assert sorted(form["decimal"] for form in forms) == decimals
    for form in forms:
        answered = read(
            tmp_path, {"a": ["1,096 kg", "2,385 kg"], "b": other}, **{**form, "units": ("kg",)}
        )
        assert answered.questions == []


def test_an_answer_says_which_other_columns_it_would_lose(tmp_path: Path) -> None:
    columns = {"a": ["5,5 kg", "7,25 kg"], "b": ["1.5", "2.25"], "c": ["1", "2"]}
    [question] = read(tmp_path, columns).questions
    [choice] = question["choices"]
    assert choice["label"].endswith("; then the numbers of b cannot be read")
    [question] = read(tmp_path, {"a": columns["a"], "c": columns["c"]}).questions
    assert "cannot be read" not in question["choices"][0]["label"]


def test_units_are_asked_once_for_all_columns(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        {
            "a": ["5 kg", "7 kg", "0"],
            "b": ["12cm", "9cm", "4cm"],
            "c": ["5a", "7b", "9c"],
            "d": ["$5", "$6", "$7"],
        },
    )
    [question] = reading.questions
    assert question["columns"] == ["a", "b"]
    [choice] = question["choices"]
    assert choice["form"]["units"] == ["$", "cm", "kg"]
    answered = read(
        tmp_path,
        {"a": ["5 kg", "7 kg", "0"], "b": ["12cm", "9cm", "4cm"]},
        units=tuple(choice["form"]["units"]),
    )
    assert [each["kind"] for each in answered.suggestions] == ["scale", "scale"]


@pytest.mark.parametrize(
    "values",
    [
        ["089 123 456", "040 654 321"],
        ["612 345 678", "698 123 456", "677 000 111"],
        ["10.123.234", "127.100.001x"],
        ["12 Main", "14 Main"],
        ["A12", "A13"],
    ],
)
def test_digits_that_are_no_numbers_raise_no_question(
    tmp_path: Path, values: list[str]
) -> None:
    reading = read(tmp_path, {"x": values, "y": ["a"] * len(values)}, delimiter=";")
    assert reading.questions == []
    assert reading.suggestions[0]["kind"] in ("weak", "identifier")


@pytest.mark.parametrize("unit", ["", " ", "5", "1kg", "+", "-", ",", ".", "e", "x" * 13, "'"])
def test_a_unit_that_is_part_of_a_number_is_refused(unit: str) -> None:
    with pytest.raises(TableError, match="a unit around numbers"):
        Dialect(units=(unit,))


def test_units_are_left_out_of_numbers_alone() -> None:
    marks = Marks(decimal=",", thousands=".", units=("€", "kg"))
    texts = [
        "1.200,50 €",
        "€ 3",
        "-€3",
        "5kg",
        "kg",
        "€",
        "5 kg €",
        "12 Euro",
        "",
        "€5€",
        "1.5",
        None,
    ]
    plain = marks.plain(pa.array(texts)).to_pylist()
    assert plain[:4] == ["1200.50", "3", "-3", "5"]
    assert plain[4:6] == ["kg", "€"]
    assert plain[7] == "12 Euro"
    assert plain[10] == "\ufffd"
    kept = marks.plain(pa.array(["5kg", "6kg"]), apart_from=["5kg"]).to_pylist()
    assert kept == ["5kg", "6"]


def test_a_form_without_units_is_stored_as_before() -> None:
    assert "units" not in Dialect().to_json()
    with_units = Dialect(units=("$",))
    assert Dialect.from_json(with_units.to_json()) == with_units


# --- dates --------------------------------------------------------------------------------------------------
DATES: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "month first, two digits": (["2/9/21", "2/13/21", "3/14/21", "4/30/21"],
        {"kind": "scale", "of": "date", "format": "%m/%d/%y"}, "sure"),
    "one deciding cell": (["2/9/21", "13/2/21"], {"kind": "scale", "of": "date", "format": "%d/%m/%y"},
        "probable"),
    "beside a dash": (["2/9/21", "2/13/21", "-", "3/14/21", "4/30/21"],
        {"kind": "scale", "of": "date", "format": "%m/%d/%y", "missing": ["-"]}, "probable"),
    "beside a day that is none": (["2021-02-09", "2021-12-30", "0000-00-00"],
        {"kind": "scale", "of": "date", "missing": ["0000-00-00"]}, "probable"),
    "points": (["09.02.2021", "28.02.2021", "13.01.2020", "14.12.1999"],
        {"kind": "scale", "of": "date", "format": "%d.%m.%Y"}, "sure"),
    "two digits of the last century": (["9/2/69", "28/2/78"], {"of": "date", "format": "%d/%m/%y"},
        "probable"),
    "the year first": (["2021/02/09", "2021/12/30"], {"kind": "scale", "of": "date", "format": "%Y/%m/%d"},
        "sure"),
    "the same day either way": (["3/3/2021", "4/4/2021"], {"kind": "scale", "of": "date"}, "probable"),
    "names of months": (["9-Feb-21", "28-Dec-20"], {"kind": "scale", "of": "date", "format": "%d-%b-%y"},
        "sure"),
    "long names of months": (["February 9, 2021", "May 28, 2020"],
        {"kind": "scale", "of": "date", "format": "%B %d, %Y"}, "sure"),
    "a midnight behind each": (["02/09/2021 12:00:00 AM", "02/19/2021 12:00:00 AM"],
        {"kind": "scale", "of": "date", "format": "%m/%d/%Y %I:%M:%S %p"}, "probable"),
    "clocks": (["19.02.2021 14:05", "09.02.2021 00:30"],
        {"kind": "scale", "of": "datetime", "format": "%d.%m.%Y %H:%M", "step": 60}, "probable"),
    "eight digits": (["20210209", "20210228", "20201231", "20210101", "20210102"],
        {"kind": "scale", "of": "date", "format": "%Y%m%d"}, "probable"),
}  # fmt: skip


@pytest.mark.parametrize("name", DATES)
def test_dates_that_can_be_read_in_one_way_alone_are_suggested(
    tmp_path: Path, name: str
) -> None:
    values, expected, certainty = DATES[name]
    draft, hint = one(tmp_path, values)
    assert {key: draft[key] for key in expected} == expected
    assert (hint["certainty"], hint["question"]) == (certainty, "")
    attribute = parse_attribute(draft)
    codes = attribute.encode(
        [value for value in values if value not in (draft["missing"] or ())]
    )
    assert attribute.missing_code not in codes  # every cell is read by the suggested format


@pytest.mark.parametrize("odd", [[], ["-"], ["", "N/A"]])
def test_days_and_months_that_nothing_decides_are_one_question_with_cells_as_its_choices(
    tmp_path: Path, odd: list[str]
) -> None:
    draft, hint = one(tmp_path, ["3/3/21", "2/9/21", "5/10/21", *odd])
    assert draft["kind"] == "weak"
    assert hint["certainty"] == "open"
    assert hint["question"]
    labels = {choice["key"]: choice["label"] for choice in hint["choices"]}
    assert labels == {
        "day-first": "“2/9/21” is 2 September 2021",
        "month-first": "“2/9/21” is 9 February 2021",
    }
    facts = {choice["key"]: choice["facts"] for choice in hint["choices"]}
    assert (facts["day-first"]["format"], facts["month-first"]["format"]) == (
        "%d/%m/%y",
        "%m/%d/%y",
    )
    assert facts["day-first"]["missing"] == (odd or None)


def test_a_long_column_that_waits_for_an_answer_is_no_list_of_its_values(
    tmp_path: Path,
) -> None:
    values = [
        f"{month}/{day}/{year}"
        for year in range(10, 22)
        for month in range(1, 13)
        for day in range(1, 13)
    ]
    draft, hint = one(tmp_path, values)
    assert draft["kind"] == "identifier"
    assert len(hint["choices"]) == 2


def test_days_of_both_orders_say_how_many_cells_each_loses(tmp_path: Path) -> None:
    draft, hint = one(tmp_path, ["25/04/2021", *["01/05/2021"] * 7, "05/26/2021", "05/27/2021"])
    assert draft["kind"] == "weak"
    labels = {choice["key"]: choice["label"] for choice in hint["choices"]}
    assert "20 of 100 cells" in labels["day-first"]
    assert "10 of 100 cells" in labels["month-first"]


def test_many_dates_with_clocks_are_judged_by_some_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", 50)
    monkeypatch.setattr(summary, "MIN_DISTINCT_TEXTS", 50)
    values = [
        f"{i % 28 + 1:02}/{i % 12 + 1:02}/2021 {i % 24:02}:{i % 60:02}" for i in range(500)
    ]
    draft, _ = one(tmp_path, values)
    assert (draft["kind"], draft["format"]) == ("scale", "%d/%m/%Y %H:%M")


# --- markers and sentinels ----------------------------------------------------------------------------------
def test_markers_among_numbers_make_no_categories(tmp_path: Path) -> None:
    values = [str(1_000 * i) for i in range(1, 40)] + ["N", "N/A", ".", "", "-"]
    draft, hint = one(tmp_path, values)
    assert (draft["kind"], hint["certainty"]) == ("scale", "probable")
    assert set(draft["missing"]) == {"N/A", ".", "", "-"}
    assert draft["outside"] == "missing" if "outside" in draft else True
    assert hint["choices"] == []  # no list of single numbers
    draft, hint = one(tmp_path, (["1", "2", "3", "4"] * 5 + ["-"]) * 20)
    assert {choice["key"] for choice in hint["choices"]} == {"categories"}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "odd", [["12 (estimated)"], ["c1", "see note 5", "<5"], [f"about {i}" for i in range(12)]]
)
def test_a_few_cells_that_are_no_markers_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: list[str], wide: bool
) -> None:
    if wide:
        monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", 50)
        monkeypatch.setattr(summary, "MIN_DISTINCT_TEXTS", 50)
    values = [str(37 * i) for i in range(400)]
    draft, hint = one(tmp_path, [*values, *odd])
    assert draft["kind"] == "identifier"
    assert (hint["certainty"], hint["question"] != "") == ("open", True)
    [choice] = hint["choices"]
    attribute = parse_attribute({"name": "x", **choice["facts"]})
    assert attribute.outside == "missing"
    assert attribute.missing == ("",)  # a text of few rows is never part of a description


def test_a_letter_beside_few_numbers_is_a_code(tmp_path: Path) -> None:
    draft, _ = one(tmp_path, ["1", "2", "3", "N"] * 20)
    assert (draft["kind"], draft["values"]) == ("categorical", ["1", "2", "3", "N"])


def test_markers_among_many_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", 50)
    monkeypatch.setattr(summary, "MIN_DISTINCT_TEXTS", 50)
    values = [str(7 * i % 90_001) for i in range(5_000)] + ["N"] * 20 + [" - "]
    draft, _ = one(tmp_path, values)
    assert (draft["kind"], set(draft["missing"])) == ("scale", {"N", " - "})


@pytest.mark.parametrize("most", [20_000, 5])
def test_a_word_of_few_rows_is_no_marker_but_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(summary, "MAX_DISTINCT_TEXTS", most)
    monkeypatch.setattr(summary, "MIN_DISTINCT_TEXTS", most)
    values = [str(37 * i) for i in range(400)]
    draft, _ = one(tmp_path, [*values, "Andersson"])
    assert (draft["kind"], draft["missing"]) == ("scale", [""])
    assert parse_attribute(draft).outside == "missing"
    assert "Andersson" not in str(draft)
    assert one(tmp_path, [*values, *["Refus"] * 20])[0]["missing"] == ["Refus"]


def test_padded_numbers_are_numbers(tmp_path: Path) -> None:
    draft, _ = one(tmp_path, [" 5 ", "12", " -  ", "7"])
    assert (draft["kind"], draft["missing"]) == ("scale", [" -  "])


AGES = [str(age) for age in range(91)]
SENTINELS: dict[str, tuple[list[str], list[str] | None, dict[str, Any]]] = {
    "999 above ages": ([*AGES, "999", "999"], ["999"], {"kind": "scale", "of": "integer"}),
    "998 and 999": ([*AGES, "998", "999"], ["998", "999"], {"kind": "scale", "of": "integer"}),
    "-1 below counts": (["-1"] * 50 + AGES, ["-1"], {"kind": "scale", "of": "integer"}),
    "-1 beside empty cells stays a value": (["-1"] * 50 + AGES + [""], [""],
        {"kind": "scale", "of": "integer"}),
    "negative values": ([str(value) for value in range(-20, 20)], None, {"kind": "scale", "of": "integer"}),
    "99 among ages": ([*AGES, "99"], None, {"kind": "scale", "of": "integer"}),
    "9999 among amounts": ([str(700 * i) for i in range(20)] + ["9999"], None, {}),
    "0 among years": (["0", *(str(year) for year in range(1950, 2020))], ["0"],
        {"kind": "scale", "of": "integer"}),
    "0 among amounts": (["0", *(str(1_600 + 50 * i) for i in range(40))], None, {"kind": "scale"}),
    "the last day": (["9999-12-31", *(f"201{i}-05-01" for i in range(8))], ["9999-12-31"],
        {"kind": "scale", "of": "date"}),
    "the first day": (["1900-01-01", *(f"201{i}-05-01" for i in range(8))], ["1900-01-01"],
        {"kind": "scale", "of": "date"}),
    "old days": (["1900-01-01", *(f"190{i}-05-01" for i in range(8))], None, {"kind": "scale", "of": "date"}),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTINELS)
def test_values_that_stand_for_none_are_markers(tmp_path: Path, name: str) -> None:
    values, missing, expected = SENTINELS[name]
    draft, hint = one(tmp_path, values)
    assert {key: draft[key] for key in expected} == expected
    assert draft["missing"] == missing
    if missing and missing != [""] and draft.get("of") == "integer":
        assert hint["certainty"] == "probable"
        [choice] = hint["choices"]
        assert choice["key"] == "value"
        assert not set(missing) & set(choice["facts"]["missing"] or ())
    if name.startswith("-1 beside"):
        [choice] = hint["choices"]
        assert (choice["key"], choice["facts"]["missing"]) == ("marker", ["", "-1"])


# --- codes, keys, free text, constants ----------------------------------------------------------------------
ZIPS = ["10001", "10002", "10003", "10009", "10282", "10463"]
CODES: dict[str, tuple[str, list[str], str]] = {
    "postal codes": ("ZIP CODE", ZIPS * 20, "categorical"),
    "postal codes of few rows": ("ZIP CODE", ZIPS * 5, "weak"),
    "postal codes by their digits": ("area", [code for code in ZIPS for _ in range(20)], "categorical"),
    "German postal codes": ("PLZ", ["80331", "01067", "10115"] * 20, "categorical"),
    "round salaries": ("salary", [str(value) for value in (30_000, 35_000, 60_000, 90_000)] * 10, "scale"),
    "salaries of five digits": ("salary", [str(30_000 + 17 * i) for i in range(500)], "scale"),
    "years": ("year", [str(year) for year in range(1990, 2020)] * 10, "scale"),
    "telephone numbers": ("phone", [str(2_000_000_000 + 7_919 * i) for i in range(50)], "identifier"),
    "telephone numbers with signs": ("contact", [f"0{300 + i}/{400_000 + 31 * i}" for i in range(50)],
        "identifier"),
    "keys": ("order", [str(1_000_000_000 + 7_919_333 * i) for i in range(150)], "identifier"),
    "keys by their name": ("customer_id", [str(7 * i * i) for i in range(150)], "identifier"),
    "amounts of different lengths": ("amount", [str(7 * i * i) for i in range(150)], "scale"),
    "industry codes": ("naics", ["11", "21", "31"] * 20, "categorical"),
    "a clock": ("at", ["14:05", "00:30", "23:59"], "time"),
}  # fmt: skip


@pytest.mark.parametrize("case", CODES)
def test_codes_are_no_numbers(tmp_path: Path, case: str) -> None:
    name, values, kind = CODES[case]
    draft, hint = one(tmp_path, values, name=name)
    assert draft["kind"] == kind
    if (
        kind in ("categorical", "identifier")
        and values[0].isdigit()
        and len({*map(len, values)}) == 1
        and "01067" not in values
    ):
        assert [choice["facts"]["kind"] for choice in hint["choices"]] == ["scale"]
        assert hint["certainty"] == "probable"


def test_free_text_is_never_a_list_of_its_values(tmp_path: Path) -> None:
    remarks = [f"the patient {i % 61} was seen again with pain {i % 7}" for i in range(600)]
    draft, hint = one(tmp_path, remarks)
    assert (draft["kind"], hint["certainty"]) == ("identifier", "probable")
    assert "free text" in draft["why"]
    [choice] = hint["choices"]
    assert choice["facts"]["kind"] == "text"
    assert not any(remark in str(reading) for remark in remarks for reading in (draft, hint))


def test_long_labels_that_repeat_are_categories(tmp_path: Path) -> None:
    labels = [f"Occupation number {i} of the long official list" for i in range(30)]
    assert one(tmp_path, labels * 20)[0]["kind"] == "categorical"


def test_texts_that_mostly_occur_once_are_no_list(tmp_path: Path) -> None:
    flats = [f"{i}B" for i in range(400)] + ["2B"] * 30
    draft, _ = one(tmp_path, flats)
    assert draft["kind"] == "identifier"


def test_unique_and_constant_columns_say_so(tmp_path: Path) -> None:
    names, _ = one(tmp_path, [f"name {i}" for i in range(200)])
    assert names["why"].startswith("No two rows share a value")
    constant, hint = one(tmp_path, ["1"] * 20)
    assert constant["why"].startswith("Every cell is the same")
    assert [choice["facts"]["kind"] for choice in hint["choices"]] == ["identifier"]
    beside_missing, hint = one(tmp_path, ["1"] * 20 + [""])
    assert not beside_missing["why"].startswith("Every cell is the same")
    assert hint["choices"] == []


# --- a second header line -----------------------------------------------------------------------------------
def test_a_line_of_units_below_the_header_is_asked(tmp_path: Path) -> None:
    columns = {
        "name": ["", "a", "b", "a"],
        "height": ["cm", "180", "170", "165"],
        "weight": ["kg", "80", "70", "65"],
    }
    reading = read(tmp_path, columns)
    [question] = reading.questions
    assert (question["key"], question["columns"]) == ("header-lines", ["height", "weight"])
    assert question["choices"][0]["form"] == {"header_lines": 2}
    joined = read(tmp_path, columns, header_lines=2)
    assert joined.columns == ("name", "height cm", "weight kg")
    assert joined.questions == []


@pytest.mark.parametrize(
    "columns",
    [
        {"height": ["N", "180", "170", "165"], "weight": ["80", "70", "65", "60"]},
        {"height": ["", "180", "170", "165"], "weight": ["-", "80", "70", "65"]},
        {"town": ["cm", "Rome", "Oslo", "Bonn"], "land": ["kg", "it", "no", "de"]},
    ],
)
def test_a_first_record_like_the_others_is_not_asked_about(
    tmp_path: Path, columns: dict[str, list[str]]
) -> None:
    assert read(tmp_path, columns).questions == []


# --- any cells whatever -------------------------------------------------------------------------------------
ODD_CELLS = (
    *("", "0", "-1", "999", "2,385,000", "1,096", "1.096", "1.096,50", "1'000", "1 000", "$5", "12 %", "5 kg",
        "7kg", "-", "."),
    *("N", " - ", "2/9/21", "13/2/21", "2/13/21", "02.09.2021", "2021-02-09", "9999-12-31", "0000-00-00",
        "2021-02-30", "31/12/9999"),
    *("1/1/0001", "99/99/99", "20210209", "20211399", "14:05", "25:61", "2/9/2021 12:00:00 AM",
        "2/9/2021 13:00 PM", "31-Feb-21"),
    *("Feb 9, 2021", "x" * 150, "10001", "02139", "１２", "١", "0x10", "1e400", "nan", "inf", "1" * 16, "--5",
        "\u00a05", "\t5", ",5"),
    *("1..5", "€", "k", "\ufffd", "\u202f000", "1/2/345", "1/2-2021", "00/00/0000", "1900-01-01", "1,23,456",
        "a,b", "'"),
)  # fmt: skip
CELLS = st.sampled_from(ODD_CELLS) | st.text("0123456789.,/-: $€%kgamPN", max_size=12)


@given(
    st.lists(CELLS, min_size=1, max_size=30),
    st.sampled_from(["x", "zip", "phone", "id", "Sale Price"]),
    st.sampled_from(
        [Marks(), Marks(decimal=",", thousands="."), Marks(thousands=",", units=("$",))]
    ),
    st.sampled_from([1, 5, 20_000]),
)
@settings(deadline=None, max_examples=150)
def test_whatever_the_cells_are_there_is_a_suggestion_that_can_be_described(
    cells: list[str], name: str, marks: Marks, most: int
) -> None:
    column = Column(marks)
    column._most = most
    column.add(pa.array(cells, type=pa.string()))
    column.add(pa.array(cells[::-1], type=pa.string()))
    suggested = suggest.suggestion(name, column)
    parse_attribute(suggested.attribute)
    for choice in suggested.hint.choices:
        if choice.facts is not None:
            parse_attribute({"name": name, **choice.facts})
