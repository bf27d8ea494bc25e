"""The versions of drawing rows from a model. A stored sample names its own, so that it can be drawn again byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synth_engine.errors import SpecError
from synth_engine.inference.record_refinement import Offers
from synth_engine.models import blocks
from synth_engine.models.model import Codes, Model

BLOCK = 1 << 16
"""Rows that sampler 1 decodes at once; a change of it changes every drawn number and day."""
FIRST_SAMPLER = 1
"""The sampler that draws the codes of all rows at once: of samples without a version."""
BLOCK_SAMPLER = 2
"""The sampler that draws rows in blocks while they are written (`Model.sample_blocks`)."""
COUNTER_SAMPLER = 3
"""The first sampler of very large tables (`Model.sample_by_counter`)."""
COLUMN_SAMPLER = 4
"""The second sampler of very large tables: as the third, and rows that are refined are refined column by column."""
FAST_SAMPLER = 5
"""The third sampler of very large tables: as the fourth, and each cell that is refined takes its best value."""
ROUNDING_SAMPLER = 6
"""The first one of tables of any size: in blocks as the second, each cell that is refined takes its best value, and columns are right to
rounding (`Model.sample_with_columns`)."""
SAMPLER = 7
"""The present one: as the sixth, and more rows of large tables are refined (`blocks.rows_refined`)."""
_OFFERS: dict[int, Offers] = {
    COUNTER_SAMPLER: "lacking by rows",
    COLUMN_SAMPLER: "lacking by columns",
    FAST_SAMPLER: "best by columns",
}


def draw_codes(model: Model, rows: int, *, seed: str, sampler: int) -> Iterator[Codes]:
    """The codes that `draw_blocks` decodes. Errors: SpecError where there is no such sampler."""
    if sampler in (ROUNDING_SAMPLER, SAMPLER):
        refined = blocks.rows_refined if sampler == SAMPLER else blocks.rows_refined_before
        yield from model.sample_with_columns(rows, seed=seed, refined=refined)
        return
    if sampler == BLOCK_SAMPLER:
        yield from model.sample_blocks(rows, seed=seed)
        return
    if sampler in _OFFERS:
        yield from model.sample_by_counter(rows, seed=seed, offers=_OFFERS[sampler])
        return
    if sampler != FIRST_SAMPLER:
        raise SpecError(
            "there is no sampler of this version",
            repair=f"ask for one of {FIRST_SAMPLER} to {SAMPLER}",
        )
    yield from split(model.sample(rows, seed=seed), rows)


def draw_together(model: Model, rows: int, *, seed: str, sampler: int = SAMPLER) -> Codes:
    """The codes of `draw_codes` in one piece: for figures about the rows that a release gives out."""
    return together(list(draw_codes(model, rows, seed=seed, sampler=sampler)))


def together(blocks: Sequence[Codes]) -> Codes:
    """The codes of several blocks in one piece. blocks: at least one."""
    if len(blocks) == 1:
        return blocks[0]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def split(codes: Codes, rows: int) -> Iterator[Codes]:
    """The blocks of the first sampler."""
    for start in range(0, max(rows, 1), BLOCK):
        yield {name: column[start : start + BLOCK] for name, column in codes.items()}
