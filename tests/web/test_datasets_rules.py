"""Rules that hold in the table: their forms can be filled in, and nothing is taken without a word on where it
is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from django.test import Client

from synth_engine.domain import Derived, parse_attribute
from synth_engine.steward import ingest
from synthweb.datasets import preview_store
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds import FORMS
from synthweb.datasets.models import Preview
from tests.cast import Cast
from tests.web.describe_page import SUGGESTIONS, DescribePage, FormReader, line, ready

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
WED = {"name": "wed", "kind": "integer", "low": 0, "high": 99, "width": 1, "missing": [""]}
RULES: list[dict[str, Any]] = [
    {
        "column": "age",
        "kind": "order",
        "facts": {"first": "age", "second": "wed"},
        "sentence": "age is never above wed.",
    },
    {
        "column": "works",
        "kind": "missing-iff",
        "facts": {"column": "works", "when": "sector", "values": "(missing)"},
        "sentence": "works is missing exactly where sector is missing.",
    },
    {
        "column": "age",
        "kind": "derived",
        "facts": {"rule": "copy", "of": ["sector, old"]},
        "sentence": "age is always the same as sector, old.",
    },
    {
        "column": "age",
        "kind": "",
        "facts": {},
        "sentence": "age and id add up to 7 in every row.",
    },
]


@pytest.fixture
def describe_page(browser: Browser, cast: Cast) -> DescribePage:
    made = DescribePage(browser(cast.steward), ready(cast, [*SUGGESTIONS, WED]))
    stored = preview_store.latest(made.dataset, Preview.Kind.TABLE, "")
    assert stored is not None
    hint: dict[str, Any] = {"certainty": "sure", "question": "", "choices": []}
    remarks = [rule["sentence"] for rule in RULES]
    payload = preview_store.read(stored) | {
        "rules": RULES,
        "hints": {"age": hint | {"remarks": remarks}},
    }
    preview_store.put(made.dataset, Preview.Kind.TABLE, "", payload)
    return made


def test_each_rule_that_has_a_form_has_a_button(describe_page: DescribePage) -> None:
    page = describe_page.page()
    assert [f'value="propose-{number}"' in page for number in range(4)] == [
        *([True] * 3),
        False,
    ]


@pytest.mark.parametrize(("number", "inputs"), [(0, ("age", "wed")), (1, ("works", "sector"))])
def test_the_form_of_a_constraint_is_filled_in_and_nothing_is_added(
    describe_page: DescribePage, number: int, inputs: tuple[str, str]
) -> None:
    answer = describe_page.press(f"propose-{number}")
    assert answer.status_code == 200
    assert f'data-proposed="{RULES[number]["kind"]}"' in answer.text
    for name in inputs:
        assert f'value="{name}"' in answer.text
    assert "constraints" not in describe_page.draft


def test_a_proposed_rule_is_refused_until_its_origin_is_chosen(
    describe_page: DescribePage,
) -> None:
    describe_page.press("confirm-open")
    reader = FormReader()
    reader.feed(describe_page.press("propose-0").text)
    fields = reader.found | {"do": "rule-add-order"}
    refused = describe_page.client.post(describe_page.address, fields)
    assert refused.status_code == 422
    assert "is not chosen" in refused.text
    assert 'value="unstated" selected' in " ".join(refused.text.split())
    assert "constraints" not in describe_page.draft
    fields["rule-order-origin"] = "declared"
    assert describe_page.client.post(describe_page.address, fields).status_code == 302
    assert describe_page.draft["constraints"][0]["first"] == "age"


def test_a_computed_column_is_typed_and_not_confirmed(describe_page: DescribePage) -> None:
    answer = describe_page.press("propose-2")
    assert "edit=1" in answer["Location"]
    column = describe_page.draft["columns"]["age"]
    assert column["kind"] == "derived"
    assert column["fields"] == {"function": "copy", "sources": '"sector, old"'}
    assert not column["confirmed"]
    # Pressing Confirm asks where it is written, like for any other fact.
    describe_page.client.post(
        describe_page.address, describe_page.inputs("?edit=1") | {"do": "confirm:1"}
    )
    assert not describe_page.draft["columns"]["age"]["confirmed"]
    assert "because" in line(describe_page.page("?ask=1"), 1)


def test_a_nearest_point_is_typed_a_line_a_point_and_read_back() -> None:
    fields = {
        "function": "nearest",
        "sources": "north, east",
        "located": '41.49, -71.31, Newport\n41.67, -71.28, "Bristol, RI"',
    }
    attribute = attribute_of("town", {"kind": "derived", "fields": fields})
    assert isinstance(attribute, Derived)
    assert attribute.points == ((41.49, -71.31, "Newport"), (41.67, -71.28, "Bristol, RI"))
    form = FORMS["derived"]
    assert form.as_typed is not None
    assert form.as_typed(attribute.to_json(), {})["located"] == fields["located"]


@pytest.mark.parametrize("number", ["9", "", "x", "-1", "1" * 5_000])
def test_a_rule_that_is_not_there_fills_in_nothing(
    describe_page: DescribePage, number: str
) -> None:
    answer = describe_page.press(f"propose-{number}")
    assert answer.status_code == 302
    assert describe_page.draft.get("columns", {}) == {}


def test_what_is_typed_meanwhile_is_kept(describe_page: DescribePage) -> None:
    describe_page.press("propose-0", edit="1", _1_low="18")
    assert describe_page.draft["columns"]["age"]["fields"]["low"] == "18"


# --- what the product offers can be declared as it stands ---------------------------------------------------
HELD_ROWS = 400
OFFERED_KINDS = {"order", "missing-iff", "dependency", "derived"}


def _held_table() -> dict[str, list[str]]:
    """A table in which each kind of rule holds that is offered."""
    rng = np.random.default_rng(5)
    start = rng.integers(1_000, 9_000, HELD_ROWS)
    end = start + rng.integers(1, 3_000, HELD_ROWS)
    early = rng.integers(0, 5_000, HELD_ROWS)
    area = rng.integers(0, 12, HELD_ROWS)
    away = rng.random(HELD_ROWS) < 0.4
    columns = {
        "start": start,
        "end": end,
        "length": end - start,
        "again": start,
        "early": early,
        "late": early + rng.integers(0, 5_000, HELD_ROWS),
        "area": np.char.add("area ", area.astype(str)),
        "region": np.char.add("region ", (area // 4).astype(str)),
        "left": np.where(away, "", end.astype(str)),
        "reason": np.where(
            away, "", np.char.add("why ", rng.integers(0, 4, HELD_ROWS).astype(str))
        ),
    }
    return {name: [str(value) for value in column] for name, column in columns.items()}


def test_every_kind_of_rule_that_is_offered_can_be_declared_on_the_suggested_columns(
    browser: Browser, cast: Cast, tmp_path: Path
) -> None:
    table = _held_table()
    path = tmp_path / "table.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    reading = ingest.read(path)
    suggestions: list[dict[str, Any]] = [dict(each) for each in reading.suggestions]
    assert {each["kind"] for each in suggestions} >= {"scale"}
    offered: list[dict[str, Any]] = [dict(rule) for rule in reading.rules if rule["kind"]]
    assert {rule["kind"] for rule in offered} == OFFERED_KINDS
    describe_page = DescribePage(browser(cast.steward), ready(cast, suggestions))
    describe_page.press("confirm-open")
    for rule in offered:
        if rule["kind"] == "derived":
            parse_attribute({"name": rule["column"], "kind": "derived"} | rule["facts"])
            continue
        typed = {key: str(value) for key, value in rule["facts"].items()}
        if rule["kind"] == "dependency":  # its list is public, and typed by who knows it
            pairs = sorted(set(zip(table[typed["from"]], table[typed["to"]], strict=True)))
            typed["table"] = "\n".join(f"{one}, {other}" for one, other in pairs)
        if rule["kind"] == "missing-iff":
            typed.setdefault("values", "(missing)")
        answer = describe_page.press(
            f"rule-add-{rule['kind']}",
            **{f"rule-{rule['kind']}-{key}": text for key, text in typed.items()},
        )
        assert answer.status_code == 302, rule
    assert len(describe_page.draft["constraints"]) == len(
        [rule for rule in offered if rule["kind"] != "derived"]
    )


def test_a_range_of_a_column_that_is_learned_is_typed_like_any_other(
    browser: Browser, cast: Cast
) -> None:
    columns = [
        {"name": "age", "kind": "scale", "of": "integer"},
        {"name": "day", "kind": "scale", "of": "date"},
        {"name": "sex", "kind": "categorical", "values": ["f", "m"], "outside": "clamp"},
    ]
    describe_page = DescribePage(browser(cast.steward), ready(cast, columns))
    describe_page.press("confirm-open")
    for column, values in (("age", "..14, 20"), ("day", "2020-01-01..2020-12-31")):
        fields = {"column1": column, "values1": values, "column2": "sex", "values2": "m"}
        answer = describe_page.press(
            "rule-add-impossible",
            **{f"rule-impossible-{key}": text for key, text in fields.items()},
        )
        assert answer.status_code == 302
    assert [each["columns"] for each in describe_page.draft["constraints"]] == [
        {"age": [{"to": 14}, "20"], "sex": ["m"]},
        {"day": [{"from": "2020-01-01", "to": "2020-12-31"}], "sex": ["m"]},
    ]
