"""Answers that tests make up, or change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from synth_engine.measurement import Answer, AnsweredCall, Answers, Call, Query, Selection
from synth_engine.privacy.events import Gumbel


def replaced(answers: Answers, kind: type[Answer], given: Iterable[Answer | int]) -> Answers:
    """Other answers of one kind, in the places of those that there were. An answer that was there before
    brings its call, and a new one has that of its place. Too few leave the last places out; too many follow
    at the end. Whole numbers are selections."""
    remaining = iter([Selection(one) if isinstance(one, int) else one for one in given])
    before = [line for line in answers.answered if isinstance(line.answer, kind)]
    call_of = {id(line.answer): line.call for line in before}

    def lines() -> Iterator[AnsweredCall]:
        for line in answers.answered:
            if not isinstance(line.answer, kind):
                yield line
            elif (answer := next(remaining, None)) is not None:
                yield AnsweredCall(call_of.get(id(answer), line.call), answer)
        for answer in remaining:
            yield AnsweredCall(call_of.get(id(answer), before[-1].call), answer)

    return Answers(tuple(lines()))


def alone(verb: str, answer: Answer) -> Answers:
    """One answer, to a call that nobody made."""
    event = Gumbel(scale=Fraction(1), linf=1)
    return Answers((AnsweredCall(Call(query=Query(verb=verb, cells=1), event=event), answer),))
