"""Baskets of records as numbers of items, and a column of codes for each item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from synth_engine.domain import Attribute, Basket, WeakBasket
from synth_engine.kinds.reading import Codes, code_dtype

if TYPE_CHECKING:
    import pyarrow as pa

Bags: TypeAlias = "pa.LargeListArray"
"""For each record the numbers of the items in its basket: int32, each once, in order."""


def resolved_items(attribute: WeakBasket, resolved: Attribute, held: Bags) -> dict[str, Codes]:
    """A column of codes for each item of the learned basket."""
    if not isinstance(resolved, Basket):
        raise TypeError("a weak basket becomes a basket")
    ranks = [attribute.values.rank(item) for item in resolved.items]
    return item_columns(
        resolved,
        held,
        places={rank: place for place, rank in enumerate(ranks) if rank is not None},
    )


def item_columns(
    attribute: Basket, held: Bags, *, places: Mapping[int, int]
) -> dict[str, Codes]:
    """A column of 0 and 1 for each item of the list. places: in the list, of the numbers that are in it."""
    records = np.repeat(np.arange(len(held)), np.diff(held.offsets.to_numpy()))
    items = held.flatten().to_numpy(zero_copy_only=False)
    order = np.argsort(items, kind="stable")
    items, records = items[order], records[order]
    columns = {}
    by_place = {place: number for number, place in places.items()}
    for place, part in enumerate(attribute.parts):
        column = np.zeros(len(held), dtype=code_dtype(part.size))
        start, end = np.searchsorted(items, [by_place[place], by_place[place] + 1])
        column[records[start:end]] = 1
        columns[part.name] = column
    return columns
