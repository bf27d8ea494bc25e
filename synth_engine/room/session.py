"""The one way to ask about rows: admit, journal, count, noise; in that order, every time.

A question over the cap is refused before rows are read. One that was admitted stays in the journal and stays
paid for, even if counting fails afterwards. One that was answered before the run was interrupted has the
answer of then. Each verb, with its law and its sensitivity, is a module of `verbs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar, cast

from synth_engine import watching
from synth_engine.domain import Domain
from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Boxes, Growth, NodeSet, Rule
from synth_engine.measurement import (
    Answer,
    AnsweredCall,
    Answers,
    BoxChoices,
    BoxCounts,
    Call,
    CallLog,
    Candidate,
    Clique,
    Discovery,
    GroupSizes,
    Leaves,
    Measurement,
    Merged,
    NoCallLog,
    Noise,
    Scores,
    Truth,
)
from synth_engine.privacy.dirichlet_multinomial import Resampled
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import Loss
from synth_engine.room.count_cache import CountCache
from synth_engine.room.question import PublicFacts, Question
from synth_engine.room.rows import Rows
from synth_engine.room.samplers import Sampler, SecureSampler
from synth_engine.room.verbs import (
    box_counts,
    discover,
    divide,
    group_sizes,
    grow,
    interaction,
    intervals,
    items,
    leaves,
    measure,
    resample,
    score,
    select,
    select_split,
)

Exact = TypeVar("Exact")
OneKind = TypeVar("OneKind", bound=Answer)


class RoomSession:
    """A Session over rows. Made by `open_session`."""

    def __init__(
        self,
        rows: Rows,
        *,
        domain: Domain,
        cap: Loss,
        sampler: Sampler,
        log: CallLog,
        planned: tuple[Call, ...] = (),
    ) -> None:
        self._facts = PublicFacts(domain, cap)
        self._counts = CountCache(rows)
        self._sampler = sampler
        self._log = log
        self._planned = planned
        self._filter = Filter(cap)
        self._journal: list[Call] = []
        self._answered: list[AnsweredCall] = []

    def _ask(self, question: Question[Exact, OneKind]) -> OneKind:
        """The privacy argument in four steps (docs/proofs/accounting.md). Nothing else in the house looks at
        rows to answer a question, and the question was stated from public facts before."""
        call = Call(query=question.query, event=question.event)
        number = len(self._journal)
        watching.tell(number / len(self._planned) if self._planned else 0.0)
        # What certifies a static plan certifies its list of calls in its order, and nothing else.
        if self._planned and self._planned[number : number + 1] != (call,):
            raise PrivacyError("this call is not the next one planned")
        # 1. The filter refuses what would exceed the cap, whatever the rows hold.
        self._filter.admit(question.event)
        # 2. From here on the call is paid for, so it is in the journal even if counting fails.
        self._journal.append(call)
        # What was drawn before the run was interrupted is not drawn again.
        if question.in_parts is not None:
            answered = self._draw_in_parts(question, call)
        else:
            answered = self._log.next_stored() or self._draw(question, call)
        if answered.call != call:
            raise PrivacyError("the stored answers are not those of this run")
        self._answered.append(answered)
        return cast(OneKind, answered.answer)

    def _draw(self, question: Question[Exact, OneKind], call: Call) -> AnsweredCall:
        # 3. Only now are the rows counted, exactly.
        exact = question.count(self._counts)
        if isinstance(self._sampler, SecureSampler):
            self._sampler.prepare(question.event)
        # All this takes its time and draws nothing. Whoever is interrupted from here on may have drawn noise.
        self._log.begin(call)
        # 4. What leaves the room has the noise that the event states.
        answered = AnsweredCall(call, question.answer(exact, self._sampler))
        self._log.store(answered)
        return answered

    def _draw_in_parts(self, question: Question[Exact, OneKind], call: Call) -> AnsweredCall:
        """As `_draw`, with each part of the answer stored before the next one is drawn. Of parts that were
        stored, too, the rows are counted, because what is counted next depends on them."""
        if question.in_parts is None:
            raise TypeError("a question whose answer is drawn at once")
        exact = question.count(self._counts)
        if isinstance(self._sampler, SecureSampler):
            self._sampler.prepare(question.event)

        def part(draw: Callable[[], OneKind]) -> OneKind:
            answered = self._log.next_stored()
            if answered is None:
                self._log.begin(call)
                answered = AnsweredCall(call, draw())
                self._log.store(answered)
            if answered.call != call:
                raise PrivacyError("the stored answers are not those of this run")
            return cast(OneKind, answered.answer)

        return AnsweredCall(call, question.in_parts(exact, self._sampler, part))

    def measure(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        return self._ask(measure.question(self._facts, clique, noise=noise, merged=merged))

    def interaction(
        self, clique: Clique, *, noise: Noise, merged: Merged | None = None
    ) -> Measurement:
        return self._ask(interaction.question(self._facts, clique, noise=noise, merged=merged))

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        return self._ask(score.question(self._facts, tuple(candidates), noise=noise))

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        question = select.question(self._facts, tuple(candidates), scale=scale)
        return self._ask(question).index

    def select_split(
        self, chosen: Clique, candidates: Sequence[str], *, scale: Fraction
    ) -> int:
        question = select_split.question(self._facts, chosen, candidates, scale=scale)
        return self._ask(question).index

    def divide(self, boxes: Boxes, *, among: Truth, scale: Fraction) -> BoxChoices:
        return self._ask(divide.question(self._facts, boxes, among=among, scale=scale))

    def boxes(self, boxes: Boxes, *, noise: Noise) -> BoxCounts:
        return self._ask(box_counts.question(self._facts, boxes, noise=noise))

    def group_sizes(self, *, noise: Noise) -> GroupSizes:
        return self._ask(group_sizes.question(self._facts, noise=noise))

    def discover(self, name: str, *, noise: Noise, threshold: int) -> Discovery:
        return self._ask(discover.question(self._facts, name, noise=noise, threshold=threshold))

    def items(self, name: str, *, noise: Noise) -> Measurement:
        return self._ask(items.question(self._facts, name, noise=noise))

    def intervals(
        self, name: str, cuts: Sequence[int], *, noise: Noise, divisors: Sequence[int] = (1,)
    ) -> Measurement:
        return self._ask(
            intervals.question(self._facts, name, cuts, noise=noise, divisors=divisors)
        )

    def grow(
        self, columns: Clique, *, rule: Rule, noise: Noise, together: bool = True
    ) -> Growth:
        return self._ask(
            grow.question(self._facts, columns, rule=rule, noise=noise, together=together)
        )

    def leaves(
        self,
        partition: NodeSet,
        *,
        noise: Noise,
        by: Clique = (),
        threshold: int | None = None,
        together: bool = True,
    ) -> Leaves:
        return self._ask(
            leaves.question(
                self._facts,
                partition,
                noise=noise,
                by=by,
                threshold=threshold,
                together=together,
            )
        )

    def resample(
        self, origin: str, *, event: DirichletMultinomial, parting: str = ""
    ) -> Resampled:
        return self._ask(resample.question(self._facts, origin, event=event, parting=parting))

    def resolve(self, domain: Domain) -> None:
        """Counts the rows under what was learned from now on. The caller chose `domain` from public facts and
        paid answers alone; that nothing but undeclared attributes differs is checked. It asks nothing, so it
        costs nothing."""
        self._counts = CountCache(self._counts.rows.resolve(domain))
        self._facts = PublicFacts(domain, self._facts.cap)

    def join_places(self, cells: Mapping[str, NodeSet]) -> None:
        """Counts each of these places by the cells in which records lie from now on. The caller chose the
        cells from public facts and paid answers alone. It asks nothing, so it costs nothing
        (docs/proofs/learning.md)."""
        rows = self._counts.rows.join_places(cells)
        self._counts = CountCache(rows)
        self._facts = PublicFacts(rows.domain, self._facts.cap)

    @property
    def domain(self) -> Domain:
        return self._facts.domain

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._journal)

    @property
    def answers(self) -> Answers:
        return Answers(tuple(self._answered))

    @property
    def spent(self) -> Loss:
        return self._filter.spent

    def __repr__(self) -> str:
        return f"<session: {len(self._journal)} calls>"

    def __reduce__(self) -> str:
        raise PrivacyError("a session cannot be copied or stored")


def open_session(
    rows: Rows,
    *,
    domain: Domain,
    cap: Loss,
    sampler: Sampler | None = None,
    planned: tuple[Call, ...] = (),
    log: CallLog | None = None,
) -> RoomSession:
    """A session under a cap that was charged beforehand. The rows were truncated by unit when they were
    opened, so they must have been opened under this very domain. planned: the calls of a static plan; then
    nothing else, and nothing in another order, is answered, because what certifies them certifies this list
    alone. log: where answers are stored before they are used."""
    if rows.domain != domain:
        raise PrivacyError("the rows were opened under another domain")
    return RoomSession(
        rows,
        domain=domain,
        cap=cap,
        sampler=sampler or SecureSampler(),
        log=log or NoCallLog(),
        planned=planned,
    )
