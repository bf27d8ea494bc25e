"""The protocol by which a mechanism asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from synth_engine.hierarchy import Boxes, Growth, NodeSet, Rule
from synth_engine.measurement.answer import (
    BoxChoices,
    BoxCounts,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Scores,
)
from synth_engine.measurement.answers import Answers
from synth_engine.measurement.noise import Noise
from synth_engine.measurement.question import Call, Candidate, Clique, Merged, Truth
from synth_engine.privacy import events
from synth_engine.privacy.dirichlet_multinomial import Resampled

if TYPE_CHECKING:
    from synth_engine.domain import Domain


class Session(Protocol):
    """The interface through which a mechanism asks. Every question is charged before rows are
    read."""

    @property
    def domain(self) -> Domain: ...

    @property
    def calls(self) -> tuple[Call, ...]:
        """The journal so far; holds no answers."""
        ...

    @property
    def answers(self) -> Answers:
        """All calls so far with their noisy answers, in the order in which they were asked."""
        ...

    def measure(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        """Counts of every cell of the clique plus independent noise on each cell. The empty clique has one
        cell, the number of records. merged: attributes of the clique that are counted by bins."""
        ...

    def interaction(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        """Measures the interaction contrast of a table, with independent noise on each cell:
        along every axis of K cells, in turn, K times each count less the sum of all. For its
        size it moves less than the counts do."""
        ...

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        """Measures the distance of every candidate's table from its reference, with independent
        noise on each score; all of them cost what one vector costs of which every entry may
        move."""
        ...

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        """The index of a candidate of large score; larger `scale` means more noise."""
        ...

    def select_split(
        self, chosen: Clique, candidates: Sequence[str], *, scale: Fraction
    ) -> int:
        """The index of a column by which the groups of `chosen` are divided as little as possible: of a large
        number of records in the largest class of their group. Larger `scale` means more noise."""
        ...

    def divide(self, boxes: Boxes, *, among: Truth, scale: Fraction) -> BoxChoices:
        """A column for each box by which it is divided as little as possible: of a large number of records in
        the largest of the boxes that it becomes. Boxes are disjoint, so all choices together cost what one
        costs. among: which columns may be chosen, shape (boxes, columns); a box without one stays."""
        ...

    def boxes(self, boxes: Boxes, *, noise: Noise) -> BoxCounts:
        """Counts of all boxes, plus independent noise on each."""
        ...

    def items(self, name: str, *, noise: Noise) -> Measurement:
        """Weighted counts of every item that a weak basket may hold, plus independent noise on each: every
        record has one vote of `VOTE` parts, shared by the items in its basket, and equally long by the norm
        that the noise goes by."""
        ...

    def intervals(
        self, name: str, cuts: Sequence[int], *, noise: Noise, divisors: Sequence[int] = (1,)
    ) -> Measurement:
        """Counts the values of a column on a lattice by intervals of positions, from each cut to the next,
        plus independent noise on each; last, where values may be missing, the records without one. divisors:
        within each interval, positions are counted by the largest of these that divides them; each one
        divides the next."""
        ...

    def group_sizes(self, *, noise: Noise) -> GroupSizes:
        """Counts the units that have 1, 2, … records, up to the most that one may have, with
        independent noise on each count."""
        ...

    def discover(self, name: str, *, noise: Noise, threshold: int) -> Discovery:
        """The values of a weak attribute whose noisy counts reach a public threshold, with these counts."""
        ...

    def grow(
        self, columns: Clique, *, rule: Rule, noise: Noise, together: bool = True
    ) -> Growth:
        """Grows a tree: which nodes of the public hierarchy over these columns are opened and,
        under the basic rule, noisy counts.

        together: points are halved along all coordinates at once, not along one after another."""
        ...

    def leaves(
        self,
        partition: NodeSet,
        *,
        noise: Noise,
        by: Clique = (),
        threshold: int | None = None,
        together: bool = True,
    ) -> Leaves:
        """Counts of each part of a hierarchy, in each cell of the table of `by`, plus independent noise on
        each. threshold: counts below it are given as 0, and then time does not depend on how many parts are
        empty. together: as of `grow`."""
        ...

    def resample(
        self, origin: str, *, event: events.DirichletMultinomial, parting: str = ""
    ) -> Resampled:
        """Draws as many records of each group as it publicly has, with origins, or public parts
        of them, from its own ones and a prior."""
        ...

    # Not a query: it reads no count, so it has no event and is not charged.
    def resolve(self, domain: Domain) -> None:
        """Counts the rows from now on under what was learned of undeclared attributes."""
        ...

    # Not a query either.
    def join_places(self, cells: Mapping[str, NodeSet]) -> None:
        """Counts each of these places from now on as one attribute, by the cell in which a record lies."""
        ...
