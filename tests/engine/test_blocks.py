"""Sampler 2: rows in blocks while a table is written, as near to the targets as rows that are refined at once."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.domain import Impossible, Order
from synth_engine.errors import SpecError
from synth_engine.inference import record_refinement
from synth_engine.models import blocks
from synth_engine.models.model import Codes, Model
from tests.engine.test_targets import distance, model

ROWS = 40_000


def drawn(of: Model, rows: int, seed: str = "s") -> Codes:
    """All blocks of a table together."""
    parts = list(of.sample_blocks(rows, seed=seed))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def digest(codes: Codes) -> str:
    text = b"".join(codes[name].astype("<u2").tobytes() for name in sorted(codes))
    return hashlib.sha256(text).hexdigest()[:16]


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


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_a_small_table_is_a_part_of_the_first_block(rows: int) -> None:
    few, first = drawn(model(), rows), drawn(model(), blocks.FIRST)
    assert all(len(column) == rows for column in few.values())
    assert list(few) == list(first)


def test_blocks_together_are_as_near_to_the_targets_as_rows_refined_at_once() -> None:
    refined = replace(model(), rows=ROWS)
    at_once = distance(refined, refined.sample(ROWS, seed="s"))
    in_blocks = distance(refined, drawn(refined, ROWS))
    apart = distance(
        refined,
        {
            name: np.concatenate([column, *[other[name] for other in others]])
            for (name, column), others in (
                (pair, [refined.sample(8_000, seed=str(n)) for n in range(4)])
                for pair in refined.sample(8_000, seed="4").items()
            )
        },
    )
    assert in_blocks <= 1.15 * at_once
    # Blocks that know nothing of each other all lack the same rare cells.
    assert in_blocks < 0.8 * apart


def test_the_first_block_is_drawn_before_the_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[int] = []
    whole = record_refinement.refine_after

    def noted(codes: record_refinement.Codes, *, fixed: int, **given: object) -> object:
        rows.append(codes.shape[1] - fixed)
        return whole(codes, fixed=fixed, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(record_refinement, "refine_after", noted)
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


def test_rows_beyond_those_that_are_refined_are_copies_of_each_equally_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_refinement, "MIN_ROWS_REFINED", 10)
    monkeypatch.setattr(record_refinement, "MAX_TABLE_LOOKUPS", 10)
    codes = drawn(model(), 3 * blocks.FIRST)
    names = [name for name in codes if name != "price"]
    records = np.stack([codes[name] for name in names], axis=1)
    first, copied = records[: blocks.FIRST], records[blocks.FIRST :]
    values, counts = np.unique(first, axis=0, return_counts=True)
    again, twice = np.unique(copied, axis=0, return_counts=True)
    assert np.array_equal(values, again)
    assert np.array_equal(2 * counts, twice)


# --- versions ---------------------------------------------------------------------------------------------------------
def test_stored_samples_stay_byte_for_byte() -> None:
    """Each version gives for one seed what it has always given: a change of these digests breaks stored samples."""
    assert digest(model().sample(9_000, seed="s")) == "dabb7933b1e17e91"
    assert digest(drawn(model(), 30_000)) == "d8e7f3e80ce67110"


def test_a_sampler_is_named_by_its_version() -> None:
    whole = model()
    first, again = (mechanisms.draw_table(whole, 300, "s", sampler=n) for n in (1, 1))
    assert first.equals(again)
    assert first.equals(mechanisms.draw_table(whole, 300, "s"))
    assert not first.equals(mechanisms.draw_table(whole, 300, "s", sampler=2))
    with pytest.raises(SpecError, match="sampler"):
        mechanisms.draw_table(whole, 300, "s", sampler=8)


def test_a_model_without_targets_gives_the_same_codes_in_blocks() -> None:
    plain = replace(model(), targets=())
    whole, parts = plain.sample(30_000, seed="s"), drawn(plain, 30_000)
    assert not plain.refines_in_blocks
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
