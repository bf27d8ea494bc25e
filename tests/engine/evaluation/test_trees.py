"""Real and synthetic records by cells: the earth mover's distance by depth, and that of a plain resample."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.evaluation import trees
from synth_engine.evaluation.figures import cells
from synth_engine.evaluation.report import compare, tally
from synth_engine.evaluation.tallies import CodedTable
from synth_engine.hierarchy import SpatialHierarchy, StringHierarchy
from synth_engine.indexing import places
from tests.engine.evaluation.test_tree_cells import domain

SQUARE = SpatialHierarchy(columns=("north", "east"), low=(0, 0), high=(1, 1), resolution=3)


def held(points: list[tuple[float, float]]) -> trees.OccupiedCells:
    return trees.aggregate(SQUARE, SQUARE.encode(np.array(points)))


def test_a_difference_counts_from_the_depth_on_at_which_records_part() -> None:
    real, near, far = (
        held([(0.1, 0.1), (0.9, 0.9)]),
        held([(0.2, 0.1), (0.9, 0.9)]),
        held([(0.9, 0.1), (0.9, 0.9)]),
    )
    assert [trees.share_difference(real.at(depth), near.at(depth)) for depth in (1, 2, 3)] == [
        0,
        0,
        1,
    ]
    assert [trees.share_difference(real.at(depth), far.at(depth)) for depth in (1, 2, 3)] == [
        1,
        1,
        1,
    ]
    assert [trees.share_difference(real.at(depth), real.at(depth)) for depth in (1, 2, 3)] == [
        0,
        0,
        0,
    ]


def test_tables_of_other_sizes_are_compared_by_their_shares() -> None:
    once, twice = held([(0.1, 0.1), (0.9, 0.9)]), held([(0.1, 0.1), (0.9, 0.9)] * 2)
    assert twice.records == 4 and trees.share_difference(once.at(3), twice.at(3)) == 0


def test_cells_of_a_depth_hold_what_lies_below_for_points_and_for_texts() -> None:
    words = StringHierarchy(columns=("word",), alphabet="abc", longest=3)
    found = trees.aggregate(words, words.encode(["ab", "abc", "ab", "c", ""]))
    assert [found.at(depth).counts.tolist() for depth in (0, 1, 2, 3)] == [
        [5],
        [1, 3, 1],
        [1, 3, 1],
        [1, 2, 1, 1],
    ]
    rng = np.random.default_rng(0)
    many = held([tuple(each) for each in rng.random((500, 2))])
    for depth in range(4):
        assert many.at(depth).records == 500
        assert np.array_equal(many.at(depth).codes, np.unique(SQUARE.prefix(many.codes, depth)))


@pytest.mark.parametrize(
    ("size", "share"),
    [(1, Fraction(1, 3)), (7, Fraction(2, 7)), (40, Fraction(39, 40)), (9, Fraction(1))],
)
def test_the_mean_deviation_of_a_binomial_is_exact(size: int, share: Fraction) -> None:
    wanted = sum(
        comb(size, k) * share**k * (1 - share) ** (size - k) * abs(k - size * share)
        for k in range(size + 1)
    )
    assert trees.mean_deviation(size, float(share)) == pytest.approx(float(wanted))


def test_the_line_of_a_resample_is_what_resamples_come_to_on_average() -> None:
    rng = np.random.default_rng(5)
    real = trees.aggregate(SQUARE, SQUARE.encode(rng.beta(2, 5, (300, 2))))
    for depth in (1, 3):
        at = real.at(depth)
        draws = rng.multinomial(200, at.counts / at.records, size=4000)
        wanted = np.abs(draws / 200 - at.counts / at.records).sum(axis=1).mean()
        assert trees.resample_difference(at.counts, size=200) == pytest.approx(wanted, rel=0.02)


def test_large_counts_are_near_to_the_normal_law() -> None:
    assert trees.mean_deviation(10**6, 0.3) == pytest.approx(
        np.sqrt(2 / np.pi * 10**6 * 0.21), rel=1e-3
    )
    assert trees.mean_deviation(10**8, 0.3) == pytest.approx(
        np.sqrt(2 / np.pi * 10**8 * 0.21), rel=1e-3
    )


# --- in a report --------------------------------------------------------------------------------------------
def codes(described: Domain, *, seed: int, shift: int = 0) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return {name: np.clip(rng.binomial(7, 0.4, 4000) + shift, 0, 7) for name in described.names}


def compared(*, shift: int) -> dict[str, Any]:
    described = domain()
    sides = [codes(described, seed=1), codes(described, seed=2, shift=shift)]
    real, synthetic = (
        tally(CodedTable(codes=each, domain=described, private=False), wanted=[])
        for each in sides
    )
    return compare(real, synthetic, described)


def test_a_report_has_the_curve_of_all_places_together_and_a_second_sample_is_as_good_as_a_resample() -> (
    None
):
    report = compared(shift=0)
    [entry] = report["cells"]
    assert (
        entry["columns"] == list(domain().names)
        and entry["places"] == ["a", "b"]
        and entry["depths"] == [1, 2, 3]
    )
    assert entry["moved"]["synthetic"][-1] == pytest.approx(
        np.dot([0.5, 0.25, 0.125], entry["differing"]["synthetic"])
    )
    assert entry["verdict"]["level"] in ("same", "small")
    side = places.EARTH_RADIUS_KM * np.radians(1)  # of the box from 10 to 11 degrees
    assert entry["diagonal_km"] == pytest.approx(
        np.sqrt(2 * side**2 * (1 + np.cos(np.radians(10)) ** 2)), abs=1e-3
    )
    assert (
        f"at most {entry['diagonal_km'] * entry['moved']['synthetic'][-1]:.3g} km"
        in entry["verdict"]["words"]
    )
    [shifted] = compared(shift=1)["cells"]
    assert shifted["moved"]["synthetic"][-1] > 1.5 * entry["moved"]["synthetic"][-1]
    assert shifted["moved"]["resample"] == entry["moved"]["resample"]
    assert shifted["verdict"]["level"] in ("clear", "large")


def test_its_card_says_what_it_is_how_to_read_it_and_its_price_and_draws_both_lines() -> None:
    report = compared(shift=1)
    [card] = cells.FIGURE.cards(report)
    assert card.figure is not None and card.price and card.red
    moved = report["cells"][0]["diagonal_km"] * report["cells"][0]["moved"]["synthetic"][-1]
    assert (
        card.figure["data"][0]["y"][-1] == pytest.approx(moved)
        and "Cumulated, km" in card.table.head
    )
    assert [trace["name"] for trace in card.figure["data"]] == [
        "this release",
        "plain resample",
    ]
    assert [row[0] for row in card.table.rows] == ["1", "2", "3"]
    assert card.table.rows[0][1] == "56 × 55 km (35 × 34 miles)"  # half a degree
    assert card.figure["data"][0]["customdata"] == [row[1] for row in card.table.rows]
    assert float(card.table.rows[-1][-1]) > 1


def test_places_that_may_be_missing_are_not_compared_by_cells() -> None:
    columns = [
        {
            "name": n,
            "kind": "number",
            "low": 0,
            "high": 1,
            "outside": "missing",
            "missing": [""],
        }
        for n in "ab"
    ]
    document = {"schema": "synth_engine/domain/1", "attributes": columns}
    home = [{"name": "home", "latitude": "a", "longitude": "b"}]
    assert trees.hierarchies(Domain.from_json(document | {"places": home})) == []
    assert trees.hierarchies(Domain.from_json(document)) == []
