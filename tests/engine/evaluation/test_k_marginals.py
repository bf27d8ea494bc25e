"""Scores of many columns at once, and groups of records: by hand, by chance, and bad tables told in words."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain
from synth_engine.evaluation import distances, page, view
from synth_engine.evaluation.figures import k_marginals
from tests.engine.evaluation import tables
from tests.engine.evaluation.tables import codes, compared, shuffled

BITS = Domain(
    attributes=tuple(
        Categorical(name=f"b{place}", values=("no", "yes"), outside="clamp")
        for place in range(9)
    )
)


def halves(seed: int, rows: int = 4000) -> tuple[tables.Codes, tables.Codes]:
    """Two tables of one population, in which every column follows the first."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(2):
        first = rng.integers(0, 2, rows)
        made.append(
            {
                name: np.where(rng.random(rows) < 0.8, first, 1 - first) if place else first
                for place, name in enumerate(BITS.names)
            }
        )
    return made[0], made[1]


def test_the_score_is_that_of_nist_by_hand() -> None:
    # Distances 0.1 and 0.3 on average 0.2.
    assert distances.k_marginal_score([0.1, 0.3]) == pytest.approx(800.0)
    assert distances.k_marginal_score([0.0]) == 1000.0
    assert distances.k_marginal_score([1.0, 1.0]) == 0.0


def test_squared_errors_by_hand() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.4, 0.3, 0.3])
    assert distances.squared_error(p, q) == pytest.approx(0.01 + 0.04 + 0.09)
    assert distances.chance_squared_error(np.array([5]), np.array([7])) == 0.0
    assert distances.chance_squared_error(np.array([0]), np.array([7])) == 0.0


def test_the_squared_error_by_chance_is_the_mean_over_all_divisions() -> None:
    pooled = [0, 0, 0, 1, 1, 2]  # all divisions of six records into two and four
    errors = []
    for chosen in combinations(range(6), 2):
        first = np.bincount([pooled[i] for i in chosen], minlength=3)
        second = np.bincount(pooled, minlength=3) - first
        errors.append(distances.squared_error(first / 2, second / 4))
    real, synthetic = np.array([1, 1, 0]), np.array([2, 1, 1])
    assert distances.chance_squared_error(real, synthetic) == pytest.approx(np.mean(errors))


def test_rows_of_chance_distances_are_near_the_exact_ones() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.poisson(3, (5, 40)), rng.poisson(2, (5, 40))
    near = distances.chance_distances(first, second)
    exact = [distances.chance_distance(*row) for row in zip(first, second, strict=True)]
    assert near == pytest.approx(exact, rel=0.15)
    assert distances.chance_distances(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]


def test_the_sets_of_columns_are_public_and_of_every_size() -> None:
    chosen = k_marginals.cliques(BITS)
    assert chosen == k_marginals.cliques(BITS)
    assert [sum(len(clique) == size for clique in chosen) for size in range(4, 9)] == [4] * 5
    assert all(list(clique) == sorted(clique, key=BITS.names.index) for clique in chosen)
    assert len(set(chosen)) == len(chosen)


def test_a_narrow_or_very_large_table_has_fewer_sets() -> None:
    narrow = Domain(attributes=BITS.attributes[:4])
    assert k_marginals.cliques(narrow) == [narrow.names]
    wide = Domain(
        attributes=tuple(
            Categorical(name=f"n{place}", values=tuple(map(str, range(1000))), outside="clamp")
            for place in range(8)
        )
    )
    # Seven columns of a thousand values are beyond 64 bits.
    assert {len(clique) for clique in k_marginals.cliques(wide)} == {4, 5, 6}


def test_the_same_table_scores_a_thousand_at_every_size() -> None:
    real, _ = halves(0)
    entry = compared(real, real, domain=BITS)["k_marginals"]
    assert [line["size"] for line in entry["scores"]] == list(range(2, 9))
    assert {line["score"] for line in entry["scores"]} == {1000.0}
    assert {line["squared_error"] for line in entry["scores"]} == {0.0}
    assert all(group["score"] == 1000.0 for group in entry["groups"])


def test_a_second_sample_scores_as_chance_says() -> None:
    entry = compared(*halves(1), domain=BITS)["k_marginals"]
    for line in entry["scores"]:
        assert line["score"] == pytest.approx(line["by_chance"], abs=15)
        assert line["squared_error"] < 4 * line["squared_error_by_chance"]
        assert line["verdict"]["level"] in ("same", "small")


def test_a_table_without_dependence_scores_less_the_more_columns() -> None:
    real, other = halves(2)
    entry = compared(real, shuffled(other, seed=0), domain=BITS)["k_marginals"]
    scores = [line["score"] for line in entry["scores"]]
    assert scores == sorted(scores, reverse=True)
    assert entry["scores"][-1]["verdict"]["level"] == "large"


def test_a_larger_table_agrees_with_its_dense_counts() -> None:
    real, other = halves(3, rows=200)
    entry = compared(real, other, domain=BITS)["k_marginals"]
    of_eight = [clique for clique in k_marginals.cliques(BITS) if len(clique) == 8]
    apart = []
    for clique in of_eight:
        sides = []
        for table in (real, other):
            numbers = np.zeros(200, dtype=int)
            for name in clique:
                numbers = 2 * numbers + table[name]
            sides.append(np.bincount(numbers, minlength=256) / 200)
        apart.append(0.5 * np.abs(sides[0] - sides[1]).sum())
    assert entry["scores"][-1]["score"] == pytest.approx(1000 * (1 - np.mean(apart)))


def test_the_group_that_changed_comes_first() -> None:
    rng = np.random.default_rng(4)
    real, other = ({name: rng.integers(0, 2, 4000) for name in BITS.names} for _ in range(2))
    other["b5"] = np.where(other["b3"] == 1, 0, other["b5"])
    group = compared(real, other, domain=BITS)["k_marginals"]["groups"][0]
    assert group["label"] == "yes"
    assert {group["column"], group["worst_column"]} == {"b3", "b5"}
    # Of eight other columns one is at a distance of one half.
    assert group["score"] == pytest.approx(1000 - 1000 * 0.5 / 8, abs=25)


def test_a_group_that_the_synthetic_table_lacks_scores_nothing() -> None:
    real, other = halves(5)
    other["b0"] = np.zeros_like(other["b0"])
    group = compared(real, other, domain=BITS)["k_marginals"]["groups"][0]
    assert (group["column"], group["label"]) == ("b0", "yes")
    assert group["score"] == 0.0 and group["records"]["synthetic"] == 0


def test_the_group_of_two_columns_that_changed_comes_first_by_name() -> None:
    rng = np.random.default_rng(6)
    real, other = ({name: rng.integers(0, 2, 8000) for name in BITS.names} for _ in range(2))
    # Where b2 and b3 meet b5 changes, and not in either of them alone beyond a half.
    together = (other["b2"] == 1) & (other["b3"] == 0)
    other["b5"] = np.where(together, 0, other["b5"])
    report = compared(real, other, domain=BITS)
    entry = report["k_marginals"]
    group = entry["crossed"][0]
    assert dict(zip(group["columns"], group["labels"], strict=True)) == {
        "b2": "yes",
        "b3": "no",
    }
    assert group["worst_column"] == "b5"
    members = (real["b2"] == 1) & (real["b3"] == 0)
    assert group["records"] == {"real": members.sum(), "synthetic": together.sum()}
    # Of seven other columns one is at a distance of one half; by one column alone it is a quarter.
    assert group["score"] == pytest.approx(1000 - 1000 * 0.5 / 7, abs=30)
    assert group["score"] < entry["groups"][0]["score"]
    # All 36 pairs of the nine columns have four groups.
    assert entry["judged_crossed"] == 36 * 4
    card = next(c for c in k_marginals.FIGURE.cards(report) if c.key == "k-marginal-crossed")
    assert "b2 is yes and b3 is no" in card.verdict
    assert card.table.rows[0][0] == "b2 is yes and b3 is no"


def test_a_report_from_before_groups_of_two_columns_has_no_card_of_them() -> None:
    report = compared(codes(2000, seed=1), codes(2000, seed=2))
    del report["k_marginals"]["crossed"], report["k_marginals"]["judged_crossed"]
    keys = [card.key for card in k_marginals.FIGURE.cards(report)]
    assert keys == ["k-marginals", "k-marginal-groups"]


def test_small_groups_are_not_judged_and_one_column_has_no_score() -> None:
    few = codes(50, seed=0)
    entry = compared(few, few)["k_marginals"]
    assert entry["groups"] == [] and entry["judged_groups"] == 0
    assert entry["crossed"] == [] and entry["judged_crossed"] == 0
    single = Domain(attributes=BITS.attributes[:1])
    column = {"b0": np.array([0, 1, 1])}
    report = compared(column, column, domain=single)
    assert report["k_marginals"]["scores"] == []
    assert k_marginals.FIGURE.cards(report) == []


def test_cards_have_words_drawing_and_table() -> None:
    report = compared(codes(2000, seed=1), codes(2000, seed=2))
    json.dumps(report["k_marginals"], allow_nan=False)
    cards = k_marginals.FIGURE.cards(report)
    assert [card.key for card in cards][:2] == ["k-marginals", "k-marginal-groups"]
    for card in cards:
        assert card.figure and card.table.rows and card.verdict and card.what and card.how
        assert card.red
    assert "<script>alert" not in page.html(report)
    assert any(part.section.key == "k-marginals" for part in view.lay_out(report).further)


def test_an_earlier_report_has_no_such_card() -> None:
    report = compared(codes(200, seed=1), codes(200, seed=2))
    del report["k_marginals"]
    assert k_marginals.FIGURE.cards(report) == [] and k_marginals.FIGURE.tiles(report) == []
