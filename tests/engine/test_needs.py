"""What a run will need, said beforehand."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Domain, Integer, Weak
from synth_engine.errors import SpecError
from synth_engine.inference import cost_tables, refine_triples
from synth_engine.models import blocks
from synth_engine.plans import resources
from synth_engine.plans.resources import ResourceEstimate
from synth_engine.spec import Spec
from synth_engine.values import Listed


def table(columns: int, values: int) -> Domain:
    names = [f"c{number}" for number in range(columns)]
    return Domain(
        attributes=tuple(Integer(name=name, low=0, high=values - 1, width=1) for name in names)
    )


def needed(mechanism: str, domain: Domain, rows: int, **parameters: Any) -> ResourceEstimate:
    spec = Spec(
        mechanism=mechanism,
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        parameters=parameters,
    )
    return mechanisms.plan(domain, spec).needs(rows)


@pytest.mark.parametrize(
    "mechanism",
    ["random", "independent", "bayesian-network", "mst", "aim", "privsyn", "dpsyn", "auto"],
)
def test_more_records_and_columns_and_values_need_more(mechanism: str) -> None:
    few, many = (
        needed(mechanism, table(4, 10), 1_000),
        needed(mechanism, table(4, 10), 1_000_000),
    )
    wide, fine = needed(mechanism, table(8, 10), 1_000), needed(mechanism, table(4, 60), 1_000)
    assert many.seconds > few.seconds and many.memory_bytes > few.memory_bytes
    assert wide.seconds > few.seconds and wide.memory_bytes > few.memory_bytes
    assert fine.seconds >= few.seconds and fine.memory_bytes >= few.memory_bytes


def test_candidates_are_counted_too() -> None:
    domain = table(10, 20)
    assert needed("mst", domain, 50_000).seconds > needed("independent", domain, 50_000).seconds
    one, two = (needed("bayesian-network", domain, 50_000, degree=degree) for degree in (1, 2))
    assert two.seconds > one.seconds


def test_what_asks_for_all_pairs_and_mends_records_takes_longer_than_a_tree() -> None:
    domain = table(20, 20)
    tree = needed("mst", domain, 50_000)
    for mechanism in ("aim", "privsyn", "dpsyn", "auto"):
        found = needed(mechanism, domain, 50_000)
        assert found.seconds > tree.seconds and found.memory_bytes > tree.memory_bytes
    assert needed("auto", domain, 50_000).seconds > needed("privsyn", domain, 50_000).seconds


def test_auto_says_no_more_memory_than_it_is_allowed_for_its_tables() -> None:
    domain = table(40, 400)
    assert needed("auto", domain, 10_000, memory_mb=700).memory_bytes < 700 * resources.MEGABYTE
    with pytest.raises(SpecError, match=r"memory_mb.*'c0'"):
        needed("auto", domain, 10_000, memory_mb=400)


def test_needs_of_hundreds_of_columns_are_reckoned_at_once() -> None:
    started = time.process_time()
    found = needed("auto", table(300, 20), 50_000)
    assert time.process_time() - started < 5 and found.seconds > 60


def test_groups_are_listed_up_to_a_size() -> None:
    sizes = {"a": 2, "b": 3, "c": 50}
    assert sorted(resources.groups_up_to(sizes, columns=3)) == [
        (2, 3),
        (2, 3, 50),
        (2, 50),
        (3, 50),
    ]
    assert sorted(resources.groups_up_to(sizes, columns=3, cells=100)) == [(2, 3), (2, 50)]


def test_the_finish_needs_no_more_for_rows_that_are_copied() -> None:
    part = blocks.copied_from(30) - 1
    whole, copied = (
        resources.of_finish(rows, [(10, 10)], attributes=30) for rows in (part, 4 * part)
    )
    assert whole.seconds == copied.seconds and whole.memory_bytes < copied.memory_bytes


def test_the_time_of_drawing_goes_by_its_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds() -> float:
        return resources.of_finish(20_000, [(10, 10)] * 91, attributes=14).drawing_seconds

    before = seconds()
    monkeypatch.setattr(refine_triples, "MAX_PASSES", 2 * refine_triples.MAX_PASSES)
    assert seconds() > 1.2 * before


@pytest.mark.parametrize("rows", [500, 60_000, 200_000])
def test_as_many_rows_are_reckoned_with_as_the_sampler_refines(rows: int) -> None:
    """Rows that are copies take no time here."""
    refined = blocks.rows_refined(rows, 10)
    one, other = (
        resources.of_finish(number, [(10, 10)] * 45, attributes=10).seconds
        for number in (rows, refined)
    )
    assert one == pytest.approx(other)


def test_tables_of_three_are_reckoned_with_up_to_their_bound() -> None:
    """Of pairs that make none, nothing; of ever more and larger pairs no more memory than there is room
    for."""
    pair = (200, 200)
    one, three, many, more = (
        resources.of_finish(1_000, [pair] * count, attributes=20) for count in (1, 3, 190, 380)
    )
    cells = pair[0] * pair[1]

    def beyond(found: ResourceEstimate, count: int) -> int:
        own = (
            resources.of_finish(1_000, [pair], attributes=20).memory_bytes
            + (count - 1) * 64 * cells
        )
        return found.memory_bytes - own

    assert (
        beyond(one, 1)
        == 0
        < beyond(three, 3)
        < beyond(many, 190)
        == beyond(more, 380)
        < 100 * resources.MEGABYTE
    )
    assert one.seconds < three.seconds < many.seconds < more.seconds


def test_targets_of_more_columns_take_memory_for_each_of_them() -> None:
    """Costs are stored once for each axis, and looked up for each."""
    few, more = ((100, 100), (10, 10, 10, 10))
    two, four = (resources.of_finish(1_000, [shape], attributes=20) for shape in (few, more))
    stored = [
        cost_tables.build(
            np.zeros((4, 0), dtype=np.uint16),
            [(tuple(range(len(shape))), np.ones(shape))],
            allowed=(),
            weights=[1.0],
            softness=1.0,
        ).costs.nbytes
        for shape in (few, more)
    ]
    # Loops that offer all values keep a second copy, column by column.
    assert four.memory_bytes - two.memory_bytes == 2 * (stored[1] - stored[0])
    assert four.seconds > two.seconds


def test_open_columns_are_reckoned_with() -> None:
    domain = Domain(
        attributes=(*table(2, 10).attributes, Weak(name="word", values=Listed(["a", "b"])))
    )
    assert needed("independent", domain, 1_000).seconds > 0
    assert needed("weak-domain", domain, 1_000).memory_bytes > 0


def test_too_much_memory_is_refused_and_the_largest_columns_are_named() -> None:
    within = ResourceEstimate(memory_bytes=2_000 * resources.MEGABYTE, seconds=1.0)
    sizes = {"small": 2, "large": 900, "middle": 40, "larger": 1_000}
    resources.require_within(within, memory_mb=2_000, sizes=sizes)
    with pytest.raises(SpecError, match=r"2,001 MB.*'larger', 'large', 'middle'"):
        resources.require_within(
            ResourceEstimate(memory_bytes=within.memory_bytes + 1, seconds=1.0),
            memory_mb=2_000,
            sizes=sizes,
        )


def test_a_table_of_too_many_cells_is_refused_and_the_largest_columns_are_named() -> None:
    sizes = {"small": 2, "large": 50, "larger": 100, "middle": 10}
    resources.require_cells(sizes, most=100_000)
    with pytest.raises(SpecError, match=r"100,000 cells, more than 99,999") as refused:
        resources.require_cells(sizes, most=99_999)
    assert "'larger', 'large', 'middle'" in str(refused.value.repair)


def test_confirming_takes_longer_for_more_records_and_a_smaller_loss() -> None:
    def confirming(size: int, epsilon: float, copies: int = 1) -> float:
        needed = resources.of_confirming_groups(
            {size: (10, 40)}, unit=10, copies=copies, epsilon=epsilon
        )
        assert needed.seconds == needed.confirming_seconds
        return needed.confirming_seconds

    assert 0 < confirming(1_000, 4.0) < confirming(1_000, 1.0) < confirming(1_000, 1.0, 2)
    assert confirming(1_000, 1.0) < confirming(10_000, 1.0)
    # A prior so large that delta is 0 is no work.
    needed = resources.of_confirming_groups({5: (1_000, 40)}, unit=10, copies=1, epsilon=1.0)
    assert needed.seconds == 0
