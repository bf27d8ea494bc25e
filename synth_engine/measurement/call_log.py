"""Where each answer of a run is stored before anybody uses it, so that a run that was interrupted goes on
from it."""

from __future__ import annotations

from typing import Protocol

from synth_engine.measurement.answers import AnsweredCall
from synth_engine.measurement.question import Call


class CallLog(Protocol):
    """The stored calls of a run, in the order in which they are made (docs/proofs/interrupted.md).

    The room asks for `next_stored` at every call. Only where there is none it draws noise, between `begin`
    and `store`. A call that is drawn in parts is here so many calls in a row, each with the answer of one
    part.
    """

    def next_stored(self) -> AnsweredCall | None:
        """The next call that was answered before the run was interrupted; None once all of them were
        given."""
        ...

    def begin(self, call: Call) -> None:
        """Record that noise for this call is drawn from now on. It lasts once this returns; if it raises,
        nothing is drawn."""
        ...

    def store(self, answered: AnsweredCall) -> None:
        """Store the answer. It lasts once this returns; if it raises, nobody gets the answer."""
        ...


class NoCallLog:
    """The log of a run that begins afresh if it is interrupted, under a charge of its own."""

    def next_stored(self) -> AnsweredCall | None:
        return None

    def begin(self, call: Call) -> None:
        pass

    def store(self, answered: AnsweredCall) -> None:
        pass
