"""Curves of distances of synthetic records, and the order of a map of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.evaluation import model_pairs
from synth_engine.evaluation.model_distances import figure_of, of_records

ENDS: dict[str, Any] = {
    "attributes": [
        {"name": name, "kind": "categorical", "values": ["a", "b"], "other": True}
        for name in ("home", "work")
    ],
    "points": [{"column": name, "at": {"a": [1, 2], "b": [1, 3]}} for name in ("home", "work")],
}


def test_a_curve_begins_with_the_records_that_stay_and_leaves_out_those_that_lie_nowhere() -> (
    None
):
    domain = Domain.from_json(ENDS)
    home = np.array([0, 0, 0, 1, 2, 0])
    work = np.array([0, 0, 1, 0, 0, 2])
    (curve,) = of_records(domain, {"home": home, "work": work})
    assert curve["ends"] == ["home", "work"]
    assert (curve["edges_km"][0], curve["within"][0]) == (0, 0.5)
    assert curve["within"][-1] == 1 and curve["edges_km"][-1] >= 111
    assert curve["median_km"] == 0
    figure = figure_of(curve, words="w", axis="kilometres", jump="50 of 100")
    assert [note["text"] for note in figure["layout"]["annotations"]][1] == "50 of 100"
    assert of_records(domain, {"home": np.full(6, 2), "work": work}) == []


def test_columns_that_go_together_stand_side_by_side_and_the_most_related_are_chosen() -> None:
    pairs = {
        ("a", "b"): 0.0,
        ("a", "c"): 0.9,
        ("a", "d"): 0.0,
        ("b", "c"): 0.0,
        ("b", "d"): 0.8,
        ("c", "d"): 0.1,
    }
    order = model_pairs.in_clusters(["a", "b", "c", "d"], pairs)
    assert abs(order.index("a") - order.index("c")) == 1
    assert abs(order.index("b") - order.index("d")) == 1
    assert model_pairs.most_related(["a", "b", "c", "d"], pairs, 2) == ["a", "c"]
    assert model_pairs.in_clusters(["a"], {}) == ["a"]


@pytest.mark.parametrize("records", [0, 1])
def test_few_records_make_no_error(records: int) -> None:
    empty = np.zeros(records, dtype=np.int64)
    curves = of_records(Domain.from_json(ENDS), {"home": empty, "work": empty})
    assert len(curves) == records
