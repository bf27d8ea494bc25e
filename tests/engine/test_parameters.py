"""Parameters that are lists and objects: as they are, or as JSON text; strict, bounded, and told without
repeating them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_engine.errors import SpecError
from synth_engine.plans import parameters
from synth_engine.spec import MAX_PARAMETER_DEPTH, MAX_PARAMETER_ENTRIES, Spec

SECRET = "Brunhilde"
ONE = Fraction(1)
NAME = {"type": "string", "maxLength": 20}
SCHEMA: dict[str, Any] = {
    "properties": {
        "groups": {
            "type": "array",
            "items": {"type": "array", "items": NAME, "minItems": 2, "maxItems": 3},
            "maxItems": 4,
            "uniqueItems": True,
            "default": [],
        },
        "weights": {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 9},
            "propertyNames": {"maxLength": 20},
            "maxProperties": 3,
            "default": {},
        },
        "column": {"type": "string", "maxLength": 20, "default": ""},
        "anything": {"type": "array", "default": []},
    }
}


def checked(**given: Any) -> dict[str, Any]:
    return parameters.validate(given, schema=SCHEMA)


def test_left_out_or_empty_they_are_their_defaults() -> None:
    assert checked() == {"groups": (), "weights": {}, "column": "", "anything": ()}
    assert checked(groups="", weights=" ", column="") == checked()


def test_defaults_are_nobodys_to_change() -> None:
    checked()["weights"]["a"] = 5.0
    assert checked()["weights"] == {}


def test_text_and_the_thing_itself_are_the_same() -> None:
    groups, weights = [["a", "b"], ["b", "c", "ä"]], {"a": 2, "b": 0.5}
    same = checked(groups=(("a", "b"), ("b", "c", "ä")), weights={"a": 2.0, "b": 0.5})
    assert checked(groups=groups, weights=weights) == same
    assert checked(groups=json.dumps(groups), weights=json.dumps(weights)) == same
    assert [type(weight) for weight in same["weights"].values()] == [float, float]


BAD: list[tuple[str, Any, str]] = [
    ("groups", f'["{SECRET}"', "no JSON text"),
    ("groups", f'"{SECRET}"', "of type array"),
    ("groups", SECRET, "no JSON text"),
    ("groups", {"a": SECRET}, "of type array"),
    ("groups", 7, "of type array"),
    ("groups", [SECRET], "entry 1 of parameter 'groups' must be of type array"),
    ("groups", [["a", "b"], [SECRET]], "entry 2 of parameter 'groups' has fewer than 2"),
    ("groups", [["a", "b", "c", SECRET]], "more than 3"),
    ("groups", [["a", 5]], "entry 2 of entry 1 of parameter 'groups' must be of type string"),
    ("groups", [["a", SECRET * 3]], "more than 20 signs"),
    ("groups", [["a", "b\0"]], "of type string"),
    ("groups", [["a", "\ud800"]], "of type string"),
    ("groups", [["a", "b"]] * 2, "an entry twice"),
    ("groups", [["a", str(i)] for i in range(5)], "more than 4 entries"),
    ("weights", f'["{SECRET}"]', "of type object"),
    ("weights", f'{{"{SECRET}": 1, "{SECRET}": 2}}', "a name twice"),
    ("weights", {SECRET: SECRET}, "entry 1 of parameter 'weights' must be of type number"),
    ("weights", {SECRET: True}, "of type number"),
    ("weights", {SECRET: None}, "of type number"),
    ("weights", {SECRET: -1}, "between 0 and 9"),
    ("weights", {SECRET: 10}, "between 0 and 9"),
    ("weights", {SECRET: float("nan")}, "of type number"),
    ("weights", {SECRET: 10**400}, "of type number"),
    ("weights", '{"a": NaN}', "no JSON text"),
    ("weights", '{"a": Infinity}', "no JSON text"),
    ("weights", '{"a": 1e999}', "no JSON text"),
    ("weights", '{"a": 1e-999}', "no JSON text"),
    ("weights", '{"a": ' + "9" * 5000 + "}", "no JSON text"),
    (
        "weights",
        {SECRET * 3: 1},
        "the name of entry 1 of parameter 'weights' has more than 20 signs",
    ),
    ("weights", {str(i): 1 for i in range(4)}, "more than 3 entries"),
    ("weights", {5: 1}, "must be a number"),
    ("weights", {"a": {SECRET}}, "must be a number"),
    ("column", SECRET * 3, "more than 20 signs"),
    ("column", [SECRET], "of type string"),
    ("anything", "[" * 100_000, "nested too deep"),
    (
        "anything",
        "[" * (MAX_PARAMETER_DEPTH + 2) + "]" * (MAX_PARAMETER_DEPTH + 2),
        "nested deeper",
    ),
    ("anything", "[" + "1," * parameters.MAX_JSON_LENGTH + "1]", "signs"),
    ("anything", [1] * MAX_PARAMETER_ENTRIES, "more than"),
]


@pytest.mark.parametrize(("name", "value", "reason"), BAD)
def test_what_is_wrong_is_refused_by_the_parameters_name_and_not_repeated(
    name: str, value: Any, reason: str
) -> None:
    with pytest.raises(SpecError, match=reason) as refused:
        checked(**{name: value})
    assert name in refused.value.rule
    assert refused.value.repair or "must be a number" in refused.value.rule
    assert SECRET not in refused.value.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(["groups", "weights", "column", "anything"]), JSON | st.text(max_size=40)
)
def test_anything_at_all_is_taken_or_refused_in_words(name: str, value: Any) -> None:
    try:
        found = checked(**{name: value})
    except SpecError:
        return
    assert parameters.validate(found, schema=SCHEMA) == found


@pytest.mark.parametrize(
    "value",
    [{"a": {1, 2}}, {"a": object()}, {5: 1}, [[[[[[1]]]]]], [0] * (MAX_PARAMETER_ENTRIES + 1)],
)
def test_a_spec_takes_json_within_bounds_alone(value: Any) -> None:
    Spec(mechanism="x", epsilon=ONE, parameters={"p": [{"a": [1, "b", None, True]}]})
    with pytest.raises(SpecError, match="parameter 'p'"):
        Spec(mechanism="x", epsilon=ONE, parameters={"p": value})
