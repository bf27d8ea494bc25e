"""Ranges that are public by the name of a column, and never fitted to values."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from synth_engine.domain import parse_attribute, public_ranges
from synth_engine.formats import Marks
from synth_engine.steward import suggest
from synth_engine.steward.summary import Column

KNOWN = {
    "age": "age", "Patient Age": "age", "age_at_diagnosis": "age", "Alter": "age", "âge": "age", "età": "age",
    "idade": "age", "leeftijd": "age", "ålder": "age", "edad": "age", "attendance_pct": "percent",
    "Prozent": "percent", "quote %": "percent", "Latitude": "latitude", "pickup_lon": "longitude",
    "Längengrad": "longitude", "month": "month", "Monat": "month", "mês": "month", "maand": "month",
    "hour": "hour", "Stunde": "hour", "day_of_week": "weekday", "Wochentag": "weekday",
    "jour de la semaine": "weekday", "birthYear": "year-of-birth", "Geburtsjahr": "year-of-birth",
    "année de naissance": "year-of-birth", "año de nacimiento": "year-of-birth",
    "anno di nascita": "year-of-birth", "geboortejaar": "year-of-birth", "födelseår": "year-of-birth",
    "hours-per-week": "hours-of-week", "Wochenstunden": "hours-of-week",
}  # fmt: skip
UNKNOWN = (
    "price", "age_months", "building age", "age of vehicle", "pct_change", "Wachstum in Prozent", "months",
    "hours", "year", "duration", "income", "monthly_fee", "Breite", "count",
)  # fmt: skip


def drafted(name: str, times: dict[str, int]) -> dict[str, Any]:
    column = Column(Marks())
    column.times = Counter(times)
    return suggest.attribute(name, column)


@pytest.mark.parametrize(("name", "key"), KNOWN.items())
def test_a_name_speaks_of_a_public_range(name: str, key: str) -> None:
    known = public_ranges.of_name(name)
    assert known is not None
    assert known.key == key


@pytest.mark.parametrize("name", UNKNOWN)
def test_amounts_lengths_and_changes_have_none(name: str) -> None:
    assert public_ranges.of_name(name) is None


@pytest.mark.parametrize("known", public_ranges.REGISTRY, ids=lambda each: each.key)
def test_each_range_has_a_reason_and_is_a_sound_description(
    known: public_ranges.PublicRange,
) -> None:
    assert known.low < known.high
    assert known.reason.endswith(".")
    for of in ("integer", "number"):
        facts = {"kind": "scale", "of": of, "low": known.low, "high": known.high}
        parse_attribute({"name": "column", **facts})


@pytest.mark.parametrize("values", [range(17, 91), range(30, 60), (*range(121), 121, 122)])
def test_the_range_is_that_of_the_name_whatever_the_values_are(values: range) -> None:
    draft = drafted("age", {str(value): 40 for value in values} | {"121": 1, "122": 1})
    assert (draft["low"], draft["high"]) == (0, 120)
    assert public_ranges.states("age", draft) is not None
    assert public_ranges.states("price", draft) is None


def test_a_column_that_lies_elsewhere_is_learned() -> None:
    assert "low" not in drafted("age", {str(value): 5 for value in range(0, 900, 3)})
    assert "low" not in drafted("year", {str(value): 5 for value in range(1900, 1990)})


def test_a_marker_of_missing_values_within_the_range_leaves_it_out() -> None:
    percents = {str(value): 40 for value in range(20)}
    assert "low" in drafted("percent", percents)
    draft = drafted("percent", percents | {"97": 30, "98": 30, "99": 30})
    assert draft["missing"] == ["97", "98", "99"]
    assert "low" not in draft
    hours = drafted("hour", {str(value): 40 for value in range(24)} | {"99": 30})
    assert (hours["low"], hours["high"], hours["missing"]) == (0, 24, ["99"])


def test_one_person_more_or_less_changes_no_range() -> None:
    ages = {str(value): 3 for value in range(18, 90)}
    whole = drafted("age", ages | {"400": 1})
    assert whole["low"] == drafted("age", ages)["low"] == 0
