"""Repeat rows that stand for several records."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.formats import Marks

_DIGITS = 18
_WHOLE = re.compile(r"\s*\+?([0-9]+)(\.0*)?\s*", re.ASCII)

Block = dict[str, pa.Array]


def repetitions(
    domain: Domain, block: Block, *, marks: Marks | None = None
) -> NDArray[np.int64] | None:
    """Return how many records each row of a block stands for, shape (rows,); None where each is one. `marks`:
    how the file writes numbers."""
    if domain.repeats is None:
        return None
    texts = block[domain.repeats.column]
    plain = (marks or Marks()).plain(texts)
    return times_of(plain, most=domain.repeats.most)


def repeat_rows(domain: Domain, block: Block, *, marks: Marks | None = None) -> Block:
    """Each row of a block of texts as often as it says; the block itself where the domain has no repeats."""
    times = repetitions(domain, block, marks=marks)
    if times is None:
        return block
    places = pa.array(np.repeat(np.arange(len(times)), times))
    return {name: texts.take(places) for name, texts in block.items()}


def times_of(texts: pa.Array, *, most: int) -> NDArray[np.int64]:
    """Return how often each row counts: every text has an answer, from 0 to `most`, and 1 if it is no whole
    number."""
    # The count of a row is a function of its one cell (docs/proofs/reading.md, Lemma 3).
    coded = texts.dictionary_encode()
    table = np.array(
        [_times(text, most=most) for text in coded.dictionary.to_pylist()] or [1],
        dtype=np.int64,
    )
    times: NDArray[np.int64] = np.append(table, 1)[
        coded.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    ]
    return times


def _times(text: str | None, *, most: int) -> int:
    match = _WHOLE.fullmatch(text or "")
    if match is None:
        return 1
    digits = match[1].lstrip("0") or "0"
    # A number too long to be read is above `most` like the one before it: a record more never moves many.
    return most if len(digits) > _DIGITS else min(int(digits), most)
