"""What is typed about a column and the attribute it stands for: there and back, and every refusal by name."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.domain import (
    Attribute,
    Boolean,
    Categorical,
    Date,
    DateTime,
    Identifier,
    Integer,
    Number,
    parse_attribute,
)
from synth_engine.errors import DomainError
from synthweb.datasets import draft, draft_to_attribute, list_fields
from synthweb.datasets.kinds import numbers

PRINTABLE = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=12
)
MARKERS = st.none() | st.lists(
    st.sampled_from(["", "?", "NA", "a, b", " x ", '"', "-"]), min_size=1, unique=True
)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=12),
        min_size=1,
        unique=True,
    )
)
def test_a_list_of_texts_is_read_as_it_is_written(texts: list[str]) -> None:
    assert list_fields.split(list_fields.join(texts)) == texts


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("a\nb\n\nc", ["a", "b", "c"]),
        ("a, b ,c", ["a", "b", "c"]),
        ("Married, spouse away\nSingle", ["Married, spouse away", "Single"]),
        ('"a, b", c', ["a, b", "c"]),
        ('" a "\nb', [" a ", "b"]),
        ('""\nb', ["", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        (" , ,", []),
        ("", []),
    ],
)
def test_texts_stand_one_a_line_or_between_commas(written: str, texts: list[str]) -> None:
    assert list_fields.split(written) == texts


ATTRIBUTES = [
    Categorical(name="x", values=("a", "b, c", " d "), other=True),
    Categorical(
        name="x",
        values=("low", "mid", "high"),
        ordered=True,
        missing=("", "?"),
        outside="missing",
    ),
    Categorical(name="x", values=("only",), outside="clamp"),
    Integer(name="x", low=-5, high=90),
    Integer(
        name="x", low=0, high=1000, edges=(0, 1, 10, 1000), missing=("NA",), outside="missing"
    ),
    Integer(name="x", low=0, high=99, width=10),
    Number(name="x", low=-1.5, high=2.25),
    Number(name="x", low=0.0, high=1.0, edges=(0.0, 0.1, 0.7, 1.0)),
    Number(
        name="x",
        low=0.1,
        high=0.7,
        edges=tuple(numbers.equal_edges(0.1, 0.7, bins=13)),
    ),
    Boolean(name="x", true="ja", false="nein", missing=("",)),
    Date(
        name="x", low=datetime.date(1990, 1, 1), high=datetime.date(2024, 12, 31), step_days=7
    ),
    Date(
        name="x",
        low=datetime.date(2020, 1, 1),
        high=datetime.date(2020, 2, 1),
        format="%d.%m.%Y",
        missing=("-",),
    ),
    Date(
        name="x", low=datetime.date(2020, 1, 1), high=datetime.date(2020, 2, 1), ordered=False
    ),
    Integer(name="x", low=0, high=9, width=1, ordered=False),
    DateTime(
        name="x",
        low=datetime.datetime(2020, 2, 29),  # noqa: DTZ001
        high=datetime.datetime(2021, 1, 1, 12, 30),  # noqa: DTZ001
    ),
    DateTime(
        name="x",
        low=datetime.datetime(2020, 2, 29, 8),  # noqa: DTZ001
        high=datetime.datetime(2021, 1, 1, 12, 30),  # noqa: DTZ001
        step=15,
        unit="minutes",
        width=96,
        format="%d.%m.%Y %H:%M",
        missing=("", "?"),
        outside="missing",
    ),
    Identifier(name="x"),
    Identifier(name="x", regenerate="sequence"),
    Identifier(name="x", regenerate="random", pattern=r"P-\#@@##"),
    Identifier(name="x", regenerate="uuid"),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.kind)
def test_a_described_attribute_comes_back_from_what_would_have_been_typed(
    attribute: Attribute,
) -> None:
    column = draft.typed_from(attribute.to_json())
    assert draft_to_attribute.attribute_of("x", column) == attribute


@given(
    values=st.lists(PRINTABLE, min_size=1, unique=True), other=st.booleans(), missing=MARKERS
)
def test_categories_come_back_whatever_they_are_called(
    values: list[str], other: bool, missing: list[str] | None
) -> None:
    values = [
        value
        for value in values
        if value not in (missing or ()) and value not in ("(other)", "(missing)")
    ]
    if not values:
        return
    document = {
        "name": "x",
        "kind": "categorical",
        "values": values,
        "other": other,
        "missing": missing,
    }
    document["outside"] = "other" if other else "clamp"
    attribute = parse_attribute(document)
    assert (
        draft_to_attribute.attribute_of("x", draft.typed_from(attribute.to_json())) == attribute
    )


def column(kind: str, **fields: str) -> draft.Column:
    return {"kind": kind, "fields": fields}


WRONG = [
    (column(""), "kind is not chosen"),
    (column("sparse"), "kind is not chosen"),
    (column("categorical"), "no value is listed"),
    (column("categorical", values="a, a", outside="other"), "listed twice"),
    (column("categorical", values="a, b", outside="missing"), "missing"),
    (column("integer", low="1"), "“highest” is empty"),
    (column("integer", low="one", high="2"), "“lowest” is not a whole number"),
    (column("integer", low="１", high="2"), "“lowest” is not a whole number"),
    (column("integer", low="1_0", high="20"), "“lowest” is not a whole number"),
    (column("integer", low="1e3", high="2000"), "“lowest” is not a whole number"),
    (column("integer", low="9" * 30, high="2"), "“lowest” is not a whole number"),
    (column("integer", low="5", high="1"), "low is above high"),
    (column("integer", low="0", high="9", edges="0, x, 9"), "“edges” is not a whole number"),
    (column("integer", low="0", high="9", width="0"), "width is less than one"),
    (column("number", low="nan", high="1"), "“lowest” is not a number"),
    (column("number", low="0", high="inf"), "“highest” is not a number"),
    (column("number", low="0", high="1e999"), "not finite"),
    (
        column("number", low="0", high="1", bins="4", edges="0, 1"),
        "both “number of bins” and “edges” are given",
    ),
    (column("integer", low="0", high="9", bins="2", width="3", edges="0, 9"), "are all given"),
    (column("date", low="2020-01-01", high="2021-01-01", bins="0"), "out of range"),
    (
        column("datetime", low="2020-01-01", high="2021-01-01", bins="3", width="5"),
        "both “number of bins” and",
    ),
    (column("datetime", low="2020-01-01"), "“highest” is empty"),
    (column("datetime", low="now", high="2021-01-01"), "low is not a moment"),
    (
        column("datetime", low="2020-01-01", high="2021-01-01", step="½"),
        "“step” is not a whole number",
    ),
    (column("identifier", regenerate="random"), "need a pattern"),
    (column("identifier", regenerate="random", pattern="none"), "no place to fill"),
    (column("number", low="0", high="1", bins="0"), "out of range"),
    (column("number", low="0", high="1", bins="100000000"), "out of range"),
    (column("number", low="0", high="1", edges="0.2, 1"), "edges do not run from low to high"),
    (column("boolean", true="yes"), "“no” is empty"),
    (column("boolean", true="yes", false="yes"), "listed twice"),
    (column("date", low="1.1.2020", high="2021-01-01"), "low is not"),
    (
        column("date", low="2020-01-01", high="2021-01-01", step_days="0"),
        "step_days is less than one",
    ),
    (column("date", low="2020-01-01", high="2021-01-01", format="%Y"), "format"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_a_mistake_is_named_with_its_column_and_a_repair(
    wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(DomainError) as caught:
        draft_to_attribute.attribute_of("income", wrong)
    assert words in caught.value.rule
    assert caught.value.column == "income"
    assert caught.value.repair


def test_of_an_unconfirmed_line_only_what_differs_from_the_suggestion_is_kept() -> None:
    suggested = draft.typed_from({"kind": "integer", "low": 17, "high": 90, "missing": ["?"]})
    shown = {
        "kind": "integer",
        "origin": "declared",
        "fields": {"low": "0", "high": "90", "missing": "?"},
    }
    assert draft.typed_difference(shown, suggested) == {
        "kind": "",
        "origin": "declared",
        "fields": {"low": "0"},
    }
    assert (
        draft.typed_difference(
            shown | {"fields": {"low": "17", "high": "90", "missing": "?"}}, suggested
        )
        is None
    )
    other = {
        "kind": "number",
        "origin": "declared",
        "fields": {"low": "", "high": "", "missing": "?"},
    }
    assert draft.typed_difference(other, suggested) == {
        "kind": "number",
        "origin": "declared",
        "fields": {},
    }


def test_what_was_emptied_stays_empty_over_a_suggestion() -> None:
    suggested = draft.typed_from(
        {"kind": "integer", "low": 17, "high": 90, "missing": ["", "?"]}
    )
    shown = {
        "kind": "integer",
        "origin": "declared",
        "fields": {"low": "17", "high": "90", "missing": "", "missing_empty": ""},
    }
    kept = draft.typed_difference(shown, suggested)
    assert kept is not None
    assert (
        draft_to_attribute.attribute_of(
            "x", draft.merge_over_suggestion(suggested, kept)
        ).missing
        is None
    )


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        (column("integer", low="0", high="100", bins="10"), 10),
        (column("integer", low="0", high="9", bins="100"), 10),
        (column("date", low="2024-01-01", high="2024-12-31", bins="12"), 12),
        (
            column("datetime", low="2024-01-01", high="2024-12-31", unit="hours", bins="366"),
            366,
        ),
        (column("datetime", low="2024-01-01", high="2024-12-31", unit="months", bins="4"), 4),
    ],
)
def test_a_number_of_bins_follows_from_the_bounds_alone(
    fields: draft.Column, size: int
) -> None:
    assert draft_to_attribute.attribute_of("x", fields).size == size


def test_a_line_that_is_whole_takes_nothing_from_the_suggestion() -> None:
    suggested = draft.typed_from(
        {"kind": "integer", "low": 0, "high": 90, "edges": [0, 5, 90], "missing": ["?"]}
    )
    for state in ("whole", "confirmed", "tried"):
        described = {
            "kind": "integer",
            "fields": {"low": "0", "high": "99", "width": "5"},
            state: True,
        }
        attribute = draft_to_attribute.attribute_of(
            "x", draft.merge_over_suggestion(suggested, described)
        )
        assert (attribute.size, attribute.missing) == (20, None)
