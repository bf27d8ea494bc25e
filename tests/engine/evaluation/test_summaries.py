"""Summaries: no better than their worst part, and of relations those that exist in the real table."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import summaries, view
from synth_engine.evaluation.dependences import dependence, lost_dependence
from synth_engine.evaluation.plots import Report
from tests.engine.evaluation.tables import Codes, compared

ROWS = 4_000
COLUMNS = 100
RELATED = 12  # columns that follow one hidden one: 66 pairs
VALUES = 5
WIDE = Domain.from_json({f"c{number:02}": VALUES for number in range(COLUMNS)})


def wide(*, seed: int) -> Codes:
    """A hundred columns, of which the first twelve go together."""
    rng = np.random.default_rng(seed)
    table = {name: rng.integers(0, VALUES, ROWS) for name in WIDE.names}
    hidden = rng.integers(0, VALUES, ROWS)
    for name in WIDE.names[:RELATED]:
        follows = rng.random(ROWS) < 0.7
        table[name] = np.where(follows, hidden, table[name])
    return table


@pytest.fixture(scope="module")
def lost() -> Report:
    """Every column is right, and no relation is left."""
    rng = np.random.default_rng(3)
    return compared(
        wide(seed=1),
        {name: rng.permutation(column) for name, column in wide(seed=2).items()},
        domain=WIDE,
    )


@pytest.fixture(scope="module")
def sampled() -> Report:
    """A second sample of the same people."""
    return compared(wide(seed=1), wide(seed=2), domain=WIDE)


def test_lost_relations_of_a_hundred_columns_are_said_to_be_lost(lost: Report) -> None:
    summary = lost["summary"]["mi_err"]
    assert summary["of"] == 4_950
    assert (summary["related"], summary["kept"], summary["invented"]) == (66, 0, 0)
    assert summary["lost"] > 0.8
    assert summary["verdict"]["level"] == "large"
    assert (
        "66 pairs of columns go together in the real table, 0 of them"
        in (summary["verdict"]["words"])
    )
    assert lost["summary"]["overall"]["verdict"]["level"] == "large"
    # Of several parts as bad, the one of which least is kept.
    overall = view.lay_out(lost).overall
    assert (overall.level, overall.title) == ("large", "Dependence")
    assert lost["summary"]["tvd1"]["verdict"]["level"] in summaries.KEPT_LEVELS
    # Each of these pairs is far off as well, among thousands that have nothing to lose.
    assert lost["summary"]["tvd2"]["verdict"]["level"] == "large"
    assert lost["summary"]["tvd2"]["kept"] <= 4_950 - 66


def test_a_second_sample_of_the_same_people_keeps_everything(sampled: Report) -> None:
    summary = sampled["summary"]
    assert (summary["mi_err"]["related"], summary["mi_err"]["kept"]) == (66, 66)
    for name in ("tvd1", "tvd2", "tvd3", "mi_err", "overall"):
        assert summary[name]["verdict"]["level"] in summaries.KEPT_LEVELS, name


@pytest.fixture(scope="module")
def hurt() -> Report:
    """A second sample with one relation lost, one invented, and one ruined column."""
    real, synthetic = wide(seed=1), wide(seed=2)
    real["c98"] = real["c99"].copy()
    synthetic["c96"] = synthetic["c97"].copy()
    synthetic["c50"] = np.zeros(ROWS, dtype=np.int64)
    return compared(real, synthetic, domain=WIDE)


def test_one_lost_and_one_invented_relation_of_thousands_are_seen(hurt: Report) -> None:
    summary = hurt["summary"]
    relations = summary["mi_err"]
    assert (relations["related"], relations["kept"], relations["invented"]) == (67, 66, 1)
    for name in ("mi_err", "tvd2", "overall"):
        assert summary[name]["verdict"]["level"] == "large", name
    assert relations["worst"] in ("c96 × c97", "c98 × c99")


def test_one_ruined_column_of_a_hundred_is_seen(hurt: Report) -> None:
    summary = hurt["summary"]["tvd1"]
    assert summary["value"] < 0.03  # a mean cannot see it
    assert summary["verdict"]["level"] == "large"
    assert (summary["kept"], summary["worst"]) == (99, "c50")


def test_no_summary_is_better_than_a_part_of_it(lost: Report) -> None:
    for name, entries in (("tvd1", "attributes"), ("mi_err", "pairs")):
        field = "verdict" if entries == "attributes" else "dependence"
        levels = [entry[field]["level"] for entry in lost[entries]]
        level = lost["summary"][name]["verdict"]["level"]
        assert all(
            summaries.SEVERITY.index(each) <= summaries.SEVERITY.index(level) for each in levels
        )
    shown = view.lay_out(lost)
    worst = max(summaries.SEVERITY.index(tile.level) for tile in shown.tiles)
    assert summaries.SEVERITY.index(shown.overall.level) == worst


@pytest.mark.parametrize("sizes", [(2, 2), (4, 30), (20, 20), (60, 90)])
@pytest.mark.parametrize("rows", [300, 3_000])
def test_chance_is_the_information_of_independent_columns(
    sizes: tuple[int, int], rows: int
) -> None:
    rng = np.random.default_rng(5)
    tables = []
    for _ in range(30):
        joint = np.zeros(sizes)
        np.add.at(joint, tuple(rng.integers(0, size, rows) for size in sizes), 1)
        tables.append(dependence(joint))
    mean = float(np.mean([each.nmi for each in tables]))
    error = float(np.std([each.nmi for each in tables])) / np.sqrt(len(tables))
    chance = float(np.mean([each.chance for each in tables]))
    assert abs(mean - chance) <= 0.05 * mean + 5 * error
    assert not any(each.is_real for each in tables)


def test_the_lost_share_is_that_of_what_exists() -> None:
    """Of four pairs two go together, one of which is lost."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, ROWS)
    near = np.where(rng.random(ROWS) < 0.8, first, rng.integers(0, 4, ROWS))
    other = rng.integers(0, 4, ROWS)

    def joint(one: Codes, two: Codes) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        table = np.zeros((4, 4))
        np.add.at(table, (one, two), 1)
        return table

    related, alone = dependence(joint(first, near)), dependence(joint(first, other))
    assert related.is_real and not alone.is_real
    found = lost_dependence(
        [(related, related), (related, alone), (alone, alone), (alone, alone)]
    )
    assert (found.real, found.preserved, found.invented) == (2, 1, 0)
    assert found.lost == pytest.approx(0.5, abs=0.1)
    nothing = lost_dependence([(alone, alone)] * 3)
    assert (nothing.real, nothing.lost) == (0, None)
    invented = lost_dependence([(alone, related)])
    assert (invented.real, invented.invented, invented.lost) == (0, 1, None)


def test_by_chance_many_parts_have_a_larger_largest_distance() -> None:
    margins = [summaries.luck(parts, (2_000, 2_000)) for parts in (1, 2, 100, 5_000)]
    assert margins == sorted(margins) and margins[0] == 0.0
    rng = np.random.default_rng(11)
    tables = rng.multinomial(2_000, [0.05] * 20, size=(2, 1_000)) / 2_000
    distances = 0.5 * np.abs(tables[0] - tables[1]).sum(axis=1)
    largest = distances.max() - distances.mean()
    assert largest < 1.3 * summaries.luck(1_000, (2_000, 2_000))
