"""What reading a body of JSON costs: memory and steps grow with its length, whatever stands in it."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from synth_engine import strict_json
from synthweb.api import faults, parsers, problems


def _parse(body: bytes) -> Any:
    return parsers.StrictJsonParser().parse(io.BytesIO(body))


def _peak(read: Callable[[], Any]) -> int:
    """Most bytes that were allocated at once while it read."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        '{"' + "k" * 20_000 + '":[' + ",".join("1" * 20_000) + "]}",
        '{"'
        + "k" * 20_000
        + '":{'
        + ",".join(f'"{number}":1' for number in range(10_000))
        + "}}",
        '{"a":' * 10
        + '{"'
        + "k" * 20_000
        + '":['
        + ",".join(["[1,2]"] * 10_000)
        + "]}"
        + "}" * 10,
    ],
    ids=["key over list", "key over object", "deep"],
)
def test_memory_grows_with_the_length_of_the_body(body: str) -> None:
    assert json.loads(body)
    assert _peak(lambda: _parse(body.encode())) < 100 * len(body)


class Counted(str):
    """A name that counts how often names are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "read", [parsers._object, strict_json._once], ids=["request", "engine"]
)
def test_a_name_given_twice_costs_no_more_than_the_names(
    read: Callable[[list[tuple[str, Any]]], Any],
) -> None:
    names = [Counted(f"k{number}") for number in range(4_000)]
    Counted.compared = 0
    with pytest.raises((parsers.Malformed, strict_json.NamedTwice)):
        read([(name, 1) for name in [*names, Counted("zz"), Counted("zz")]])
    assert Counted.compared < 5 * len(names)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ('{"a": [1, {"b/c": [0, NaN]}]}', "/a/1/b~1c/1"),
        ('{"a": [], "b": {"c": "\\u0000"}}', "/b/c"),
        ('{"a": {"b\\u0000": 1}}', "/a"),
        ('{"a": [[], {}, [Infinity]]}', "/a/2/0"),
        ('{"a": 1, "b": 1e999}', "/b"),
        ('["\\ud800"]', "/0"),
        ("NaN", ""),
        ('{"a": {"b": 1, "b": 2}}', "/b"),
    ],
)
def test_a_fault_still_has_its_place(body: str, pointer: str) -> None:
    with pytest.raises(parsers.Malformed) as refused:
        _parse(body.encode())
    assert refused.value.faults[0]["pointer"] == pointer


def test_a_document_may_be_as_deep_as_is_said_and_no_deeper() -> None:
    deepest = parsers.DEEPEST
    assert _parse(b"[" * deepest + b"1" + b"]" * deepest)
    with pytest.raises(parsers.Malformed, match="cannot be read") as refused:
        _parse(b"[" * (deepest + 1) + b"1" + b"]" * (deepest + 1))
    assert refused.value.faults[0]["pointer"] == "/0" * (deepest + 1)


def test_a_long_pointer_names_the_place_above_it() -> None:
    inner = "/a/" + "k" * faults.LONGEST_POINTER + "/3"
    assert faults.fault("rule", pointer=inner)["pointer"] == "/a"
    exact = "/" + "k" * (faults.LONGEST_POINTER - 1)
    assert faults.fault("rule", pointer=exact)["pointer"] == exact
    assert faults.fault("rule", pointer=exact + "/1")["pointer"] == exact


def test_an_answer_has_a_bounded_number_of_faults_and_works_for_no_more() -> None:
    from rest_framework.exceptions import ValidationError

    error = ValidationError({"k" * 5_000: {str(number): ["wrong"] for number in range(5_000)}})
    context: dict[str, Any] = {"request": None}
    answers: list[Any] = []
    assert _peak(lambda: answers.append(problems.exception_handler(error, context))) < 3_000_000
    assert len(answers[0].data["errors"]) == problems.MOST_FAULTS
