"""The noisy counts of a run with the bins by which they count: what later estimates of counts are made from.

Stored answers do not repeat how codes were merged into bins, because the plan says it. Here the plan asks
once more, of a session that reads the stored answers, and the bins are written down beside the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from synth_engine import watching
from synth_engine.domain import Scale
from synth_engine.hierarchy import Boxes, Growth, NodeSet, Rule
from synth_engine.measurement.answer import (
    BoxChoices,
    BoxCounts,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Scores,
    Selection,
)
from synth_engine.measurement.answers import Answers
from synth_engine.measurement.noise import Noise, NoiseLaw
from synth_engine.measurement.question import (
    Call,
    Candidate,
    Clique,
    Counts,
    Merged,
    Truth,
    partition_digest,
)
from synth_engine.measurement.replay import Replay
from synth_engine.privacy import events
from synth_engine.privacy.dirichlet_multinomial import Resampled

if TYPE_CHECKING:
    from synth_engine.domain import Domain

Bins = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PaidCounts:
    """One noisy table of counts, or of their interaction contrast.

    clique: the columns, one for each axis of `values` (int64). bins: for each column the bin of each of its
    codes, shape (codes,), bins from 0 on without a gap. variance: of the noise of one value. law: of that
    noise. interaction: whether `values` are the interaction contrast (`Session.interaction`) instead of
    counts."""

    clique: Clique
    values: Counts
    bins: tuple[Bins, ...]
    variance: float
    law: NoiseLaw
    interaction: bool = False

    def __post_init__(self) -> None:
        shape = tuple(int(each.max()) + 1 for each in self.bins)
        if len(self.bins) != len(self.clique) or shape != self.values.shape:
            raise ValueError("counts have one axis for each column, and one entry for each bin")


def _nobody_watches(_share: float) -> None:
    """For callers that show no progress."""


def paid_counts(
    ask: object,
    answers: Answers,
    *,
    domain: Domain,
    progress: Callable[[float], None] = _nobody_watches,
) -> tuple[list[PaidCounts], Domain]:
    """The tables of counts of a run, in the order in which they were asked for, and the domain by which they
    count.

    ask: the plan of the run (anything with its method `ask`); domain: the one that the plan starts from;
    progress: is told the share that is done, from 0 to 1. Only answers that count codes or bins of codes are
    returned. Errors: InputError for answers of another plan."""
    with watching.watched(progress) as tell:
        session = _Listening(answers, domain=domain, progress=tell)
        ask.ask(session)  # type: ignore[attr-defined]  # the type of plans lies above this layer
    session.finish()
    return session.tables(), session.domain


def counted_calls(ask: object, answers: Answers, *, domain: Domain) -> frozenset[int]:
    """The places, from 0 on, of the answers that `paid_counts` returns. Errors: InputError for answers of
    another plan."""
    session = _Listening(answers, domain=domain)
    ask.ask(session)  # type: ignore[attr-defined]  # the type of plans lies above this layer
    session.finish()
    return frozenset(session.places)


class _Listening:
    """A session that gives stored answers in their order, and remembers by which bins each was asked for."""

    def __init__(
        self,
        answers: Answers,
        *,
        domain: Domain,
        progress: Callable[[float], None] = _nobody_watches,
    ) -> None:
        self.domain, self._progress = domain, progress
        self.answers = Answers()
        self._stored, self._given = answers, Replay(answers)
        self._heard: list[tuple[Measurement, Merged]] = []
        self.places: list[int] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.answers.calls

    def finish(self) -> None:
        self._given.finish()

    def tables(self) -> list[PaidCounts]:
        # Now that every column is resolved: codes are those of the domain in the end.
        return [
            PaidCounts(
                clique=answer.clique,
                values=answer.values,
                bins=tuple(self._bins(name, merged) for name in answer.clique),
                variance=answer.noise.variance,
                law=answer.noise.law,
                interaction=answer.interaction,
            )
            for answer, merged in self._heard
        ]

    def _bins(self, name: str, merged: Merged) -> Bins:
        bins = merged.get(name)
        return np.arange(self.domain.sizes[name]) if bins is None else bins.astype(np.int64)

    def _advance(self) -> None:
        self.answers = self._stored[: len(self.answers) + 1]
        self._progress(len(self.answers) / max(1, len(self._stored)))

    def _measured(self, clique: Clique) -> Measurement:
        answer = self._given.measurement(clique)
        self._advance()
        return answer

    def measure(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        answer = self._measured(clique)
        self._given.require(answer.noise == noise and not answer.interaction)
        # A column that is still to be learned is counted by other codes than those of the release.
        if not set(clique) & {attribute.name for attribute in self.domain.undeclared}:
            self._remember(answer, merged)
        return answer

    def interaction(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        answer = self._measured(clique)
        self._given.require(answer.noise == noise and answer.interaction)
        self._remember(answer, merged)
        return answer

    def _remember(self, answer: Measurement, merged: Merged | None) -> None:
        self._heard.append((answer, merged or {}))
        self.places.append(len(self.answers) - 1)

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        del noise
        answer = self._given.next(Scores, lambda one: one.values.size == len(candidates))
        self._advance()
        return answer

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        del scale
        return self._selected(len(candidates))

    def select_split(
        self, chosen: Clique, candidates: Sequence[str], *, scale: Fraction
    ) -> int:
        del chosen, scale
        return self._selected(len(candidates))

    def divide(self, boxes: Boxes, *, among: Truth, scale: Fraction) -> BoxChoices:
        del among, scale
        answer = self._given.next(BoxChoices, lambda one: one.choices.size == len(boxes))
        self._advance()
        return answer

    def boxes(self, boxes: Boxes, *, noise: Noise) -> BoxCounts:
        del noise
        answer = self._given.next(BoxCounts, lambda one: one.boxes == boxes.digest)
        self._advance()
        return answer

    def _selected(self, candidates: int) -> int:
        answer = self._given.next(Selection, lambda one: 0 <= one.index < candidates)
        self._advance()
        return answer.index

    def items(self, name: str, *, noise: Noise) -> Measurement:
        del noise
        return self._measured((name,))

    def intervals(
        self, name: str, cuts: Sequence[int], *, noise: Noise, divisors: Sequence[int] = (1,)
    ) -> Measurement:
        attribute = self.domain.attribute(name)
        if not isinstance(attribute, Scale):
            raise TypeError("intervals are asked of scales alone")
        answer = self._measured((name,))
        # Answers of an earlier version may have been given to other questions about the same column.
        partition = partition_digest(attribute.lattice, cuts, divisors)
        self._given.require((answer.noise, answer.partition) == (noise, partition))
        return answer

    def group_sizes(self, *, noise: Noise) -> GroupSizes:
        del noise
        answer = self._given.next(GroupSizes)
        self._advance()
        return answer

    def discover(self, name: str, *, noise: Noise, threshold: int) -> Discovery:
        del noise, threshold
        answer = self._given.next(Discovery, lambda one: one.attribute == name)
        self._advance()
        return answer

    def grow(
        self, columns: Clique, *, rule: Rule, noise: Noise, together: bool = True
    ) -> Growth:
        del columns, rule, noise, together
        answer = self._given.next(Growth)
        self._advance()
        return answer

    def leaves(
        self,
        partition: NodeSet,
        *,
        noise: Noise,
        by: Clique = (),
        threshold: int | None = None,
        together: bool = True,
    ) -> Leaves:
        del partition, noise, by, threshold, together
        answer = self._given.next(Leaves)
        self._advance()
        return answer

    def resample(
        self, origin: str, *, event: events.DirichletMultinomial, parting: str = ""
    ) -> Resampled:
        del origin, event, parting
        answer = self._given.next(Resampled)
        self._advance()
        return answer

    def resolve(self, domain: Domain) -> None:
        self.domain = domain

    def join_places(self, cells: Mapping[str, NodeSet]) -> None:
        self.domain = self.domain.join_places({name: len(cells[name]) for name in cells})
