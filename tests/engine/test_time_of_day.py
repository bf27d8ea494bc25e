"""Times of day: read with and without seconds, cut into public bins, drawn on their steps."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine import codec, dictionaries
from synth_engine.domain import SCHEMA, Domain, Integer, parse_attribute
from synth_engine.domain.constraints import Order
from synth_engine.errors import DomainError
from synth_engine.kinds.time_of_day import Time

LATEST = 24 * 60 - 1
# Made once: `jsonschema.validate` checks the schema itself each time.
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def described(**facts: Any) -> Time:
    attribute = parse_attribute({"name": "left", "kind": "time", **facts})
    assert isinstance(attribute, Time)
    return attribute


def codes(attribute: Time, *texts: str | None) -> list[int]:
    found: list[int] = codec.encode_column(attribute, pa.array(texts, pa.string())).tolist()
    return found


@st.composite
def times(draw: st.DrawFn) -> Time:
    low, high = sorted(draw(st.tuples(*[st.integers(0, LATEST)] * 2)))
    return described(
        low=f"{low // 60:02}:{low % 60:02}",
        high=f"{high // 60:02}:{high % 60:02}",
        step=draw(st.integers(1, 700)),
        width=draw(st.none() | st.integers(1, 50)),
        format=draw(st.sampled_from(["HH:MM", "HH:MM:SS"])),
        missing=draw(st.sampled_from([None, ["", "NA"]])),
    )


@given(times(), st.integers(0, 2**32))
def test_what_is_drawn_of_each_code_is_read_as_that_code(attribute: Time, seed: int) -> None:
    every = np.repeat(np.arange(attribute.size), 5)
    rng = np.random.default_rng(seed)
    column = attribute.sample(every, rng)
    written = attribute.write(column)
    assert codes(attribute, *written) == every.tolist()
    scale = attribute.ladder()
    values = attribute.comparable(column)
    known = ~np.isnan(values)
    assert (scale.low[every[known]] <= values[known]).all()
    assert (values[known] <= scale.high[every[known]]).all()
    numbers = np.where(known, values, -np.inf)
    pd.testing.assert_series_equal(attribute.natural(numbers), column)


@given(times())
def test_a_description_survives_json_and_the_schema_admits_it(attribute: Time) -> None:
    domain = Domain(attributes=(attribute,))
    document = json.loads(json.dumps(domain.to_json()))
    VALIDATOR.validate(document)
    assert Domain.from_json(document) == domain


def test_seconds_are_left_out_and_times_between_steps_count_as_the_step_before() -> None:
    attribute = described(step=15, missing=["?"])
    assert attribute.size == 97
    assert codes(attribute, "08:30", "8:30", "08:30:59", "08:44:59.9", " 08:30 ") == [34] * 5
    assert codes(attribute, "00:00", "23:59:59", "?", None) == [0, 95, 96, 96]


@pytest.mark.parametrize(
    "text", ["24:00", "8", "08:60", "08:30 pm", "0830", "٠٨:٣٠", "08:30:60"]
)
def test_what_is_no_time_of_day_is_missing_or_the_lowest_code(text: str) -> None:
    assert codes(described(missing=[""]), text) == [32]
    assert codes(described(), text) == [0]


def test_times_beyond_the_bounds_go_to_the_nearest_end_or_to_missing() -> None:
    bounds = {"low": "06:00", "high": "22:00", "step": 60}
    assert codes(described(**bounds), "05:59", "22:01") == [0, 16]
    missing = described(**bounds, missing=[""], outside="missing")
    assert codes(missing, "05:59", "06:00", "22:00", "22:01") == [17, 0, 16, 17]


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"low": "09:00", "high": "08:00"}, "low is after high"),
        ({"low": "9 am"}, "low is not a time of day"),
        ({"step": 0}, "less than one"),
        ({"width": 0}, "less than one"),
        ({"format": "%H"}, "format is not HH:MM or HH:MM:SS"),
        ({"missing": ["00:00"]}, "a missing marker lies between low and high"),
    ],
)
def test_contradictions_are_refused(facts: dict[str, Any], rule: str) -> None:
    with pytest.raises(DomainError, match=rule):
        described(**facts)


def test_constraints_name_ranges_and_orders_of_times() -> None:
    day = {"kind": "time", "step": 60, "width": 6}
    document = {
        "attributes": [{"name": "left", **day}, {"name": "back", **day}],
        "constraints": [
            {"kind": "order", "first": "left", "second": "back"},
            {
                "kind": "impossible",
                "columns": {"left": [{"from": "18:00"}], "back": [{"to": "05:00"}]},
            },
        ],
    }
    domain = Domain.from_json(document)
    assert isinstance(domain.constraints[0], Order)
    assert Domain.from_json(domain.to_json()) == domain


@pytest.mark.parametrize("style", ["HH:MM", "HH:MM:SS"])
def test_a_table_schema_says_the_same(style: str) -> None:
    domain = Domain(attributes=(described(low="06:00", high="22:30", format=style),))
    schema = dictionaries.to_schema(domain)
    [field] = schema["fields"]
    assert field["type"] == "time"
    [again] = dictionaries.read(schema, kind="table-schema").attributes
    assert isinstance(again, Time)
    assert (again.low, again.high, again.format) == (
        domain.attributes[0].low,  # type: ignore[attr-defined]
        domain.attributes[0].high,  # type: ignore[attr-defined]
        style,
    )


def test_a_field_without_bounds_is_the_whole_day_and_odd_formats_stay_open() -> None:
    fields = [{"name": "a", "type": "time"}, {"name": "b", "type": "time", "format": "any"}]
    reading = dictionaries.read({"fields": fields}, kind="table-schema")
    [attribute] = reading.attributes
    assert isinstance(attribute, Time) and attribute.points == 24 * 60
    assert [remark.column for remark in reading.remarks] == ["b"]


@pytest.mark.parametrize(
    ("texts", "step", "style"),
    [
        (["08:00", "9:30"], 30, "HH:MM"),
        (["08:00", "09:07"], 1, "HH:MM"),
        (["08:00:00", "09:00:30"], 60, "HH:MM:SS"),
    ],
)
def test_times_are_suggested_over_the_whole_day(
    texts: list[str], step: int, style: str
) -> None:
    draft = Time.suggest(pa.array(texts))
    assert draft is not None
    assert (draft["step"], draft["format"]) == (step, style)
    assert (
        described(**{key: draft[key] for key in draft if key != "why"}).points == 1440 // step
    )
    assert Time.suggest(pa.array([*texts, "noon"])) is None


def test_no_other_kind_is_suggested_from_texts() -> None:
    assert Integer.suggest(pa.array(["1", "2"])) is None
