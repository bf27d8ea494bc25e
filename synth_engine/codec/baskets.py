"""Cells that hold several items: from their text to numbers of items or to a code for each item, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.domain import Basket, Baskets, WeakBasket
from synth_engine.indexing.items import Bags, item_columns
from synth_engine.kinds.reading import Codes


def bags(attribute: WeakBasket, column: pa.Array) -> Bags:
    """The numbers, within the public set, of the items in each cell; what is not in the set is left out."""
    return _bags(attribute, column, rank=attribute.values.rank, number=attribute.values.size)


def encode_baskets(attribute: Basket, column: pa.Array) -> dict[str, Codes]:
    """A column of codes for each item: 1 where the basket has it."""
    number = len(attribute.items)
    held = _bags(attribute, column, rank=attribute.place, number=number)
    return item_columns(attribute, held, places={place: place for place in range(number)})


def join_items(attribute: Basket, codes: Mapping[str, NDArray[np.integer]]) -> pd.Series:
    """The text of each cell: the items that are in it, in the order of the list."""
    separator = attribute.separator
    columns = [np.asarray(codes[part.name]) for part in attribute.parts]
    rows = len(columns[0])
    texts = np.full(rows, "", dtype=object)
    for item, column in zip(attribute.items, columns, strict=True):
        there = np.flatnonzero(column)
        texts[there] = [f"{text}{separator}{item}" if text else item for text in texts[there]]
    return pd.Series(texts, dtype="str")


def _bags(
    attribute: Baskets, column: pa.Array, *, rank: Callable[[str], int | None], number: int
) -> Bags:
    lists = _split(column, attribute.separator)
    sizes = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    texts = lists.flatten().dictionary_encode()
    table = np.array(
        [_place(text, rank) for text in texts.dictionary.to_pylist()] or [-1], dtype=np.int64
    )
    items = table[texts.indices.to_numpy(zero_copy_only=False)]
    records = np.repeat(np.arange(len(sizes)), sizes)
    # An item counts once in a basket: listed twice, it would give one record two votes, and the
    # sensitivity of the votes would be wrong.
    keys = _distinct((records * number + items)[items >= 0])  # one number for record and item
    offsets = np.searchsorted(keys, np.arange(len(sizes) + 1) * number)
    return pa.LargeListArray.from_arrays(
        pa.array(offsets, type=pa.int64()), pa.array(keys % number, type=pa.int32())
    )


def _split(
    column: pa.Array | pa.ChunkedArray | Sequence[str | None], separator: str
) -> pa.ListArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = pa.array(column, type=pa.string())
    texts = pc.fill_null(column.cast(pa.string()), "")
    return (
        pc.utf8_split_whitespace(texts)
        if separator == " "
        else pc.split_pattern(texts, separator)
    )


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the keys in ascending order, each once."""
    keys = np.sort(keys)
    distinct: NDArray[np.int64] = keys[np.append(True, keys[1:] != keys[:-1])[: keys.size]]
    return distinct


def _place(text: str, rank: Callable[[str], int | None]) -> int:
    text = text.strip()
    number = rank(text) if text else None
    return -1 if number is None else number
