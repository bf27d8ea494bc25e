"""Dependence of the columns of a model, measured from records that it generates."""

from __future__ import annotations

import numpy as np
import pytest

from synth_engine.evaluation import model_pairs, pair_cards


def test_many_codes_are_put_into_groups_of_about_equal_size_in_order() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 1_000, 10_000)
    grouped = model_pairs._grouped(codes)
    assert grouped.max() + 1 == np.unique(grouped).size <= model_pairs.GROUPS
    assert np.bincount(grouped).min() > 0.8 * 10_000 / model_pairs.GROUPS
    order = np.argsort(codes, kind="stable")
    assert (np.diff(grouped[order]) >= 0).all()


def test_a_column_that_determines_another_has_dependence_one_and_noise_nearly_none() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(0, 5, 20_000)
    assert model_pairs._of_pair(first, 4 - first).nmi == pytest.approx(1)
    assert model_pairs._of_pair(first, rng.integers(0, 5, 20_000)).nmi < 0.01
    assert (
        model_pairs._of_pair(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)).nmi == 0
    )


def test_a_map_has_each_pair_once_and_no_text_for_each_square() -> None:
    pairs = {("a", "b"): 0.5, ("a", "c"): -0.25, ("b", "c"): 0.005}
    card = pair_cards.card_of_difference(["a", "b", "c"], pairs, letters=("A", "B"))
    assert card.figure is not None
    trace, grey = card.figure["data"]
    assert trace["z"] == [[0.5, None], [-0.25, None]]
    assert grey["z"] == [[None, None], [None, 0.005]] and grey["meta"] == "chance"
    assert "text" not in trace
    assert card.table.rows[0] == ("a × b", "+0.500")
    assert card.red == ""
