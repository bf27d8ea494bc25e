"""A question to the rows, as a verb states it before they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from synth_engine.domain import Domain
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import ClassTree
from synth_engine.indexing import classes
from synth_engine.measurement import MAX_TABLE_CELLS, Answer, Clique, Merged, Query
from synth_engine.privacy.events import Event
from synth_engine.privacy.loss import Loss
from synth_engine.privacy.unit import Sensitivity, histogram_sensitivity
from synth_engine.room.count_cache import CountCache
from synth_engine.room.samplers import Sampler

Exact = TypeVar("Exact")
OneKind = TypeVar("OneKind", bound=Answer)
PartOf = Callable[[Callable[[], OneKind]], OneKind]
"""Does a drawing, or gives the part that was drawn before."""


@dataclass(frozen=True, kw_only=True)
class Question(Generic[Exact, OneKind]):
    """query, event: public; what the journal records and the filter charges. count: the exact answer, which
    only the session may ask for, after both. answer: adds the noise that the event states. in_parts: the same
    for an answer that is drawn in parts, each of which follows from rows, noise and the parts before it
    alone; the third argument takes the drawing of each part, and gives back what counts as drawn. None where
    the answer is drawn at once, or where something secret is kept between parts."""

    query: Query
    event: Event
    count: Callable[[CountCache], Exact]
    answer: Callable[[Exact, Sampler], OneKind]
    in_parts: Callable[[Exact, Sampler, PartOf[OneKind]], OneKind] | None = None


@dataclass(frozen=True)
class PublicFacts:
    """The only facts by which a verb may state a question: the public description and the cap,
    and no row."""

    domain: Domain
    cap: Loss

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of a table of counts."""
        return histogram_sensitivity(self.domain.unit, self.domain.relation)

    @cached_property
    def class_trees(self) -> dict[str, ClassTree]:
        """The public classes of each column that boxes may be divided by."""
        return {tree.column: tree for tree in classes.class_trees(self.domain)}

    def shape(self, clique: Clique, merged: Merged | None = None) -> tuple[int, ...]:
        """The numbers of codes, or of bins, of the attributes. Errors: PrivacyError for bins that are not of
        these attributes, or of which one has no code, and for a table that is too large."""
        (shape,) = self.shapes([(clique, merged)])
        return shape

    def shapes(self, tables: Iterable[tuple[Clique, Merged | None]]) -> list[tuple[int, ...]]:
        """The same for many tables. Bins that several of them share are checked once."""
        # The arrays are held, so that none of them has the identity of an earlier one.
        known: dict[tuple[str, int], tuple[NDArray[np.integer[Any]], int]] = {}
        shapes = []
        for clique, merged in tables:
            shape = dict(zip(clique, self.domain.shape(clique), strict=True))
            for name, bins in (merged or {}).items():
                if name not in shape:
                    raise PrivacyError(
                        "bins are given for a column that the table does not have"
                    )
                key = name, id(bins)
                if key not in known:
                    known[key] = bins, self._number_of_bins(name, bins)
                _, shape[name] = known[key]
            if prod(shape.values()) > MAX_TABLE_CELLS:
                raise PrivacyError(f"a table has from 1 to {MAX_TABLE_CELLS:,} cells")
            shapes.append(tuple(shape.values()))
        return shapes

    def _number_of_bins(self, name: str, bins: NDArray[np.integer[Any]]) -> int:
        number = int(bins.max(initial=-1)) + 1
        if bins.shape != self.domain.shape((name,)) or not _all_used(bins, number):
            raise PrivacyError(
                "codes are merged into bins numbered from 0 on, none of them empty"
            )
        return number


def _all_used(bins: NDArray[np.integer[Any]], number: int) -> bool:
    """Return whether the numbers are those of so many bins, and each of them occurs."""
    # As many bins as codes at most, so that a wild number takes no memory.
    if number > bins.size or bins.min(initial=0) < 0:
        return False
    return bool(np.bincount(bins, minlength=number).all())
