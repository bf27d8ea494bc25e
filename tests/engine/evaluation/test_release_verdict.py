"""What a release is good for: parts are judged by what people compute, and nothing hides the worst of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synth_engine.evaluation.expected import LEVEL, ExpectedColumn, ExpectedFigure
from synth_engine.evaluation.figure_origins import ExpectedRange, ModelFigure
from synth_engine.evaluation.least_group import least_group, rounded_up
from synth_engine.evaluation.release_verdict import (
    DistanceInterval,
    GroupInterval,
    ReleaseEvidence,
    ReleaseVerdict,
    TripleFindings,
    verdict,
)


def band(estimate: float, off: float) -> ExpectedRange:
    return ExpectedRange(
        estimate=ModelFigure(value=estimate),
        low=estimate - off,
        high=estimate + off,
        level=LEVEL,
    )


def listed(name: str, *, off: float) -> ExpectedColumn:
    """A column of texts."""
    figure = ExpectedFigure(key="share", value="a", expected=band(0.5, off))
    return ExpectedColumn(name=name, kind="categorical", figures=(figure,))


def number(name: str, *, off: float) -> ExpectedColumn:
    """A column of numbers with a standard deviation of 10, whose mean is so many of them off."""
    figures = (
        ExpectedFigure(key="mean", expected=band(50, 10 * off)),
        ExpectedFigure(key="standard_deviation", expected=band(10, 0.1)),
    )
    return ExpectedColumn(name=name, kind="integer", figures=figures)


def unasked(name: str) -> ExpectedColumn:
    return ExpectedColumn(name=name, kind="integer", figures=(), note="-")


GOOD = ReleaseEvidence(
    records=20_000,
    columns=(listed("region", off=0.01), number("age", off=0.01), listed("works", off=0.002)),
    learned={},
    relations="kept",
    least_group=100,
    search=TripleFindings(measured=2, largest=0.1, by_noise=0.01),
)


def levels(found: ReleaseVerdict) -> dict[str, str]:
    return {part.key: part.level for part in found.parts}


def judged(**changes: Any) -> ReleaseVerdict:
    return verdict(replace(GOOD, **changes))


def test_a_release_in_which_all_is_good_is_good_and_says_from_which_size_on() -> None:
    found = verdict(GOOD)
    assert levels(found) == dict.fromkeys(("counts", "averages", "pairs", "triples"), "good")
    assert (found.level, found.least_group, found.any_group) == ("good", 100, True)


def test_one_ruined_column_of_a_hundred_is_not_hidden_by_the_others() -> None:
    others = [listed(f"c{place}", off=0.001) for place in range(99)]
    found = judged(columns=(*others, listed("ruined", off=0.4)))
    assert levels(found)["counts"] == found.level == "lost"
    (counts,) = (part for part in found.parts if part.key == "counts")
    assert (counts.good, counts.of, counts.is_mostly_good) == (99, 100, True)
    assert (found.columns[0].name, found.columns[0].level) == ("ruined", "lost")


@pytest.mark.parametrize(
    ("relations", "level"),
    [("kept", "good"), ("weak", "weak"), ("lost", "lost"), ("unknown", "unknown")],
)
def test_relations_of_three_columns_are_never_better_than_those_of_two(
    relations: Any, level: str
) -> None:
    found = judged(relations=relations)
    assert levels(found)["pairs"] == levels(found)["triples"] == found.level == level


@pytest.mark.parametrize(
    ("search", "level"),
    [
        (None, "weak"),  # nobody looked for more than pairs imply
        (
            TripleFindings(measured=0, largest=0.1, by_noise=0.01),
            "weak",
        ),  # seen, and not counted
        (TripleFindings(measured=0, largest=0.2, by_noise=0.2), "weak"),  # noise hides them
        (TripleFindings(measured=0, largest=0.01, by_noise=0.02), "good"),  # there are none
    ],
)
def test_relations_of_three_columns_are_good_only_where_a_precise_search_says_so(
    search: TripleFindings | None, level: str
) -> None:
    assert levels(judged(search=search))["triples"] == level


def test_a_table_has_the_parts_that_its_columns_make() -> None:
    assert levels(judged(columns=(listed("region", off=0.01),))) == {"counts": "good"}
    two = levels(judged(columns=(listed("region", off=0.01), number("age", off=0.01))))
    assert list(two) == ["counts", "averages", "pairs"]


def test_what_was_not_measured_is_unknown_and_hides_nothing_that_is_worse() -> None:
    none = judged(columns=(unasked("a"), unasked("b")), relations="unknown", least_group=None)
    assert levels(none) == {"counts": "unknown", "pairs": "unknown"}
    assert (none.level, none.any_group) == ("unknown", False)
    some = judged(columns=(unasked("a"), listed("b", off=0.1)))
    assert levels(some)["counts"] == "weak"


def test_learned_columns_that_are_coarse_or_were_not_found_lower_all_that_uses_them() -> None:
    coarse = judged(learned={"age": "coarse", "region": "found"})
    assert levels(coarse) == dict.fromkeys(("counts", "averages", "pairs", "triples"), "weak")
    # A model has nothing of a column that was not found.
    lost = judged(learned={"height": "not found"})
    assert levels(lost)["counts"] == lost.level == "lost"
    assert levels(lost)["pairs"] == "weak"
    assert next((c.name, c.level, c.learned) for c in lost.columns) == (
        "height",
        "lost",
        "not found",
    )


def test_paid_figures_make_a_part_worse_by_what_is_certain_and_none_better() -> None:
    far = DistanceInterval(columns=2, low=0.2, high=0.4)
    wide = DistanceInterval(columns=2, low=0.0, high=0.9)
    near = DistanceInterval(columns=2, low=0.0, high=0.01)
    assert levels(judged(distances=[far]))["pairs"] == "lost"
    assert levels(judged(distances=[wide]))["pairs"] == "good"
    assert levels(judged(distances=[near], relations="unknown"))["pairs"] == "unknown"
    off = judged(distances=[replace(far, columns=1)])
    assert levels(off)["counts"] == "lost"
    # However many of its columns are expected to be good.
    assert [part.is_mostly_good for part in off.parts if part.of] == [False, False]


def test_groups_that_were_paid_for_and_are_certainly_off_raise_the_least_size() -> None:
    off = GroupInterval(synthetic=100, low=300, high=400)
    near = GroupInterval(synthetic=310, low=300, high=400)
    assert judged(groups=[off, near]).least_group == 500
    assert judged(groups=[near]).least_group == 100
    assert judged(groups=[off], least_group=None).least_group is None


def test_a_table_too_small_for_any_group_says_so() -> None:
    assert not judged(records=300).any_group


def call(columns: str, variance: int, *, verb: str = "measure", cells: int = 4) -> Any:
    return {
        "query": {"verb": verb, "clique": list(columns), "cells": cells},
        "noise": {"law": "discrete-gaussian", "sigma_squared": str(variance)},
    }


def test_the_least_group_follows_from_the_noisiest_table_that_was_counted() -> None:
    # Without noise the drawing alone: 1.645² / 0.2² = 68.
    assert least_group([call("ab", 1)]) == 100
    # 1.645 · √(250,000 + g) = 0.2 g at g = 4,147.
    assert least_group([call("ab", 1), call("bc", 250_000)]) == 5_000
    assert least_group([call("ab", 500_000), call("ba", 500_000)]) == 5_000
    # Of three columns there is more noise in a cell of two: such tables count where none has two.
    assert least_group([call("abc", 250_000), call("ab", 1)]) == 100
    assert least_group([call("abc", 250_000)]) == 5_000
    # The answer to an interaction is in quarters of a record.
    assert least_group([call("ab", 16 * 250_000, verb="interaction")]) == 5_000
    assert least_group([call("a", 1)]) is None
    assert least_group([call("a", 1)], columns=1) == 100


def test_sizes_are_rounded_up_to_one_two_or_five() -> None:
    assert [rounded_up(size) for size in (1, 3, 68, 101, 1_000, 1_001)] == [
        1,
        5,
        100,
        200,
        1_000,
        2_000,
    ]
