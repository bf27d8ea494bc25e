"""What a release will tell: the words follow from public facts alone, get better with records and ε, and what
is advised would do."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import forecast as forecasts
from synth_engine.evaluation.forecast import Forecast, forecast
from synth_engine.evaluation.quality_words import COLUMN_WORDS
from synth_engine.mechanisms.trees.columns import placed
from synth_engine.spec import Spec

RELATIONS = ("kept", "weak", "lost")
SMALL = {
    "attributes": [
        {"name": f"c{place}", "kind": "integer", "low": 0, "high": high}
        for place, high in enumerate((1, 2, 3, 4, 6, 9))
    ]
}
OPEN = {
    "attributes": [
        *SMALL["attributes"],
        *(
            {"name": f"s{place}", "kind": "scale", "of": "number", "step": 0.01}
            for place in range(6)
        ),
    ]
}


def told(
    rows: int,
    mechanism: str = "auto",
    *,
    epsilon: str = "1",
    of: Any = SMALL,
    **parameters: Any,
) -> Forecast:
    spec = Spec(
        mechanism=mechanism,
        epsilon=Fraction(epsilon),
        delta=Fraction("1e-9"),
        parameters=parameters,
    )
    return forecast(Domain.from_json(of), spec, rows=rows)


def test_it_takes_a_description_a_request_and_a_stated_number_and_nothing_else() -> None:
    assert list(inspect.signature(forecast).parameters) == [
        "domain",
        "spec",
        "rows",
        "rule",
        "opens_at",
        "advises",
    ]
    # The modules that read tables are not among what it imports.
    source = inspect.getsource(forecasts)
    assert not any(
        f"synth_engine.{module}" in source
        for module in ("room", "sources", "steward", "readers", "pipeline")
    )


@pytest.mark.parametrize("mechanism", ["auto", "mst", "aim", "independent"])
@pytest.mark.parametrize("of", [SMALL, OPEN], ids=["declared", "open"])
def test_more_records_and_a_larger_epsilon_never_make_a_word_worse(
    mechanism: str, of: Any
) -> None:
    by_rows = [told(rows, mechanism, of=of) for rows in (100, 1_000, 10_000, 100_000)]
    by_epsilon = [told(1_000, mechanism, epsilon=one, of=of) for one in ("0.1", "1", "10")]
    for series in (by_rows, by_epsilon):
        for name in series[0].columns:
            places = [COLUMN_WORDS.index(one.columns[name]) for one in series]
            assert places == sorted(places, reverse=True)
        for strength in forecasts.STRENGTHS:
            places = [RELATIONS.index(one.relations[strength]) for one in series]
            assert places == sorted(places, reverse=True)
        assert [one.empty for one in series] == sorted(
            (one.empty for one in series), reverse=True
        )
    assert set(by_rows[-1].columns.values()) == {"found"}
    assert by_rows[-1].level == "enough" and not by_rows[-1].repairs


def test_stronger_relations_are_kept_no_worse_than_weaker_ones() -> None:
    for rows in (300, 1_000, 3_000, 10_000):
        words = [RELATIONS.index(told(rows).relations[each]) for each in forecasts.STRENGTHS]
        assert words == sorted(words)


@pytest.mark.parametrize(
    ("mechanism", "rows"), [("auto", 300), ("auto", 1_000_000), ("mst", 0)]
)
def test_a_receipt_has_the_forecast_of_its_request(mechanism: str, rows: int) -> None:
    receipt: Any = {
        "mechanism": {"id": mechanism, "parameters": {}, "kind": "adaptive"},
        "target": {"epsilon": "1", "delta": "1/1000000000"},
    }
    word = forecasts.weakest_relations(Domain.from_json(SMALL), receipt, rows=rows)
    assert word == told(max(1, rows), mechanism).relations[0.2]
    receipt["mechanism"]["id"] = "on-the-map"  # which needs origins and destinations
    assert forecasts.weakest_relations(Domain.from_json(SMALL), receipt, rows=rows) == "unknown"


def test_a_method_that_counts_no_two_columns_together_loses_every_relation() -> None:
    found = told(1_000_000, "independent")
    assert set(found.relations.values()) == {"lost"}
    # No number of records would change that, so that none is advised.
    assert found.level == "enough"
    nothing = told(1_000_000, "random")
    assert set(nothing.columns.values()) == {"not found"} and nothing.level == "too-little"
    assert not nothing.repairs


@pytest.mark.parametrize("mechanism", ["auto", "mst", "independent"])
@pytest.mark.parametrize(("rows", "of"), [(60, SMALL), (400, SMALL), (1_000, OPEN)])
def test_what_is_advised_would_do_and_a_little_less_would_not(
    mechanism: str, rows: int, of: Any
) -> None:
    found = told(rows, mechanism, of=of)
    if found.level == "enough":
        return
    assert found.repairs
    enough = {"enough", found.aim}
    for repair in found.repairs:
        if repair.rows is not None:
            assert repair.rows > rows
            assert told(repair.rows, mechanism, of=of).level in enough
            assert told(max(rows, repair.rows // 3), mechanism, of=of).level not in enough
        elif repair.epsilon is not None:
            asked = told(rows, mechanism, epsilon=str(repair.epsilon), of=of)
            assert asked.level in enough and repair.epsilon <= 10
        else:
            left = [a for a in of["attributes"] if a["name"] not in repair.columns]
            assert told(rows, mechanism, of={"attributes": left}).level in enough
            assert 2 * len(repair.columns) <= len(of["attributes"])


def test_a_purpose_is_what_a_release_is_judged_by() -> None:
    wide = {
        "attributes": [
            {"name": "vote", "kind": "integer", "low": 0, "high": 1},
            {"name": "age", "kind": "integer", "low": 0, "high": 3},
            {"name": "code", "kind": "integer", "low": 0, "high": 5_000},
        ]
    }
    for rows in (500, 1_000, 2_000, 5_000):
        plain = told(rows, of=wide)
        aimed = told(rows, of=wide, target="vote", marginals=[["vote", "age"]])
        assert plain.purpose == () and aimed.purpose == ("vote", "age")
        words = [aimed.columns[name] for name in aimed.purpose]
        assert aimed.level != "too-little" or words.count("not found")
        assert not any({*each.columns} & {"vote", "age"} for each in aimed.repairs)


def measurements(columns: int) -> dict[str, Any]:
    return {
        "attributes": [
            {"name": f"c{place}", "kind": "scale", "of": "number", "step": 0.01}
            for place in range(columns)
        ]
    }


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon", "least", "most"),
    [
        (31, 426, "1", 5, 20),
        (31, 200, "1", 30, 31),
        (31, 1_000, "1", 0, 0),
        (11, 200, "1", 4, 11),
        (31, 426, "10", 0, 0),
        (1, 10, "1", 1, 1),
    ],
)
def test_it_says_how_many_learned_columns_will_not_be_found(
    columns: int, rows: int, epsilon: str, least: int, most: int
) -> None:
    """Of 200 releases of 31 columns of 426 records a little over half of the columns are found
    (bench/values.py)."""
    found = told(rows, epsilon=epsilon, of=measurements(columns))
    assert least <= found.empty <= most
    if found.empty:
        assert found.level != "enough"


BLOCKS = [f"block {number}" for number in range(400)]
PLACES = {
    "attributes": [{"name": "home", "kind": "categorical", "values": BLOCKS, "other": True}],
    "points": [
        {
            "column": "home",
            "at": {block: [41 + number / 1_000, -71] for number, block in enumerate(BLOCKS)},
        }
    ],
}


def test_a_tree_of_places_is_judged_by_whether_a_cell_is_divided() -> None:
    domain = Domain.from_json(PLACES)
    assert placed(domain) == ("home",)
    spec = Spec(mechanism="adaptive", epsilon=Fraction(1))
    few, some = (forecast(domain, spec, rows=rows, opens_at=100) for rows in (99, 100))
    assert (few.level, few.columns["home"]) == ("too-little", "not found")
    assert some.columns["home"] in ("found", "coarse") and some.level != "too-little"
    assert {each.rows for each in few.repairs} - {None}
    larger = forecast(domain, replace(spec, epsilon=Fraction(2)), rows=60, opens_at=50)
    assert larger.level != "too-little"


def test_it_is_plain_json() -> None:
    document = told(300, of=OPEN).to_json()
    assert json.loads(json.dumps(document)) == document
    assert document["records"] == 300 and document["epsilon"] == "1"
