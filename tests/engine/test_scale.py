"""Columns on a lattice: how they are declared, read, learned in rounds, sampled and fitted again."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import codec, mechanisms, pipeline, verifier
from synth_engine.domain import (
    Domain,
    Integer,
    Order,
    Range,
    Scale,
    ScaleBins,
    Weak,
    parse_attribute,
)
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.inference import round_numbers, scale_tree
from synth_engine.inference.scale_tree import CountedCells, Pieces
from synth_engine.kinds.lattice import Lattice
from synth_engine.kinds.scale_bins import MAX_PIECES
from synth_engine.measurement import Measurement, Noise
from synth_engine.mechanisms import uniform
from synth_engine.models.model import Model
from synth_engine.plans import budget_allocation, domain_learning, scale_learning
from synth_engine.plans.plan import Plan
from synth_engine.plans.scale_learning import MAX_BINS
from synth_engine.plans.two_stage import StagedPlan
from synth_engine.privacy.filter import price
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.noise_scale import MAX_SCALE
from synth_engine.privacy.unit import PrivacyUnit, Relation, histogram_sensitivity
from synth_engine.spec import Spec
from synth_engine.values import Listed
from tests.answers import replaced

DELTA = Fraction(1, 10**9)
LARGEST = 2**63 - 1
DAY = datetime.date.fromisoformat
CLOCK = datetime.datetime.fromisoformat


def scale(**facts: Any) -> Scale:
    return Scale(name="n", **({"of": "integer"} | facts))


def positions_of(*texts: str, **facts: Any) -> list[int]:
    return scale(**facts).positions(texts)[0].tolist()


# ---- lattices
# ----------------------------------------------------------------------------------------------------

LATTICES = [
    scale(low=0, high=9),
    scale(low=-7, high=14, step=7),
    scale(low=-5, high=60),
    scale(low=LARGEST - 9, high=LARGEST),
    scale(low=-LARGEST, high=-LARGEST + 12, step=4),
    scale(of="number", low=0, high=1, step=0.1),
    scale(of="number", low=-0.25, high=0.5, step=0.01),
    scale(of="number", low=999_999.5, high=1_000_001.0, step=0.25),
    scale(of="number", low=1e-7, high=3e-6, step=1e-7),
    scale(of="date", low=DAY("1999-12-25"), high=DAY("2000-03-05"), format="%m/%d/%y"),
    scale(of="date", low=DAY("1000-01-01"), high=DAY("1000-04-02"), step=7),
    scale(of="datetime", low=CLOCK("1969-12-31T23:59:30"), high=CLOCK("1970-01-01T00:00:30")),
    scale(
        of="datetime",
        low=CLOCK("2024-02-28"),
        high=CLOCK("2024-03-01"),
        step=1800,
        format="%d.%m.%Y %H:%M",
    ),
]


def in_one_bin(attribute: Scale) -> ScaleBins:
    ends = (0, attribute.lattice.count)
    return attribute.resolved(cuts=ends, pieces=ends, weights=(1,))


def written(attribute: Scale, positions: list[int]) -> list[str]:
    """The texts of values at positions, as a table has them."""
    bins = in_one_bin(attribute)
    none = np.zeros(len(positions), dtype=np.bool_)
    at = np.array(positions, dtype=np.uint64)
    values = pd.Series(attribute.lattice.values(at)).mask(none)
    kind = {"integer": "Int64", "number": "Float64"}.get(attribute.of)
    return list(bins.write(values if kind is None else values.astype(kind)).astype(str))


@pytest.mark.parametrize("attribute", LATTICES, ids=range(len(LATTICES)))
def test_every_position_is_written_and_read_as_itself(attribute: Scale) -> None:
    every = list(range(attribute.lattice.count))
    assert 4 <= len(every) <= 120
    texts = written(attribute, every)
    assert len(set(texts)) == len(every)
    positions, missing = attribute.positions(texts)
    assert positions.tolist() == every
    assert not missing.any()
    labels = [attribute.lattice.label(k) for k in every]
    assert len(set(labels)) == len(every)
    numbers = [attribute.lattice.number(k) for k in every]
    assert all(b - a == Fraction(str(attribute.step)) for a, b in pairwise(numbers))


@settings(max_examples=60)
@given(
    low=st.integers(-LARGEST, LARGEST - 1),
    step=st.integers(1, 2**53),
    steps=st.integers(1, 2**64),
    parts=st.lists(st.fractions(0, 1, max_denominator=10**9), min_size=1, max_size=8),
)
def test_whole_numbers_of_any_lattice_are_written_and_read_as_themselves(
    low: int, step: int, steps: int, parts: list[Fraction]
) -> None:
    steps = min(steps, (LARGEST - low) // step)
    if not steps:
        return
    attribute = scale(low=low, high=low + step * steps, step=step)
    positions = [int(part * steps) for part in parts]
    texts = written(attribute, positions)
    assert texts == [str(low + step * k) for k in positions]
    assert attribute.positions(texts)[0].tolist() == positions


@settings(max_examples=60)
@given(
    digits=st.integers(0, 9),
    low=st.integers(-(10**12), 10**12),
    steps=st.integers(1, 10**12),
    parts=st.lists(st.fractions(0, 1, max_denominator=10**9), min_size=1, max_size=8),
)
def test_decimals_of_any_lattice_are_written_and_read_as_themselves(
    digits: int, low: int, steps: int, parts: list[Fraction]
) -> None:
    unit = 10**digits
    attribute = scale(
        of="number", low=low / unit, high=(low + steps) / unit, step=float(f"1e-{digits}")
    )
    positions = [int(part * steps) for part in parts]
    texts = written(attribute, positions)
    assert list(map(float, texts)) == [(low + k) / unit for k in positions]
    assert attribute.positions(texts)[0].tolist() == positions


@pytest.mark.parametrize(
    ("facts", "count", "zero"),
    [
        ({"low": 0, "high": 9}, 10, 0),
        ({"low": -7, "high": 14, "step": 7}, 4, 1),
        ({"low": 100, "high": 120}, 21, -100),
        ({"low": -120, "high": -100}, 21, 120),
        ({}, 2 * 10**15 + 1, 10**15),
        ({"low": 0, "high": 2**60 - 1}, 2**60, 0),
        ({"low": -LARGEST, "high": LARGEST}, 2**64 - 1, LARGEST),
        ({"of": "number", "low": -1.5, "high": 1.5, "step": 0.5}, 7, 3),
        ({"of": "number", "low": 0.1, "high": 0.3, "step": 0.1}, 3, -1),
        ({"of": "number", "step": 0.01}, 2 * 10**14 + 1, 10**14),
        ({"of": "date", "low": DAY("2000-01-01"), "high": DAY("2000-12-31")}, 366, 0),
        ({"of": "date", "format": "%m/%d/%y"}, 36_525, 0),
        (
            {"of": "datetime", "low": CLOCK("2000-01-01"), "high": CLOCK("2000-01-02")},
            86_401,
            0,
        ),
    ],
)
def test_a_lattice_has_so_many_positions_and_its_zero(
    facts: dict[str, Any], count: int, zero: int
) -> None:
    lattice = scale(**facts).lattice
    assert (lattice.count, lattice.zero) == (count, zero)


def test_a_position_is_the_nearest_one_and_what_lies_beyond_is_at_the_end() -> None:
    ends = {"low": 0, "high": 100, "step": 10}
    texts = ("-1", "0", "4", "5", "14", "15", "100", "101", "9" * 400, "-" + "9" * 30)
    assert positions_of(*texts, **ends) == [0, 0, 0, 1, 1, 2, 10, 10, 10, 0]
    assert positions_of("0.24", "0.26", "-9", "9", of="number", low=0, high=1, step=0.5) == [
        0, 1, 0, 2,
    ]  # fmt: skip
    whole = {"low": -LARGEST, "high": LARGEST}
    texts = (str(-LARGEST), str(-LARGEST - 5), "0", str(LARGEST), str(2**63))
    assert positions_of(*texts, **whole) == [0, 0, LARGEST, 2**64 - 2, 2**64 - 2]


def test_two_digits_of_a_year_stand_for_a_hundred_years() -> None:
    column = scale(of="date", format="%m/%d/%y")
    positions, _ = column.positions(("01/01/69", "12/31/99", "01/01/00", "12/31/68"))
    assert [column.lattice.label(k) for k in positions.tolist()] == [
        "1969-01-01",
        "1999-12-31",
        "2000-01-01",
        "2068-12-31",
    ]


@pytest.mark.parametrize("attribute", [*LATTICES, scale(), scale(of="number", step=0.01)])
def test_divisors_divide_each_other_and_find_round_numbers(attribute: Scale) -> None:
    lattice = attribute.lattice
    assert lattice.divisors[0] == 1
    assert all(high > low and high % low == 0 for low, high in pairwise(lattice.divisors))
    for divisor in lattice.divisors:
        first = -lattice.remainder % divisor
        if first < lattice.count and lattice.has_zero:
            unit = divisor * Fraction(str(attribute.step))
            assert lattice.number(first) % unit == 0


# ---- declaring
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"low": 5, "high": 3}, "below high"),
        ({"low": 3, "high": 3}, "below high"),
        ({"low": 5}, "one bound"),
        ({"high": 5}, "one bound"),
        ({"low": 0, "high": 10, "step": 3}, "does not divide"),
        ({"of": "number", "low": 0, "high": 1, "step": 0.3}, "does not divide"),
        ({"low": 0, "high": 10**300}, "too large"),
        ({"low": -(2**63), "high": 0}, "too large"),
        ({"of": "number", "low": 0, "high": 1e300}, "too large"),
        ({"of": "number", "low": 0.0, "high": float("inf")}, "no number"),
        ({"of": "number", "low": float("nan"), "high": 1.0}, "no number"),
        ({"of": "number", "low": 0, "high": 1, "step": float("nan")}, "positive"),
        ({"of": "number", "step": float("inf")}, "positive"),
        ({"of": "number", "step": 1e-300}, "positive"),
        ({"step": 0}, "positive"),
        ({"step": -1}, "positive"),
        ({"step": 0.5}, "positive"),
        ({"of": "date", "step": 0}, "positive"),
        ({"of": "date", "step": 0.5}, "positive"),
        ({"of": "datetime", "step": -60}, "positive"),
        ({"low": 0.5, "high": 2}, "no integer"),
        ({"low": True, "high": 2}, "no integer"),
        ({"of": "date", "low": CLOCK("2000-01-01"), "high": CLOCK("2000-02-01")}, "no date"),
        ({"of": "datetime", "low": DAY("2000-01-01"), "high": DAY("2000-02-01")}, "datetime"),
        ({"of": "text"}, "scale"),
        ({"format": "%d"}, "format"),
        ({"of": "date", "format": "%m/%Y"}, "every day"),
        ({"of": "date", "format": "%d.%m"}, "every day"),
        ({"of": "datetime", "format": "%d.%m.%Y"}, "every step"),
        (
            {
                "of": "date",
                "low": DAY("2000-01-01"),
                "high": DAY("2300-01-01"),
                "format": "%d.%m.%y",
            },
            "every day",
        ),
        ({"low": 0, "high": 9, "missing": ("7",)}, "missing marker"),
        ({"low": -5, "high": 9, "missing": ("?", "-1")}, "missing marker"),
        ({"outside": "missing"}, "outside"),
        ({"outside": "other"}, "outside"),
        ({"of": "number", "low": 0, "high": 2**50, "step": 1}, "2\\^50"),
        ({"of": "number", "low": 0, "high": 1, "step": 1e-16}, "2\\^50"),
        ({"of": "number", "low": 1e15, "high": 1e15 + 1, "step": 1e-4}, "2\\^50"),
    ],
)
def test_a_column_that_cannot_be_is_refused_by_name(facts: dict[str, Any], rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        scale(**facts)
    assert refused.value.column == "n"
    assert refused.value.repair


@pytest.mark.parametrize(
    "attribute",
    [
        *LATTICES,
        scale(),
        scale(of="date"),
        scale(of="datetime", missing=("", "?")),
        scale(of="number", step=0.01, missing=("",), outside="missing"),
        scale(low=-LARGEST, high=LARGEST, step=1),
    ],
)
def test_a_column_survives_json(attribute: Scale) -> None:
    again = parse_attribute(json.loads(json.dumps(attribute.to_json())))
    assert again == attribute
    assert isinstance(again, Scale)
    assert again.lattice == attribute.lattice


def test_texts_are_missing_as_declared() -> None:
    texts = np.array(["3", "", "?", "many", "17", "-2"], dtype=object)
    ends = {"low": 0, "high": 9}
    for facts, expected in (
        ({}, [0, 0, 0, 0, 0, 0]),
        ({"missing": ("", "?")}, [0, 1, 1, 1, 0, 0]),
        ({"missing": ("?",), "outside": "missing"}, [0, 1, 1, 1, 1, 1]),
    ):
        column = scale(**ends, **facts)
        placed, missing = codec.positions(column, pa.array(texts.tolist()))
        assert missing.tolist() == list(map(bool, expected))
        assert codec.encode_column(column, texts).tolist() == expected
        assert placed[~missing].tolist() == [
            position
            for position, none in zip([3, 0, 0, 0, 9, 0], expected, strict=True)
            if not none
        ]


# ---- what was learned
# --------------------------------------------------------------------------------------------


def learned(attribute: Scale, *, shares: bool = False) -> ScaleBins:
    """Five bins of the column, one of which is a single value, the second one in several pieces."""
    count = attribute.lattice.count
    cuts = (0, 1, count // 3, count // 2, count - 1, count)
    inner = (1 + count // 3) // 2
    pieces = tuple(sorted({*cuts, inner}))
    weights = tuple(range(len(pieces) - 1))
    regions = (0, count // 2, count) if shares else ()
    divisors = len(attribute.lattice.divisors)
    return attribute.resolved(
        cuts=cuts,
        pieces=pieces,
        weights=weights,
        regions=regions,
        round_shares=((0,) * (divisors - 1) + (1,), (1,) + (0,) * (divisors - 1))
        if shares
        else (),
    )


WIDE = [
    *(each for each in LATTICES if each.lattice.count >= 20),
    scale(missing=("?",)),
    scale(of="number", step=0.01, missing=("",), outside="missing"),
    scale(low=-LARGEST, high=LARGEST),
    scale(of="date", missing=("",)),
    scale(of="datetime"),
]


@pytest.mark.parametrize("shares", [False, True], ids=["", "round numbers"])
@pytest.mark.parametrize("attribute", WIDE, ids=range(len(WIDE)))
def test_what_is_sampled_lies_in_its_bin_on_the_lattice_and_is_read_as_itself(
    attribute: Scale, shares: bool
) -> None:
    bins = learned(attribute, shares=shares)
    codes = np.tile(np.arange(bins.size), 400)
    sample = bins.sample(codes, np.random.default_rng(1))
    texts = bins.write(sample).fillna((bins.missing or ("",))[0]).astype(str)
    assert codec.encode_column(bins, texts.to_numpy(dtype=object)).tolist() == codes.tolist()
    present = codes != bins.missing_code
    positions, outside = bins.lattice.positions(texts[present].tolist(), bins)
    assert not outside.any()
    for position, code in zip(positions.tolist(), codes[present].tolist(), strict=True):
        assert bins.cuts[code] <= position < bins.cuts[code + 1]


@pytest.mark.parametrize("markers", [("-1",), ("-1", "0"), ("0", "-1", "?")])
def test_a_marker_is_read_first_and_never_generated_where_there_are_no_bounds(
    markers: tuple[str, ...],
) -> None:
    column = scale(missing=markers)
    _, missing = codec.positions(column, pa.array(["-1", "0", "1", "7"]))
    assert missing.tolist() == ["-1" in markers, "0" in markers, False, False]
    zero = column.lattice.zero
    cuts = (zero - 2, zero + 2)
    bins = column.resolved(cuts=cuts, pieces=cuts, weights=(1,))
    drawn = bins.sample(np.tile([0, 1], 200), np.random.default_rng(7))
    assert drawn[1::2].isna().all()
    values = set(map(str, drawn[::2]))
    assert len(values) >= 2
    assert not values & set(markers)


def test_values_lie_in_the_pieces_of_a_bin_by_their_weights() -> None:
    bins = scale(low=0, high=99).resolved(
        cuts=(0, 50, 100), pieces=(0, 10, 20, 50, 60, 100), weights=(1, 0, 3, 0, 0)
    )
    first = bins.sample(np.zeros(20_000, dtype=np.intp), np.random.default_rng(2)).to_numpy(
        dtype=np.int64
    )
    # Binomial with standard deviation 61; the second piece has no weight.
    assert abs(int((first < 10).sum()) - 5_000) < 7 * 61
    assert not ((first >= 10) & (first < 20)).any()
    assert len(set(first.tolist())) == 40
    # A bin without any weight has each piece alike.
    second = bins.sample(np.ones(20_000, dtype=np.intp), np.random.default_rng(3)).to_numpy(
        dtype=np.int64
    )
    assert abs(int((second < 60).sum()) - 10_000) < 7 * 71


@pytest.mark.parametrize("low", [0, -3, 17])
def test_shares_of_round_numbers_give_multiples(low: int) -> None:
    column = scale(low=low, high=low + 999)
    divisors = column.lattice.divisors
    fifty = divisors.index(50)
    shares = tuple(1 if place == fifty else 0 for place in range(len(divisors)))
    ends = (0, 1_000)
    bins = column.resolved(
        cuts=ends, pieces=ends, weights=(1,), regions=ends, round_shares=(shares,)
    )
    drawn = bins.sample(np.zeros(5_000, dtype=np.intp), np.random.default_rng(4))
    values = set(drawn.astype(int))
    assert values == {value for value in range(low, low + 1_000) if value % 50 == 0}


def test_a_narrow_piece_around_a_round_number_has_little_else() -> None:
    """Half of the values are multiples of 50. A piece of 10 positions with one of them holds 5 parts to 1 of
    these, and a piece without one none."""
    column = scale(low=0, high=999)
    fifty = column.lattice.divisors.index(50)
    shares = tuple(int(place in (0, fifty)) for place in range(len(column.lattice.divisors)))
    cuts = (95, 105, 115)
    bins = column.resolved(
        cuts=cuts, pieces=cuts, weights=(1, 1), regions=(95, 115), round_shares=(shares,)
    )
    drawn = bins.sample(np.repeat([0, 1], 12_000), np.random.default_rng(6)).to_numpy(
        dtype=np.int64
    )
    # 5/6, and of the rest one in ten; a binomial count with standard deviation 39.
    expected = 12_000 * (5 / 6 + 1 / 60)
    assert abs(int((drawn[:12_000] == 100).sum()) - expected) < 7 * 39
    assert set(drawn[:12_000].tolist()) == set(range(95, 105))
    counted = np.bincount(drawn[12_000:] - 105, minlength=10)
    assert counted.size == 10
    assert np.abs(counted - 1_200).max() < 7 * 33


def test_a_piece_without_a_round_number_has_any_value() -> None:
    column = scale(low=0, high=999)
    shares = (0,) * (len(column.lattice.divisors) - 1) + (1,)
    ends = (101, 104)
    bins = column.resolved(
        cuts=ends, pieces=ends, weights=(1,), regions=ends, round_shares=(shares,)
    )
    drawn = bins.sample(np.zeros(300, dtype=np.intp), np.random.default_rng(5))
    assert set(drawn.astype(int)) == {101, 102, 103}


@pytest.mark.parametrize("shares", [False, True], ids=["", "round numbers"])
@pytest.mark.parametrize("attribute", WIDE, ids=range(len(WIDE)))
def test_learned_bins_survive_json(attribute: Scale, shares: bool) -> None:
    bins = learned(attribute, shares=shares)
    document = json.loads(json.dumps(bins.to_json()))
    # Not every reader of JSON tells larger numbers apart.
    assert all(abs(k) <= 2**53 for k in document["cuts"] if isinstance(k, int))
    again = parse_attribute(document)
    assert again == bins
    assert again.to_json() == bins.to_json()


@pytest.mark.parametrize(
    "changes",
    [
        {"cuts": (0, 5, 5, 10)},
        {"cuts": (0, 6, 3, 10)},
        {"cuts": (0,), "pieces": (0,), "weights": ()},
        {"cuts": (0, 4, 10)},
        {"cuts": (0, 5)},
        {"pieces": (0, 5, 11)},
        {"pieces": (-1, 5, 10)},
        {"weights": (1,)},
        {"weights": (1, -1)},
        {"regions": (0, 10)},
        {"round_shares": ((1, 0),)},
        {"regions": (0, 10), "round_shares": ((1,),)},
        {"regions": (0, 10), "round_shares": ((0, 0),)},
        {"regions": (0, 10), "round_shares": ((2, -1),)},
    ],
)
def test_bins_that_do_not_fit_each_other_are_refused(changes: dict[str, Any]) -> None:
    column = scale(low=0, high=9)
    assert column.lattice.divisors == (1, 5)
    facts: dict[str, Any] = {"cuts": (0, 5, 10), "pieces": (0, 5, 10), "weights": (1, 1)}
    column.resolved(**facts)
    with pytest.raises(DomainError, match="do not fit"):
        column.resolved(**(facts | changes))


def test_only_bins_of_the_same_lattice_are_admitted() -> None:
    column = scale(low=0, high=99, missing=("?",))
    bins = learned(column)
    assert column.admits(bins)
    for other in (
        scale(low=0, high=100, missing=("?",)),
        scale(low=0, high=99, missing=("!",)),
        scale(low=0, high=99, missing=("?",), outside="missing"),
        scale(low=0, high=99),
        scale(low=0, high=198, step=2, missing=("?",)),
        scale(missing=("?",)),
    ):
        assert not other.admits(bins)
        assert not column.admits(learned(other))
    assert not column.admits(replace(bins, provenance="declared"))
    assert not column.admits(Integer(name="n", low=0, high=99, missing=("?",)))
    assert not column.admits(column)


# ---- the tree of rounds
# ------------------------------------------------------------------------------------------


@given(count=st.integers(2, 2**64), zero=st.integers(-(2**70), 2**70))
@settings(max_examples=150)
def test_the_first_partition_covers_the_lattice_and_holds_zero_by_itself(
    count: int, zero: int
) -> None:
    cuts = scale_tree.first_cuts(count, zero=zero)
    assert (cuts[0], cuts[-1]) == (0, count)
    assert all(a < b for a, b in pairwise(cuts))
    assert len(cuts) < 250
    for value in (zero, zero + 1):
        if 0 <= value < count - 1:
            assert {value, value + 1} <= set(cuts)


@st.composite
def rounds_of_counts(draw: st.DrawFn) -> tuple[list[CountedCells], int]:
    """Answers of any kind to questions as a run asks them."""
    count = draw(st.integers(2, 300) | st.integers(2, 2**64))
    zero = draw(st.integers(-5, count + 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rounds: list[CountedCells] = []
    for _ in range(draw(st.integers(1, 5))):
        variance = draw(st.sampled_from([0.01, 1.0, 30.0, 1e6]))
        cuts = scale_tree.next_cuts(rounds, count=count, zero=zero, spread=variance**0.5)
        largest = draw(st.sampled_from([0, 5, 1_000, 10**12]))
        values = rng.integers(-largest - 1, largest + 1, len(cuts) - 1).astype(np.float64)
        if draw(st.booleans()):
            values[rng.integers(values.size)] += 10.0 * largest
        rounds.append(CountedCells(cuts=cuts, values=values, variance=variance))
    return rounds, zero


@given(rounds_of_counts())
@settings(max_examples=150)
def test_partitions_refine_each_other_and_counts_add_up(
    answered: tuple[list[CountedCells], int],
) -> None:
    rounds, zero = answered
    for coarse, fine in pairwise(rounds):
        assert set(coarse.cuts) <= set(fine.cuts)
        assert all(a < b for a, b in pairwise(fine.cuts))
        # Cuts on round numbers may be two and a half times as many as were meant.
        assert len(fine.cuts) <= 3 * scale_tree.MAX_CELLS
    counts = scale_tree.leaf_counts(rounds)
    assert counts.shape == (len(rounds[-1].cuts) - 1,)
    assert counts.min() >= 0
    # Estimates of the coarse cells are sums of those of the fine ones; with one round, they are the counts
    # themselves.
    if len(rounds) == 1 and rounds[0].values.min() >= 0:
        assert counts == pytest.approx(rounds[0].values)
    pieces = scale_tree.pieces(rounds, zero=zero)
    assert (pieces is not None) == scale_tree.is_found(rounds)
    if pieces is None:
        return
    assert sum(pieces.weights) > 0
    assert all(a < b for a, b in pairwise(pieces.starts))
    assert pieces.starts[0] >= 0
    assert pieces.starts[-1] <= rounds[0].cuts[-1]
    assert len(pieces.weights) == len(pieces.leaf) == len(pieces.starts) - 1
    assert min(pieces.weights) >= 0
    assert list(pieces.leaf) == sorted(pieces.leaf)


@given(rounds_of_counts(), st.sampled_from(["1", "1.2", "1.41", "2.4", "4"]))
@settings(max_examples=150)
def test_shares_of_rounds_never_add_up_to_more_than_the_budget(
    answered: tuple[list[CountedCells], int], times: str
) -> None:
    """Whatever was answered, and however many rounds a plan would go on asking."""
    rounds, zero = answered
    most = Fraction(times)
    spent, asked = Fraction(0), []
    for number in range(30):
        share = scale_tree.next_share(asked, most=most)
        if share is None:
            break
        assert share >= scale_tree.FIRST_SHARE
        spent += share
        last = rounds[min(number, len(rounds) - 1)]
        if asked:
            cuts = scale_tree.next_cuts(
                asked, count=rounds[0].cuts[-1], zero=zero, spread=1.0, most=most
            )
            values = np.full(len(cuts) - 1, last.values.max())
        else:
            cuts, values = rounds[0].cuts, rounds[0].values
        asked.append(CountedCells(cuts=cuts, values=values, variance=last.variance))
    assert spent <= most
    assert spent >= 1 or not scale_tree.is_found(asked, most=most)
    assert 2 <= len(asked) <= 7


def test_estimates_agree_with_exact_counts_and_put_records_where_they_are() -> None:
    """10,000 records at 700, and 10,000 spread over 0 … 99, on a lattice of 2^60 positions, almost without
    noise."""
    values = np.sort(np.append(np.full(10_000, 700), np.repeat(np.arange(100), 100)))
    rounds: list[CountedCells] = []
    while scale_tree.next_share(rounds) is not None:
        cuts = scale_tree.next_cuts(rounds, count=2**60, zero=0, spread=0.5)
        ends = np.searchsorted(values, [min(cut, 2**61) for cut in cuts])
        rounds.append(
            CountedCells(cuts=cuts, values=np.diff(ends).astype(np.float64), variance=0.01)
        )
    pieces = scale_tree.pieces(rounds, zero=0)
    assert pieces is not None
    assert {700, 701} <= set(pieces.starts)
    spike = pieces.starts.index(700)
    assert pieces.weights[spike] / sum(pieces.weights) == pytest.approx(0.5, abs=0.001)
    assert set(range(100)) <= set(pieces.starts)


@pytest.mark.parametrize(
    ("count", "first", "step"),
    [
        (2**62, 2**61 + 12_345_678_901, 1_000),
        (63_113_904_000, 32_000_000_000, 1),
        (10**6, 500_000, 1),
    ],
    ids=["whole numbers far from zero", "moments", "a narrow range"],
)
def test_rounds_go_on_splitting_however_many_records_there_are(
    count: int, first: int, step: int
) -> None:
    """A million records at 1,000 positions that lie in one cell of the first round: they are told apart in
    the end."""
    values = first + np.repeat(step * np.arange(1_000, dtype=np.int64), 1_000)
    rounds: list[CountedCells] = []
    while scale_tree.next_share(rounds) is not None:
        cuts = scale_tree.next_cuts(rounds, count=count, zero=0, spread=1.0)
        ends = np.searchsorted(values, np.array(cuts, dtype=np.int64))
        rounds.append(
            CountedCells(cuts=cuts, values=np.diff(ends).astype(np.float64), variance=1.0)
        )
    held = rounds[-1].values
    assert len(held) <= 3 * scale_tree.MAX_CELLS
    assert (held > 0).sum() >= 12
    assert held.max() <= 200_000
    pieces = scale_tree.pieces(rounds, zero=0)
    assert pieces is not None
    assert len(pieces.weights) <= MAX_PIECES


def noisy_pieces(values: npt.NDArray[np.int64], *, count: int, first_spread: float) -> Pieces:
    """The density learned from rounds with noise of one seed. first_spread: its standard deviation in the
    first round; of the others by their shares."""
    rng = np.random.default_rng(12)
    rounds: list[CountedCells] = []
    while (share := scale_tree.next_share(rounds)) is not None:
        spread = first_spread * (float(scale_tree.FIRST_SHARE) / float(share)) ** 0.5
        cuts = scale_tree.next_cuts(rounds, count=count, zero=0, spread=spread)
        held = np.diff(np.searchsorted(np.sort(values), np.array(cuts, dtype=np.int64)))
        noisy = held + np.rint(rng.normal(0, spread, held.size))
        rounds.append(CountedCells(cuts=cuts, values=noisy, variance=spread**2))
    pieces = scale_tree.pieces(rounds, zero=0)
    assert pieces is not None
    return pieces


def kolmogorov_distance(pieces: Pieces, values: npt.NDArray[np.int64]) -> float:
    """Between the values and the density, in which the positions of a piece are equally likely."""
    starts = np.array(pieces.starts, dtype=np.float64)
    reached = np.append(0, np.cumsum(pieces.weights)) / sum(pieces.weights)
    distances = []
    for value in np.unique(values).tolist():
        for end, below in (
            (value, np.mean(values < value)),
            (value + 1, np.mean(values <= value)),
        ):
            distances.append(abs(float(np.interp(end, starts, reached)) - float(below)))
    return max(distances)


def test_a_few_frequent_values_among_very_many_positions_are_found() -> None:
    """20 values, each of a twentieth of the records, with as much noise as one of 18 learned columns has:
    leaves in which one value is drawn anywhere would be half of its share off."""
    rng = np.random.default_rng(5)
    frequent = np.sort(np.exp(rng.uniform(np.log(100), np.log(500_000), 20)).astype(np.int64))
    values = np.repeat(frequent, 1_350)
    pieces = noisy_pieces(values, count=2**50, first_spread=108.0)
    assert kolmogorov_distance(pieces, values) <= 0.02


def test_a_peak_beside_an_outermost_leaf_does_not_tilt_it() -> None:
    """A leaf of 200 positions beside one of 10 that is ten times as dense, and 190 that are as dense as
    itself."""
    cuts = (0, 190, 200, 400)
    flat = scale_tree._tilts(cuts, np.array([1_900.0, 1_000.0, 2_000.0]))
    alone = scale_tree._tilts((190, 200, 400), np.array([1_000.0, 2_000.0]))
    assert 0 < flat[2] < alone[1] / 3


def test_shares_of_round_numbers_are_those_of_the_mixture() -> None:
    divisors = (1, 5, 10, 50)
    # 800 values anywhere, 1,000 among the multiples of 10: what has 10 as its largest divisor, and so on.
    anywhere = np.array([0.8, 0.1, 0.08, 0.02]) * 1_000
    tens = np.array([0, 0, 0.8, 0.2]) * 2_000
    (parts,) = round_numbers.shares((anywhere + tens)[None], divisors, spread=0.5)
    assert [part / sum(parts) for part in parts] == pytest.approx(
        [1 / 3, 0, 2 / 3, 0], abs=1e-3
    )
    assert round_numbers.shares(anywhere[None], divisors, spread=0.5) == ()
    assert round_numbers.shares(np.zeros((1, 4)), divisors, spread=3.0) == ()
    assert round_numbers.shares(np.full((1, 4), -5.0), divisors, spread=3.0) == ()


@given(
    st.lists(st.lists(st.integers(-(10**9), 10**9), min_size=4, max_size=4), min_size=1, max_size=8),
    st.sampled_from([0.1, 10.0, 1e5]),
)  # fmt: skip
@settings(max_examples=100)
def test_shares_of_round_numbers_always_make_a_column(
    table: list[list[int]], spread: float
) -> None:
    column = scale(low=0, high=99)
    divisors = (1, 5, 10, 50)
    assert column.lattice.divisors == divisors
    shares = round_numbers.shares(np.array(table, dtype=np.float64), divisors, spread=spread)
    assert len(shares) in (0, len(table))
    if shares:
        regions = tuple(range(len(table) + 1))
        column.resolved(
            cuts=(0, 100), pieces=(0, 100), weights=(1,), regions=regions, round_shares=shares
        )


# ---- whole runs
# --------------------------------------------------------------------------------------------------


def people(path: Path, *, records: int = 3_000) -> Path:
    """Pay is rounded or 0 or missing, weight a decimal, day and moment of another form each."""
    rng = np.random.default_rng(11)
    pay = np.rint(np.exp(rng.normal(10, 0.6, records))).astype(np.int64)
    pay = np.where(rng.random(records) < 0.5, pay // 1_000 * 1_000, pay)
    pay = np.where(rng.random(records) < 0.2, 0, pay)
    texts = np.where(rng.random(records) < 0.1, "?", pay.astype(str))
    weight = np.round(rng.normal(70, 12, records), 1)
    day = np.datetime64("1985-01-01") + rng.integers(0, 3_000, records)
    moment = np.datetime64("2023-06-01T08:00:00") + rng.integers(0, 10**6, records)
    group = rng.integers(0, 3, records)
    lines = [
        f"{a},{b},{c:%m/%d/%y},{d},{e}"
        for a, b, c, d, e in zip(
            texts, weight, pd.to_datetime(day), moment.astype(str), group, strict=True
        )
    ]
    path.write_text("\n".join(["pay,weight,day,moment,level", *lines]) + "\n")
    return path


PAY = Scale(name="pay", of="integer", missing=("?",))
WEIGHT = Scale(name="weight", of="number", step=0.1)
BORN = Scale(name="day", of="date", format="%m/%d/%y")
MOMENT = Scale(name="moment", of="datetime")
LEVEL = Integer(name="level", low=0, high=2)
PEOPLE = Domain(attributes=(PAY, WEIGHT, BORN, MOMENT, LEVEL))


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["laplace", "gaussian"])
def test_a_run_with_a_large_budget_gives_back_the_distribution_of_each_column(
    delta: Fraction, tmp_path: Path
) -> None:
    path = people(tmp_path / "people.csv")
    spec = Spec(mechanism="independent", epsilon=Fraction(500), delta=delta)
    release = pipeline.synthesize(path, domain=PEOPLE, spec=spec)
    verifier.verify(release.plan.receipt(release.answers))
    real = pd.read_csv(path, na_values="?")
    drawn = mechanisms.draw_table(release.model, 3_000, "seed")
    assert drawn["pay"].isna().mean() == pytest.approx(real["pay"].isna().mean(), abs=0.03)
    columns = {
        "pay": real["pay"],
        "weight": real["weight"],
        "day": pd.to_datetime(real["day"], format="%m/%d/%y"),
        "moment": pd.to_datetime(real["moment"]),
    }
    for name, column in columns.items():
        for part in (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98):
            value = column.dropna().quantile(part, interpolation="nearest")
            its_share = (drawn[name].dropna() <= value).mean()
            # Noise moves it by less than 0.005.
            assert its_share == pytest.approx((column.dropna() <= value).mean(), abs=0.03)
    pay = drawn["pay"].dropna().astype(int)
    its_pay = columns["pay"].dropna()
    assert (pay == 0).mean() == pytest.approx((its_pay == 0).mean(), abs=0.03)
    assert (pay % 1_000 == 0).mean() == pytest.approx((its_pay % 1_000 == 0).mean(), abs=0.03)
    for attribute in release.model.domain.attributes[:4]:
        assert isinstance(attribute, ScaleBins)
        assert 4 <= attribute.value_count <= MAX_BINS
        assert attribute.facts["bounds"] == "learned"


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_stored_answers_give_the_same_model_and_those_of_another_plan_are_refused(
    epsilon: Fraction, delta: Fraction, tmp_path: Path
) -> None:
    path = people(tmp_path / "people.csv", records=800)
    domain = Domain(attributes=(PAY, BORN, LEVEL))
    spec = Spec(mechanism="independent", epsilon=epsilon, delta=delta)
    plan = mechanisms.plan(domain, spec)
    answers = pipeline.measure(path, plan=plan)
    model = plan.fit(answers)
    again = mechanisms.plan(Domain.from_json(domain.to_json()), spec)
    assert again.fit(answers).to_json() == model.to_json()
    assert Model.from_json(model.to_json()).to_json() == model.to_json()
    verifier.verify(plan.receipt(answers))
    asked = [call for call in answers.calls if call.query.verb == "intervals"]
    # Two rounds at least of each column, and the question about round numbers of the first one.
    assert [call.query.clique for call in asked].count(("pay",)) >= 3
    assert [call.query.clique for call in asked].count(("day",)) >= 2
    first, second, *rest = answers.measurements
    for measurements in (
        (second, first, *rest),
        (second, *rest),
        rest,
        (),
        (first, first, *rest),
        (louder(first), second, *rest),
        (shorter(first), second, *rest),
        (of_column(first, "day"), second, *rest),
    ):
        with pytest.raises(InputError, match="not of this plan"):
            again.fit(replaced(answers, Measurement, tuple(measurements)))
    others = (
        Domain(attributes=(BORN, PAY, LEVEL)),
        Domain(attributes=(replace(PAY, missing=None), BORN, LEVEL)),
        Domain(attributes=(replace(PAY, low=0, high=10**7), BORN, LEVEL)),
    )
    for other in others:
        with pytest.raises(InputError, match="not of this plan"):
            mechanisms.plan(other, spec).fit(answers)
    with pytest.raises(InputError, match="not of this plan"):
        mechanisms.plan(domain, replace(spec, epsilon=2 * epsilon)).fit(answers)


@pytest.mark.parametrize(
    "other",
    [{"low": 0, "high": 2_000, "step": 2}, {"low": -500, "high": 500}],
    ids=["step", "bounds"],
)
def test_answers_about_another_lattice_with_as_many_positions_are_refused(
    other: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "".join(f"{i * i % 997}\n" for i in range(500)))
    spec = Spec(mechanism="independent", epsilon=Fraction(1), delta=Fraction(0))

    def plan_of(**facts: Any) -> Plan:
        attribute = Scale(name="x", of="integer", **facts)
        return mechanisms.plan(Domain(attributes=(attribute,)), spec)

    answers = pipeline.measure(path, plan=plan_of(low=0, high=1_000))
    plan_of(low=0, high=1_000).fit(answers)
    with pytest.raises(InputError, match="not of this plan"):
        plan_of(**other).fit(answers)


@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=300),
    st.integers(2, MAX_BINS),
)
def test_there_are_never_more_bins_than_wanted(weights: list[int], most: int) -> None:
    pieces = Pieces(
        starts=tuple(range(len(weights) + 1)),
        weights=tuple(weights),
        leaf=tuple(range(len(weights))),
    )
    cuts = scale_learning._bin_cuts(pieces, most=most)
    assert len(cuts) - 1 <= most
    assert (cuts[0], cuts[-1]) == (0, len(weights))
    assert all(a < b for a, b in pairwise(cuts))


def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_paid() -> None:
    sensitivity = histogram_sensitivity(PrivacyUnit(), Relation.ADD_REMOVE)
    # Enough for the noise of the first round, which costs a fifth, and not for that of cheaper ones.
    budget = Pure(epsilon=7 / MAX_SCALE)
    budget_allocation.noise(budget.of(budget.epsilon / 5), sensitivity)
    with pytest.raises(SpecError, match="too large or too small to be drawn"):
        domain_learning.question(scale(), budget, sensitivity)
    domain_learning.question(scale(), Pure(epsilon=70 / MAX_SCALE), sensitivity)


def louder(answer: Measurement) -> Measurement:
    noise = Noise(law=answer.noise.law, scale=2 * answer.noise.scale)
    return replace(answer, noise=noise)


def shorter(answer: Measurement) -> Measurement:
    return replace(answer, values=answer.values[:-1])


def of_column(answer: Measurement, name: str) -> Measurement:
    return replace(answer, clique=(name,))


@pytest.mark.parametrize("delta", [Fraction(0), DELTA], ids=["laplace", "gaussian"])
def test_a_run_stays_within_its_budget_and_its_columns_within_their_parts(
    delta: Fraction, tmp_path: Path
) -> None:
    path = people(tmp_path / "people.csv", records=800)
    spec = Spec(mechanism="independent", epsilon=Fraction(1), delta=delta)
    plan = mechanisms.plan(PEOPLE, spec)
    assert isinstance(plan, StagedPlan)
    answers = pipeline.measure(path, plan=plan)
    receipt = plan.receipt(answers)
    assert verifier.verify(receipt).epsilon <= 1
    for question in plan.questions:
        name = question.attribute.name
        events = [
            call.event
            for call in answers.calls
            if call.query.verb == "intervals" and call.query.clique == (name,)
        ]
        cost = sum((price(event, plan.cap) for event in events), Fraction(0))
        part = question.budget.amount  # type: ignore[union-attr]
        assert Fraction(99, 100) * part <= cost <= part * question.most  # type: ignore[union-attr]


def test_a_static_mechanism_learns_a_column_on_a_lattice_before_it_begins(
    tmp_path: Path,
) -> None:
    path = people(tmp_path / "people.csv", records=800)
    word = Weak(name="level", values=Listed(["0", "1", "2", "3"]), rho=0.5)
    domain = Domain(attributes=(PAY, word))
    spec = Spec(mechanism="weak-domain", epsilon=Fraction(2))
    assert not isinstance(mechanisms.plan(Domain(attributes=(word,)), spec), StagedPlan)
    plan = mechanisms.plan(domain, spec)
    assert isinstance(plan, StagedPlan)
    answers = pipeline.measure(path, plan=plan)
    assert "intervals" in [call.query.verb for call in answers.calls]
    model = plan.fit(answers)
    assert isinstance(model.domain.attribute("pay"), ScaleBins)
    verifier.verify(plan.receipt(answers))


@pytest.mark.parametrize("mechanism", ["random", "mst", "auto", "bayesian-network"])
def test_other_mechanisms_count_by_what_was_learned(mechanism: str, tmp_path: Path) -> None:
    path = people(tmp_path / "people.csv", records=400)
    domain = Domain(attributes=(PAY, WEIGHT, LEVEL))
    spec = Spec(mechanism=mechanism, epsilon=Fraction(2), delta=DELTA)
    if "approximate" not in mechanisms.REGISTRY[mechanism].losses:
        spec = replace(spec, delta=Fraction(0))
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    verifier.verify(release.plan.receipt(release.answers))
    drawn = mechanisms.draw_table(release.model, 50, "seed")
    assert len(drawn) == 50
    assert list(drawn.columns) == ["pay", "weight", "level"]


def test_the_report_compares_under_what_was_learned(tmp_path: Path) -> None:
    path = people(tmp_path / "people.csv", records=800)
    domain = Domain(attributes=(PAY, BORN, LEVEL))
    release = pipeline.synthesize(
        path, domain=domain, spec=Spec(mechanism="independent", epsilon=Fraction(4))
    )
    report = pipeline.report(path, model=release.model, rows=500, seed="seed")
    pay = next(each for each in report["attributes"] if each["name"] == "pay")
    assert pay["labels"][-1] == "(missing)"
    assert json.dumps(report)


def test_a_table_without_a_value_still_gives_a_column(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("pay\n" + "?\n" * 30)
    release = pipeline.synthesize(
        path,
        domain=Domain(attributes=(PAY,)),
        spec=Spec(mechanism="independent", epsilon=Fraction(100)),
    )
    assert mechanisms.draw_table(release.model, 30, "seed")["pay"].isna().all()


# ---- constraints
# -------------------------------------------------------------------------------------------------


ORDERED = [
    ({"low": 0, "high": 999}, (0, 100, 101, 1_000), (100, 400, 1_000)),
    ({"low": -500, "high": 4_495, "step": 5}, (0, 100, 101, 1_000), (0, 1, 2, 990)),
    ({"of": "number", "step": 0.01}, (0, 10**14, 10**14 + 3, 10**14 + 900), (10**14, 10**14 + 7)),
    ({"of": "date", "missing": ("",)}, (0, 365_000, 365_100), (364_000, 365_050, 366_000)),
    ({"of": "datetime"}, (10**10, 10**10 + 50, 10**10 + 900), (10**10 + 7, 10**10 + 30)),
]  # fmt: skip


@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize(("facts", "first", "second"), ORDERED, ids=range(len(ORDERED)))
def test_an_order_of_two_learned_columns_holds_in_samples(
    facts: dict[str, Any], first: tuple[int, ...], second: tuple[int, ...], strict: bool
) -> None:
    start, stop = (
        replace(scale(**facts), name=name).resolved(
            cuts=cuts, pieces=cuts, weights=(1,) * (len(cuts) - 1)
        )
        for name, cuts in (("start", first), ("stop", second))
    )
    order = Order(first="start", second="stop", strict=strict)
    domain = Domain(attributes=(start, stop), constraints=(order,))
    drawn = mechanisms.draw_table(uniform.model(domain, rows=1), 3_000, "s")
    both = drawn[drawn["start"].notna() & drawn["stop"].notna()]
    assert len(both) > 1_000
    below = both["start"] < both["stop"] if strict else both["start"] <= both["stop"]
    assert below.all()
    free = replace(domain, constraints=())
    drawn = mechanisms.draw_table(uniform.model(free, rows=1), 3_000, "s")
    assert (drawn["start"] > drawn["stop"]).any(), "nothing was to be repaired"


def test_a_range_is_still_a_grid() -> None:
    """The older kind of column with wide bounds keeps its meaning beside the new one."""
    wide = Range(name="n", of="integer", low=0, high=10**6)
    assert not wide.admits(in_one_bin(scale(low=0, high=10**6)))
    assert not scale(low=0, high=10**6).admits(wide)


def test_a_lattice_is_compared_by_its_facts() -> None:
    assert Lattice(of="integer", low=0, high=9) == scale(low=0, high=9).lattice
    assert Lattice(of="integer", low=0, high=10, step=5) != scale(low=0, high=10).lattice
