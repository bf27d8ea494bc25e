"""Boxes: disjoint parts of the combinations of all columns, each a class of every column, found by dividing
box after box.

A column has a public tree of classes: all its values, the classes into which they are declared to fall, and
so on down to the single values. A box begins as all values of all columns. A division replaces it by one box
for each child of its class in one column, so boxes are disjoint and cover everything whatever columns are
chosen. Everything here is public, or a function of answers that were paid for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from synth_engine.errors import PrivacyError

MAX_BOXES = 20_000
MAX_CLASS_CODES = 1_000
"""Codes of a column that can be divided: its tree has a table of classes by codes."""
UNDIVIDED = -1
"""In a round: a box that stays as it is."""

Choices = npt.NDArray[np.int64]
"""A round of divisions, shape (boxes,): the index of the column by which each box is divided, or
`UNDIVIDED`."""
Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassTree:
    """The classes of one column. children: of each class, the indices of those that it divides into, none of
    a single value; class 0 has all codes. child_of: for each class and code, the place among these children
    of the one with the code, and -1 outside the class; shape (classes, codes)."""

    column: str
    children: tuple[tuple[int, ...], ...]
    child_of: npt.NDArray[np.int64]

    @classmethod
    def of_levels(cls, column: str, levels: Sequence[Codes]) -> ClassTree:
        """levels: the class of each code, the widest classes first, each level within the one before. The
        codes themselves come last by themselves. A class that a level leaves whole is divided by the next one
        that does not."""
        size = len(levels[0])
        finer = [*levels, np.arange(size)]
        members: list[Codes] = [np.arange(size)]
        children: list[tuple[int, ...]] = []
        child_of = []
        # `members` grows while it is read: every class comes after the one that it is a part of.
        for codes in members:
            places = np.full(size, -1, dtype=np.int64)
            parts: list[Codes] = []
            for level in finer:
                values, inverse = np.unique(np.asarray(level)[codes], return_inverse=True)
                if values.size > 1:
                    places[codes] = inverse
                    parts = [codes[inverse == at] for at in range(values.size)]
                    break
            children.append(tuple(range(len(members), len(members) + len(parts))))
            members += parts
            child_of.append(places)
        return cls(column=column, children=tuple(children), child_of=np.stack(child_of))

    @cached_property
    def widths(self) -> npt.NDArray[np.int64]:
        """The number of children of each class."""
        return np.array([len(each) for each in self.children], dtype=np.int64)

    @cached_property
    def members(self) -> tuple[npt.NDArray[np.intp], ...]:
        """The codes of each class, increasing."""
        codes = [np.arange(self.child_of.shape[1])] * len(self.children)
        for parent, (children, places) in enumerate(
            zip(self.children, self.child_of, strict=True)
        ):
            for place, child in enumerate(children):
                inside = codes[parent]
                codes[child] = inside[places[inside] == place]
        return tuple(codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Boxes over the columns of `trees`, after these rounds of divisions. Errors: PrivacyError for a round
    that is none of these boxes."""

    trees: tuple[ClassTree, ...]
    rounds: tuple[Choices, ...] = ()

    def __post_init__(self) -> None:
        _ = self.classes

    @cached_property
    def by_round(self) -> tuple[npt.NDArray[np.int64], ...]:
        """The classes of the boxes before each round and after the last: shapes (boxes, columns)."""
        classes = [np.zeros((1, len(self.trees)), dtype=np.int64)]
        for choices in self.rounds:
            classes.append(self._divided(classes[-1], choices))
        return tuple(classes)

    def _divided(
        self, classes: npt.NDArray[np.int64], choices: Choices
    ) -> npt.NDArray[np.int64]:
        widths = self._widths(classes, choices)
        if widths.sum() > MAX_BOXES:
            raise PrivacyError(f"there are at most {MAX_BOXES:,} boxes")
        divided = np.repeat(classes, widths, axis=0)
        starts = np.cumsum(widths) - widths
        for box in np.flatnonzero(choices != UNDIVIDED).tolist():
            column = int(choices[box])
            children = self.trees[column].children[classes[box, column]]
            divided[starts[box] : starts[box] + len(children), column] = children
        return divided

    def _widths(
        self, classes: npt.NDArray[np.int64], choices: Choices
    ) -> npt.NDArray[np.int64]:
        """Into how many boxes each is divided: 1 where it stays."""
        if choices.shape != (len(classes),) or choices.dtype != np.int64:
            raise PrivacyError("a round of divisions has a column for each box")
        if choices.min() < UNDIVIDED or choices.max() >= len(self.trees):
            raise PrivacyError("a box is divided by a column that is not there")
        widths = np.ones(len(classes), dtype=np.int64)
        for column, tree in enumerate(self.trees):
            mine = choices == column
            widths[mine] = tree.widths[classes[mine, column]]
        if (widths < 1).any():
            raise PrivacyError("a box is divided by a column of which it has a single value")
        return widths

    @property
    def classes(self) -> npt.NDArray[np.int64]:
        """The class of each box in each column, shape (boxes, columns)."""
        return self.by_round[-1]

    def __len__(self) -> int:
        return len(self.classes)

    def divided(self, choices: Choices) -> Boxes:
        """The boxes after one more round."""
        return Boxes(trees=self.trees, rounds=(*self.rounds, choices))

    @cached_property
    def parents(self) -> tuple[npt.NDArray[np.int64], ...]:
        """For each round the box before it in which each box after it lies, increasing."""
        return tuple(
            np.repeat(np.arange(len(before)), self._widths(before, choices))
            for before, choices in zip(self.by_round, self.rounds, strict=False)
        )

    @cached_property
    def child_counts(self) -> npt.NDArray[np.int64]:
        """Into how many boxes a division by each column would divide each box, 0 where it cannot: shape
        (boxes, columns)."""
        counts = [
            tree.widths[self.classes[:, column]] for column, tree in enumerate(self.trees)
        ]
        return np.stack(counts, axis=1)

    def places(self, codes: Sequence[Codes]) -> npt.NDArray[np.int64]:
        """The box of each record. codes: those of the records in each column, in the order of the trees."""
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for classes, choices, parents in zip(
            self.by_round, self.rounds, self.parents, strict=False
        ):
            starts = np.searchsorted(parents, np.arange(len(classes)))
            column_of = choices[place]
            moved = starts[place]
            for column in np.unique(choices[choices != UNDIVIDED]).tolist():
                mine = np.flatnonzero(column_of == column)
                class_of = classes[place[mine], column]
                moved[mine] += self.trees[column].child_of[class_of, codes[column][mine]]
            place = moved
        return place

    @cached_property
    def digest(self) -> str:
        """SHA-256 over columns and rounds."""
        sha = hashlib.sha256("\n".join(tree.column for tree in self.trees).encode())
        for choices in self.rounds:
            sha.update(len(choices).to_bytes(8, "big"))
            sha.update(np.ascontiguousarray(choices, dtype="<i8").tobytes())
        return sha.hexdigest()
