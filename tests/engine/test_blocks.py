"""Rows are drawn in blocks while a table is written."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from synth_engine.domain import Impossible, Order
from synth_engine.inference import record_refinement
from synth_engine.models import blocks
from tests.engine.test_targets import model

ROWS = 40_000


@pytest.mark.parametrize(
    "rows", [0, 1, 100, blocks.FIRST, 3 * blocks.FIRST // 2 + 1, 10**6, 10**6 + 7]
)
def test_blocks_grow_and_hold_every_row_once(rows: int) -> None:
    sizes = blocks.sizes(rows)
    assert sum(sizes) == rows
    assert all(size <= blocks.LARGEST for size in sizes[:-1])
    assert all(
        after == min(2 * size, blocks.LARGEST) for size, after in itertools.pairwise(sizes[:-1])
    )
    # A last block of few rows could not make up for what the table lacks.
    assert len(sizes) == 1 or 2 * sizes[-1] > sizes[-2]


def test_the_first_block_is_drawn_before_the_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[int] = []
    whole = record_refinement.refine

    def noted(codes: record_refinement.Codes, *, fixed: int, **given: object) -> object:
        rows.append(codes.shape[1] - fixed)
        return whole(codes, fixed=fixed, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(record_refinement, "refine", noted)
    parts = model().sample_blocks(10**6, seed="s")
    assert len(next(parts)["shop"]) == blocks.FIRST
    assert rows == [blocks.FIRST]


def test_constraints_hold_in_every_block() -> None:
    rules = (
        Order(first="low", second="high"),
        Impossible(combination={"shop": ("a",), "size": ("xl",)}),
    )
    for part in model(*rules).sample_blocks(ROWS, seed="s"):
        assert (part["low"] <= part["high"]).all()
        assert not ((part["shop"] == 0) & (part["size"] == 3)).any()


def test_a_model_without_targets_draws_all_codes_at_once() -> None:
    plain = replace(model(), targets=())
    whole, parts = plain._at_once(30_000, seed="s"), plain.sample(30_000, seed="s")
    assert not plain.refines_in_blocks
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
