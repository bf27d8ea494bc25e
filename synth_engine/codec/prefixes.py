"""The public hierarchies that a domain has, and the codes of records in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain, Integer, Number, Weak
from synth_engine.errors import DomainError
from synth_engine.hierarchy import Codes, Hierarchy, Points, Words
from synth_engine.hierarchy.points import BITS
from synth_engine.values.strings import Strings


def hierarchy(domain: Domain, columns: Sequence[str]) -> Hierarchy:
    """Of columns of numbers, points in the box of their bounds, as fine as all of their bins allow; of one column of
    unknown texts over an alphabet, its signs. Errors: DomainError naming the column."""
    attributes = [domain.attribute(name) for name in columns]
    if len(attributes) == 1 and isinstance(attributes[0], Weak):
        return words(attributes[0])
    for attribute in attributes:
        if not isinstance(attribute, Number | Integer):
            raise attribute.error(
                "a coordinate of points that is no number", repair="describe it as a number, or leave it out"
            )
        if attribute.missing is not None:
            raise attribute.error(
                "a coordinate of points that may be missing", repair="leave such records out, and the markers"
            )
        if attribute.value_count < 2:
            raise attribute.error("a coordinate of points with one bin", repair="declare more bins, or leave it out")
    if not attributes:
        raise DomainError("points have no coordinate", repair="name columns of numbers")
    finest = min(attribute.value_count.bit_length() - 1 for attribute in attributes)
    return Points(
        columns=tuple(columns),
        low=tuple(float(attribute.low) for attribute in attributes if isinstance(attribute, Number | Integer)),
        high=tuple(_end(attribute) for attribute in attributes if isinstance(attribute, Number | Integer)),
        resolution=min(finest, BITS // len(attributes)),
    )


def _end(attribute: Number | Integer) -> float:
    return float(attribute.high if isinstance(attribute, Number) else attribute.high + 1)


def words(attribute: Weak) -> Words:
    """The signs of a column of unknown texts. Errors: DomainError if its texts are not those over an alphabet."""
    values = attribute.values
    if not isinstance(values, Strings):
        raise attribute.error("texts that are not those over an alphabet", repair='declare the set "strings"')
    return Words(
        columns=(attribute.name,),
        alphabet=values.alphabet,
        shortest=values.min_length,
        longest=values.max_length,
    )


def of_codes(found: Hierarchy, columns: Mapping[str, NDArray[np.integer[Any]]], domain: Domain) -> Codes:
    """Codes of records from the numbers of their bins. A part of the box is the bins that begin in it, so that bins of one
    width and a power of two of them are its parts."""
    assert isinstance(found, Points)  # noqa: S101 - the only ones that are counted by bins
    sizes = [domain.sizes[name] for name in found.columns]
    positions = [np.arange(size) * found.parts // size for size in sizes]
    return found.of_numbers([columns[name] for name in found.columns], positions)


def first_bins(points: Points, positions: NDArray[np.int64], *, size: int) -> NDArray[np.int64]:
    """The first bin of each part of a coordinate that has so many; of part i + 1 it is the end of part i."""
    found: NDArray[np.int64] = -(-positions * size // points.parts)
    return found


def ranked(found: Hierarchy, domain: Domain) -> Callable[[Sequence[int]], tuple[Codes, NDArray[np.bool_]]] | None:
    """Of texts: what makes codes of their numbers within the public set, and tells which of these are of a text at all:
    "other" and missing are not. None for what is counted by bins."""
    attribute = domain.attribute(found.columns[0])
    if not isinstance(found, Words) or not isinstance(attribute, Weak):
        return None
    values = attribute.values

    def codes(ranks: Sequence[int]) -> tuple[Codes, NDArray[np.bool_]]:
        inside = np.array([rank < values.size for rank in ranks], dtype=np.bool_)
        return found.encode([values.unrank(rank if rank < values.size else 0) for rank in ranks]), inside

    return codes
