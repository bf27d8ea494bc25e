"""The numbers of texts within a set that is too large to list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import Weak

Places = NDArray[np.int32]


class Ranking:
    """The numbers of a column's texts within their public set, block by block. Numbers may be larger than any
    machine word, so a record holds the place of its number in `ranks`."""

    def __init__(self, attribute: Weak) -> None:
        self.attribute = attribute
        self._places: dict[int, int] = {}

    @property
    def ranks(self) -> list[int]:
        """The numbers that occurred, in the order of their places."""
        return list(self._places)

    def places(self, column: Any) -> Places:
        """The place in `ranks` of each text of a block (PyArrow; null is missing)."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        pieces = [self._of_chunk(chunk) for chunk in chunks] or [np.empty(0, dtype=np.int32)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _of_chunk(self, chunk: Any) -> Places:
        # Numbers in the order of their occurrence depend on other records: they are used for
        # look-up alone, and never counted or published (docs/proofs/reading.md, Lemma 2).
        known, ranks = self._places, self.attribute.ranks([*chunk.dictionary.to_pylist(), None])
        table = np.array([known.setdefault(rank, len(known)) for rank in ranks], dtype=np.int32)
        indices = (
            pc.fill_null(chunk.indices, len(table) - 1) if chunk.null_count else chunk.indices
        )
        places: Places = table[indices.to_numpy(zero_copy_only=False)]
        return places
