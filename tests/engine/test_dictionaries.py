"""Data dictionaries and Table Schemas: what they say becomes public facts, what they do not say stays
open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth_engine import dictionaries
from synth_engine.dictionaries import DictionaryContents
from synth_engine.domain import Attribute, Boolean, Categorical, Domain, Integer, Scale
from synth_engine.errors import DomainError
from tests.shared import needs

DICTIONARY: dict[str, Any] = {
    "SEX": {"description": "Sex", "values": {"1": "Male", "2": "Female"}},
    "AGEP": {"description": "Age", "values": {"min": 0, "max": 99}},
    "NOC": {"values": {"N": "N/A (no household)", "0": "None", "min": 1, "max": 19}},
    "POVPIP": {
        "values": {
            "N": "not applicable",
            "min": 0,
            "max": 500,
            "501": "above five times the line",
        }
    },
    "PINCP": {"values": {"N": "N/A", "min": -9000, "max": 1341000}},
    "DENSITY": {"values": {"min": 16.3, "max": 52864.7}},
    "INDP": {"description": "Industry", "details": "271 codes", "link": "somewhere"},
}


def read(document: dict[str, Any]) -> DictionaryContents:
    return dictionaries.read(document, kind=dictionaries.recognise(document))


def column(reading: DictionaryContents, name: str) -> Any:
    return Domain(attributes=reading.attributes).attribute(name)


def field(**given: Any) -> dict[str, Any]:
    return {"fields": [{"name": "it", **given}]}


# --- data dictionaries --------------------------------------------------------------------------------------
def test_every_fact_of_a_dictionary_comes_from_a_public_file() -> None:
    found = read(DICTIONARY)
    assert [a.name for a in found.attributes] == list(DICTIONARY)
    assert {origin for a in found.attributes for origin in a.facts.values()} == {"public-file"}
    Domain(attributes=found.attributes).require_confirmed()


def test_codes_are_categories_and_not_applicable_is_missing() -> None:
    found = read(
        DICTIONARY
        | {
            "MSP": {
                "values": {"N": "N/A (age less than 15)", "1": "Married", "6": "Not reported"}
            }
        }
    )
    assert column(found, "SEX").values == ("1", "2")
    assert column(found, "SEX").missing is None
    msp = column(found, "MSP")
    assert (msp.values, msp.missing, msp.outside) == (("1", "6"), ("N",), "missing")


def test_a_code_next_to_a_range_belongs_to_it() -> None:
    found = read(DICTIONARY)
    noc, poverty = column(found, "NOC"), column(found, "POVPIP")
    assert (noc.low, noc.high, noc.missing, noc.value_count) == (0, 19, ("N",), 20)
    assert (poverty.kind, poverty.low, poverty.high, poverty.missing) == (
        "scale",
        0,
        501,
        ("N",),
    )


def test_other_codes_beside_a_range_count_as_missing_and_that_is_told() -> None:
    found = read(
        {"age": {"values": {"min": 0, "max": 99, "999": "not stated", "T": "too old to say"}}}
    )
    assert column(found, "age").missing == ("999", "T")
    assert [(each.column, "count as missing" in each.rule) for each in found.remarks] == [
        ("age", True)
    ]


def test_a_column_without_values_is_left_out_and_that_is_told() -> None:
    found = read(DICTIONARY)
    assert column(found, "INDP").kind == "weak"
    assert [each.column for each in found.remarks] == ["INDP"]
    assert "does not say which values" in found.remarks[0].rule


@pytest.mark.parametrize(
    "values",
    [
        {"min": 1},
        {"1": 2},
        ["a"],
        {"min": 9, "max": 1},
        {"min": 0, "max": 9, "N": "N/A", "x": None},
    ],
)
def test_a_column_that_is_half_said_stays_open(values: Any) -> None:
    found = read(DICTIONARY | {"odd": {"values": values}})
    assert "odd" not in [a.name for a in found.attributes]
    assert [each.column for each in found.remarks] == ["INDP", "odd"]
    assert all(each.rule and each.repair for each in found.remarks)


def test_min_and_max_may_be_codes() -> None:
    assert column(
        read({"setting": {"values": {"min": "lowest", "max": "highest"}}}), "setting"
    ).values == (
        "min",
        "max",
    )


# --- ranges -------------------------------------------------------------------------------------------------
def test_where_the_values_of_a_wide_range_lie_is_learned() -> None:
    found = read(DICTIONARY)
    income, density = column(found, "PINCP"), column(found, "DENSITY")
    assert (income.kind, income.of, income.low, income.high) == (
        "scale",
        "integer",
        -9000,
        1_341_000,
    )
    assert (density.of, density.low, density.high) == ("number", 16.3, 52864.7)
    assert (column(found, "AGEP").kind, column(found, "AGEP").size) == ("integer", 100)


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 1, 1e-6), (16.3, 52864.7, 0.01), (0, 10**9, 1), (-0.00000005, 1, 1e-8)],
)
def test_the_step_of_a_number_is_a_power_of_ten(low: float, high: float, step: float) -> None:
    """The last decimal of the bounds, or a millionth of the range if that is finer."""
    found = read(field(type="number", constraints={"minimum": low, "maximum": high}))
    assert column(found, "it").step == step


@pytest.mark.parametrize("most", [10**400, "9" * 400, 1e308, -(10**400), 10**30])
@pytest.mark.parametrize("kind", ["integer", "number", "year"])
def test_a_range_beyond_all_measure_is_no_accident(kind: str, most: Any) -> None:
    """Whatever is made of it, it is made in words: the range is taken, or the field stays open with a
    repair."""
    ends = {"minimum": -1, "maximum": most}
    for document in (
        {"fields": [{"name": "income", "type": kind, "constraints": ends}]},
        {"income": {"values": {"min": -1, "max": most}}, "other": {"values": {"1": "One"}}},
    ):
        found = read(document)
        assert "income" in {attribute.name for attribute in found.attributes} | {
            r.column for r in found.remarks
        }
        assert all(remark.repair for remark in found.remarks)


# --- Table Schema, in ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"constraints": {"enum": ["a", "b"]}},
            Categorical(name="it", values=("a", "b"), missing=("",)),
        ),
        (
            {"type": "integer", "constraints": {"enum": [1, 2], "required": True}},
            Categorical(name="it", values=("1", "2"), outside="clamp"),
        ),
        (
            {
                "categories": [{"value": "lo", "label": "Low"}, "hi"],
                "categoriesOrdered": True,
                "missingValues": ["-"],
            },
            Categorical(name="it", values=("lo", "hi"), ordered=True, missing=("-",)),
        ),
        (
            {"constraints": {"enum": ["a", "(other)"], "required": True}},
            Categorical(name="it", values=("a",), other=True),
        ),
        (
            {"type": "integer", "constraints": {"minimum": 0, "maximum": "9"}},
            Integer(name="it", low=0, high=9, missing=("",)),
        ),
        (
            {
                "type": "integer",
                "constraints": {"exclusiveMinimum": 0, "exclusiveMaximum": 9, "required": True},
            },
            Integer(name="it", low=1, high=8),
        ),
        (
            {"type": "number", "constraints": {"minimum": 0.5, "maximum": 2, "required": True}},
            Scale(name="it", of="number", low=0.5, high=2.0, step=1e-6),
        ),
        (
            {"type": "boolean", "trueValues": ["Y"], "falseValues": ["N"]},
            Boolean(name="it", true="Y", false="N", missing=("",)),
        ),
        (
            {"constraints": {"pattern": "^[AB][12]$", "required": True}},
            Categorical(name="it", values=("A1", "A2", "B1", "B2"), outside="clamp"),
        ),
    ],
)
def test_fields_become_attributes(given: dict[str, Any], expected: Attribute) -> None:
    document = read(field(**given)).attributes[0].to_json()
    assert document == expected.to_json() | {"provenance": "public-file"}


def test_dates_are_read_as_the_schema_writes_them() -> None:
    ends = {"minimum": "01.02.1990", "maximum": "2020-12-31", "required": True}
    found = column(read(field(type="date", format="%d.%m.%Y", constraints=ends)), "it")
    assert (str(found.low), str(found.high), found.format) == (
        "1990-02-01",
        "2020-12-31",
        "%d.%m.%Y",
    )
    assert found.size <= 1_000
    moments = {"minimum": "2020-01-01T00:00:00Z", "maximum": "2020-12-31T23:59:59"}
    found = column(read(field(type="datetime", constraints=moments)), "it")
    assert (found.kind, found.low.year, found.size) == ("datetime", 2020, 33)


def test_a_pattern_of_many_texts_is_found_with_budget_and_that_is_told() -> None:
    found = read(field(constraints={"pattern": "^[A-Z]{2}[0-9]{4}$"}))
    assert (column(found, "it").kind, column(found, "it").values.size) == (
        "weak",
        26**2 * 10**4,
    )
    assert "6,760,000 texts: which of them occur is found with budget" in found.remarks[0].rule


def test_keys_are_identifiers() -> None:
    found = read(
        {
            "fields": [{"name": "id"}, {"name": "u", "type": "string", "format": "uuid"}],
            "primaryKey": "id",
        }
    )
    assert [a.kind for a in found.attributes] == ["identifier", "identifier"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"type": "integer"},
        {"type": "number", "constraints": {"minimum": 1}},
        {"type": "integer", "constraints": {"minimum": "x", "maximum": 2}},
        {"type": "integer", "constraints": {"minimum": 9, "maximum": 2}},
        {
            "type": "date",
            "format": "any",
            "constraints": {"minimum": "2020-01-01", "maximum": "2021-01-01"},
        },
        {"type": "date", "constraints": {"minimum": 3, "maximum": None}},
        {"type": "geopoint"},
        {"type": ["integer"]},
        {"constraints": {"enum": "abc"}},
        {"constraints": {"enum": []}},
        {"constraints": {"enum": ["a", "a"]}},
        {"constraints": {"enum": [["a"]]}},
        {"constraints": []},
        {"constraints": {"pattern": "a*"}},
        {"constraints": {"pattern": "["}},
        {"type": "boolean", "trueValues": [], "falseValues": ["n"]},
    ],
)
def test_a_field_that_says_too_little_stays_open(given: dict[str, Any]) -> None:
    found = read(field(**given))
    assert not found.attributes
    [remark] = found.remarks
    assert remark.column == "it"
    assert remark.rule
    assert remark.repair


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"fields": [3]},
        {"fields": [{"name": "a"}, {"name": "a"}]},
        {"fields": [{"name": "a"}], "missingValues": "NA"},
        {"resources": []},
        {"columns": ["a"]},
        {"AGEP": {"values": {"1": 1}}},
    ],
)
def test_a_document_of_no_kind_or_unsound_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(DomainError) as caught:
        read(document)
    assert caught.value.repair


def test_kinds_are_recognised() -> None:
    schema = field(constraints={"enum": ["a"]})
    assert dictionaries.recognise(schema) == "table-schema"
    assert dictionaries.recognise({"name": "t", "schema": schema}) == "table-schema"
    assert dictionaries.recognise({"resources": [{"schema": schema}]}) == "table-schema"
    assert read({"resources": [{"schema": schema}]}).attributes == read(schema).attributes
    assert dictionaries.recognise(DICTIONARY) == "data-dictionary"
    assert dictionaries.recognise({"age": 85}) == "domain"
    assert dictionaries.recognise({"attributes": []}) == "domain"


# --- out, and in again --------------------------------------------------------------------------------------
FULL = Domain.from_json(
    {
        "attributes": [
            {
                "name": "sector",
                "kind": "categorical",
                "values": ["b", "a"],
                "other": True,
                "missing": ["?", ""],
            },
            {
                "name": "grade",
                "kind": "categorical",
                "values": ["1", "2"],
                "ordered": True,
                "outside": "clamp",
            },
            {"name": "age", "kind": "integer", "low": 0, "high": 50},
            {
                "name": "height",
                "kind": "scale",
                "of": "number",
                "low": 0.5,
                "high": 2.5,
                "step": 1e-6,
                "missing": [""],
            },
            {"name": "works", "kind": "boolean", "true": "j", "false": "n"},
            {
                "name": "born",
                "kind": "date",
                "low": "1990-01-01",
                "high": "1990-12-31",
                "format": "%d.%m.%Y",
            },
            {
                "name": "seen",
                "kind": "datetime",
                "low": "2024-01-01",
                "high": "2024-01-02",
                "unit": "seconds",
            },
            {"name": "key", "kind": "identifier", "regenerate": "uuid"},
            {"name": "name", "kind": "identifier"},
        ]
    }
)


def test_what_is_open_goes_out_as_wide_as_it_is_declared() -> None:
    weak = {"name": "job", "kind": "weak", "values": {"set": "known", "name": "currencies"}}
    wide = {
        "name": "born",
        "kind": "range",
        "of": "date",
        "low": "1900-01-01",
        "high": "2030-01-01",
    }
    pay = {"name": "pay", "kind": "range", "of": "integer", "low": 0, "high": 10**9}
    schema = dictionaries.to_schema(Domain.from_json({"attributes": [weak, wide, pay]}))
    assert schema["fields"] == [
        {"name": "job", "type": "string", "constraints": {"required": True}},
        {
            "name": "born",
            "type": "date",
            "constraints": {"required": True, "minimum": "1900-01-01", "maximum": "2030-01-01"},
        },
        {
            "name": "pay",
            "type": "integer",
            "constraints": {"required": True, "minimum": 0, "maximum": 10**9},
        },
    ]


def test_a_description_survives_the_way_out_and_in_but_for_what_is_left_out() -> None:
    schema = json.loads(json.dumps(dictionaries.to_schema(FULL)))
    again = read(schema)
    assert not again.remarks
    described = {a.name: a.to_json() | {"provenance": "declared"} for a in again.attributes}
    assert described == {a.name: a.to_json() for a in FULL.attributes if a.name != "name"}


@pytest.mark.shared_data
def test_the_dictionary_of_the_excerpts_describes_all_but_industry_codes() -> None:
    document = json.loads(needs("data/nist_acs/data_dictionary.json").read_text())
    found = read(document)
    assert [each.column for each in found.remarks] == ["INDP"]
    assert len(found.attributes) == len(document) == 24
    sizes = Domain(attributes=found.attributes).sizes
    assert (sizes["PUMA"], sizes["AGEP"], sizes["MSP"], sizes["NOC"], sizes["NPF"]) == (
        31,
        100,
        7,
        21,
        20,
    )
    assert max(sizes.values()) == 100
    kinds = {a.name: a.kind for a in found.attributes}
    assert [name for name, kind in kinds.items() if kind == "scale"] == [
        "DENSITY",
        "PINCP",
        "POVPIP",
        "WGTP",
        "PWGTP",
    ]
