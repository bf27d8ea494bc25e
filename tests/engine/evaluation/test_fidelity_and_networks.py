"""Fidelity of learned columns, and the networks of both tables: by hand, and on a page."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain, Weak
from synth_engine.evaluation import page, report, tallies
from synth_engine.evaluation.figures import fidelity, networks
from synth_engine.evaluation.plots import Report
from synth_engine.values import from_json

WORDS = from_json({"set": "list", "values": ["apple", "beech", "cedar", "oak"]})
LEARNED = Weak(name="tree", values=WORDS).from_ranks([0, 1, 3])
DECLARED = Categorical(name="soil", values=("sand", "clay"), outside="clamp")
PLACE = Categorical(name="place", values=("hill", "plain"), outside="clamp")


def compared(
    domain: Domain, real: dict[str, list[int]], synthetic: dict[str, list[int]]
) -> Report:
    return report.compare(
        *(
            report.tally(
                tallies.CodedTable(
                    codes={name: np.array(column) for name, column in codes.items()},
                    domain=domain,
                    private=private,
                )
            )
            for codes, private in ((real, False), (synthetic, True))
        ),
        domain,
    )


def test_fidelity_is_the_product_of_the_shares_of_common_values() -> None:
    other = LEARNED.size - 1
    made = compared(
        Domain(attributes=(LEARNED, DECLARED)),
        {"tree": [0] * 6 + [1] * 2 + [other] * 2, "soil": [0] * 10},
        {"tree": [0] * 4 + [2] * 4 + [other] * 2, "soil": [0] * 10},
    )
    [entry] = made["fidelity"]  # of the learned column alone
    assert (entry["name"], entry["found"], entry["occurring"]) == ("tree", 0.6, 0.4)
    assert entry["fidelity"] == pytest.approx(0.24)
    assert entry["verdict"]["level"] == "clear"
    [card] = fidelity.FIGURE.cards(made)
    assert card.red and card.table.rows[0][:4] == ("tree", "60.00%", "40.00%", "0.240")


def test_a_column_in_which_nothing_was_found_has_a_fidelity_of_zero() -> None:
    nothing = Weak(name="tree", values=WORDS).from_ranks([])
    codes = {"tree": [0] * 4, "soil": [0] * 4}
    made = compared(Domain(attributes=(nothing, DECLARED)), codes, codes)
    assert made["fidelity"][0]["fidelity"] == 0


def test_reports_without_learned_columns_have_no_fidelity() -> None:
    codes = {"soil": [0, 1], "place": [0, 1]}
    made = compared(Domain(attributes=(DECLARED, PLACE)), codes, codes)
    assert made["fidelity"] is None and fidelity.FIGURE.cards(made) == []
    assert fidelity.FIGURE.cards({}) == []
    assert networks.FIGURE.cards(made) == []  # two columns have one pair


def test_each_network_joins_all_columns_by_its_strongest_pairs() -> None:
    trees = Categorical(name="tree", values=("oak", "elm"), outside="clamp")
    domain = Domain(attributes=(DECLARED, PLACE, trees))
    rng = np.random.default_rng(3)
    soil = rng.integers(2, size=400)
    place = np.where(rng.random(400) < 0.1, 1 - soil, soil)
    tree = np.where(rng.random(400) < 0.1, 1 - place, place)
    real = {"soil": soil, "place": place, "tree": tree}
    synthetic = {"soil": place, "place": soil, "tree": tree}  # now soil is in the middle
    made = compared(
        domain,
        {name: column.tolist() for name, column in real.items()},
        {name: column.tolist() for name, column in synthetic.items()},
    )
    assert set(networks.network(made, "real")) == {("soil", "place"), ("place", "tree")}
    assert set(networks.network(made, "synthetic")) == {("soil", "place"), ("soil", "tree")}
    [card] = networks.FIGURE.cards(made)
    assert card.red and card.verdict.startswith("1 of 2 edges")
    assert {row[3] for row in card.table.rows} == {"both", "real alone", "synthetic alone"}
    assert card.figure is not None
    real_line, synthetic_line, names = card.figure["data"]
    assert (real_line["name"], synthetic_line["name"]) == ("real", "synthetic")
    assert len(real_line["x"]) == 6 and names["text"] == ["soil", "place", "tree"]  # type: ignore[arg-type]
    assert "Networks of dependence" in page.html(made)
