"""Convert texts to codes, a column at a time. Nothing fails on a value: what a column does not declare goes
where its `outside` says."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec.baskets import encode_baskets
from synth_engine.domain import Attribute, Basket, Domain, Scale
from synth_engine.errors import DomainError
from synth_engine.kinds.lattice import Positions
from synth_engine.kinds.missing_markers import codes_of_texts, marker_codes, marker_column
from synth_engine.kinds.reading import Codes


def encode(
    domain: Domain, columns: Mapping[str, object], *, leave_out: Container[str] = ()
) -> dict[str, Codes]:
    """Codes of each modelled attribute, from columns of text (PyArrow or NumPy; null is missing). leave_out:
    names of attributes that are not encoded; their markers are, where they are separate.

    Raises DomainError only for a column that is not there at all."""
    absent = [name for name in domain.columns if name not in columns]
    if absent:
        raise DomainError(
            "the table has no such column",
            repair="check the header or the domain",
            column=absent[0],
        )
    codes: dict[str, Codes] = {}
    for attribute in domain.attributes:
        if (markers := marker_column(attribute)) is not None:
            codes[markers.name] = _encode_markers(attribute, columns[attribute.name])
        if attribute.name in leave_out:
            continue
        if isinstance(attribute, Basket):
            codes |= encode_baskets(attribute, columns[attribute.name])
        elif attribute.size:
            codes[attribute.name] = encode_column(attribute, columns[attribute.name])
    return codes


def encode_column(attribute: Attribute, column: Any) -> Codes:
    """Codes of one column of text: each different text is read once."""
    return _encode(column, lambda texts: codes_of_texts(attribute, texts))


def _encode_markers(attribute: Attribute, column: Any) -> Codes:
    """Codes of the markers of one column of text."""
    return _encode(column, lambda texts: marker_codes(attribute, texts))


def _encode(column: Any, codes_of: Callable[[Sequence[str | None]], Codes]) -> Codes:
    """Codes of the cells of a column, from those of its different texts."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.array(np.asarray(column, dtype=object), type=pa.string(), from_pandas=True)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    pieces: list[Codes] = []
    texts = None
    table = codes_of([])
    for chunk in chunks:
        if texts is None or not chunk.dictionary.equals(texts):
            texts = chunk.dictionary
            # Each different text is encoded once, which changes nothing: a code is a function
            # of its own text (docs/proofs/reading.md, Lemma 2).
            table = np.append(codes_of(texts.to_pylist()), codes_of([None])[0])
        # A null has no index: it takes the last place of the table.
        indices = pc.fill_null(chunk.indices, len(texts)) if chunk.null_count else chunk.indices
        pieces.append(table[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(pieces) if pieces else table


def positions(attribute: Scale, column: Any) -> tuple[Positions, NDArray[np.bool_]]:
    """The position of each cell of a column on its lattice, and which cells count as missing; shapes
    (cells,). The position of a missing one means nothing. column: texts (PyArrow; null is missing). Each
    different text is read once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    pieces = [_positions_of_chunk(attribute, chunk) for chunk in chunks]
    if not pieces:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.bool_)
    placed, missing = zip(*pieces, strict=True)
    return np.concatenate(placed), np.concatenate(missing)


def _positions_of_chunk(attribute: Scale, chunk: Any) -> tuple[Positions, NDArray[np.bool_]]:
    # The last entry is the one of cells that are null.
    texts = [*chunk.dictionary.to_pylist(), None]
    markers = set(attribute.missing or ())
    stated = ["" if text is None or text in markers else text for text in texts]
    placed, missing = attribute.positions(stated)
    if attribute.missing is not None:
        missing |= np.array([text is None or text in markers for text in texts], dtype=np.bool_)
    indices = pc.fill_null(chunk.indices, len(texts) - 1) if chunk.null_count else chunk.indices
    at = indices.to_numpy(zero_copy_only=False)
    return placed[at], missing[at]
