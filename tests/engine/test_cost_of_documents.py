"""What reading a description costs: it grows with the length of the document, however hostile the document
is.

Steps are counted, not timed: of attributes compared, of labels made, of an automaton followed, of a text
searched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from synth_engine.domain import Domain, document
from synth_engine.errors import DomainError
from synth_engine.values import patterns
from synth_engine.values.patterns import Pattern


def _calls(work: Callable[[], object]) -> int:
    """How many functions written in Python are called meanwhile."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _column(number: int) -> dict[str, Any]:
    return {
        "name": f"c{number}",
        "kind": "categorical",
        "values": ["a", "b"],
        "missing": [""],
        "outside": "missing",
    }


def _of_columns(count: int) -> dict[str, Any]:
    return {f"c{number}": 2 for number in range(count)}


def _of_points(count: int) -> dict[str, Any]:
    points = [
        {"column": f"c{number}", "at": {"a": [1, 2], "b": [2, 3]}} for number in range(count)
    ]
    return {"attributes": [_column(number) for number in range(count)], "points": points}


def _of_partitions(count: int) -> dict[str, Any]:
    parts = [
        {"name": "halves", "column": f"c{number}", "of": {"a": "x", "b": "y"}}
        for number in range(count)
    ]
    return {"attributes": [_column(number) for number in range(count)], "partitions": parts}


@pytest.mark.parametrize("described", [_of_columns, _of_points, _of_partitions])
def test_twice_the_columns_are_twice_the_work(
    described: Callable[[int], dict[str, Any]],
) -> None:
    Domain.from_json(described(10)).to_json()  # what is made once
    small, large = (described(count) for count in (100, 400))

    def read(document: dict[str, Any]) -> int:
        return _calls(lambda: Domain.from_json(document).to_json())

    assert read(large) < 5 * read(small)


class Compared(Exception):
    """Somebody compared two attributes."""


def test_columns_are_told_apart_without_comparing_each_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from synth_engine.domain import Integer

    def compared(_self: object, _other: object) -> bool:
        raise Compared

    monkeypatch.setattr(Integer, "__eq__", compared)
    assert len(Domain.from_json(_of_columns(50)).attributes) == 50


def test_brackets_are_counted_in_one_pass_over_a_text_without_an_end() -> None:
    text = '{"a": "' + '\\"' * 5_000
    assert len(document._BRACKET.findall(text)) == 3
    assert document._depth('{"a": ["{[", "\\"[", "\\\\"], "b": [[]]}') == 3


def test_patterns_of_one_document_share_their_steps() -> None:
    costly = [f"(a|b|ab|ba){{0,{count}}}" for count in range(20, 23)]
    for pattern in costly:
        Pattern(pattern)
    followed = [0]
    bound = patterns.MAX_STEPS
    with patterns.few_steps_together():
        left = patterns._left_together.get()
        assert left is not None
        for pattern in costly:
            Pattern(pattern)
        followed[0] = bound - left[0]
        assert followed[0] > 0
        left[0] = followed[0] // 2
        with pytest.raises(DomainError, match="too complicated"):
            for pattern in costly:
                Pattern(pattern)
    Pattern(costly[-1])
