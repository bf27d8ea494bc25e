"""A run that is interrupted and goes on: the exact law of everything that anybody can have seen of it (docs/proofs/interrupted.md).

The run is stopped at every call: before noise is drawn for it, when it is drawn, and when the answer is stored. What is seen are
the answers that the plan was given before and after. Their loss must be within the claim, also if whoever stops it knows what
was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from synth_engine.confidential import rows as confidential_rows
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.session import RoomSession, open_session
from synth_engine.errors import PrivacyError
from synth_engine.measurement import AnsweredCall, Call, Candidate, Measurement, Noise
from synth_engine.privacy.loss import Pure
from tests.privacy import exact
from tests.privacy.exact import domain_of
from tests.privacy.planted import plant

DOMAIN = domain_of(2)
LAPLACE = Noise(law="discrete-laplace", scale=Fraction(2))
CAP = Pure(epsilon=Fraction(3, 2))
CALLS, PLACES = 3, ("before", "allowed", "begun", "drawn", "stored")
REFERENCES = (np.array([1, 0]), np.array([0, 1]))

Stop = Callable[[str, int, AnsweredCall | None], bool]
"""Whether to stop at a place of a call, whose answer is known where it is drawn."""


class Stopped(BaseException):
    """The end of a process."""


class Log:
    """A log as a worker keeps it. What was begun and what is stored outlive the process."""

    def __init__(self, stop: Stop, stored: list[AnsweredCall]) -> None:
        self.stop, self.stored, self.begun = stop, stored, len(stored)
        self.upcoming = list(stored)

    def next_stored(self) -> AnsweredCall | None:
        return self.upcoming.pop(0) if self.upcoming else None

    def begin(self, call: Call) -> None:
        self.come_to("before")
        self.come_to("allowed")
        self.begun += 1
        self.come_to("begun")

    def store(self, answered: AnsweredCall) -> None:
        self.come_to("drawn", answered)
        self.stored.append(answered)
        self.come_to("stored", answered)

    def come_to(self, place: str, answered: AnsweredCall | None = None) -> None:
        number = len(self.stored) - (place == "stored")
        if self.stop(place, number, answered):
            raise Stopped


def may_go_on(log: Log) -> bool:
    """As `call_log.stored_of` decides it."""
    return log.begun == len(log.stored)


def never(*_: object) -> bool:
    return False


def at(place: str, number: int) -> Stop:
    return lambda there, call, _answered: (there, call) == (place, number)


def when_large(place: str, number: int, answered: AnsweredCall | None) -> bool:
    """Whoever stops the run looks at what was drawn first."""
    return (
        (place, number) == ("drawn", 0)
        and answered is not None
        and isinstance(answered.answer, Measurement)
        and bool(answered.answer.values[0])
    )


def ask(session: RoomSession, seen: list[Hashable]) -> None:
    """An adaptive plan of three calls, which notes what it was given."""
    first = session.measure(("a",), noise=LAPLACE).values.tolist()
    seen.append(tuple(first))
    candidates = [Candidate(clique=("a",), reference=one) for one in REFERENCES]
    seen.append(session.select(candidates, scale=Fraction(4)))
    last: tuple[str, ...] = ("a",) if first[0] else ()
    seen.append(tuple(session.measure(last, noise=LAPLACE).values.ravel().tolist()))


def interrupted(stop: Stop) -> exact.Program:
    """What is seen of a run that is stopped once and goes on if it may."""

    def program(session: RoomSession, rows: Rows) -> Hashable:
        def turn(log: Log) -> tuple[Hashable, ...]:
            seen: list[Hashable] = []
            opened = open_session(
                rows, domain=DOMAIN, cap=CAP, sampler=session._sampler, log=log
            )
            try:
                ask(opened, seen)
            except Stopped:
                seen.append("stopped")
            return tuple(seen)

        log = Log(stop, [])
        seen = turn(log)
        if seen[-1] != "stopped":
            return seen
        return (*seen, *turn(Log(never, log.stored))) if may_go_on(log) else (*seen, "ended")

    return program


def loss(stop: Stop) -> float:
    ratio = exact.largest_ratio(interrupted(stop), DOMAIN, cap=CAP, most=1)
    return exact.loss_within(ratio, claim=CAP.epsilon)


STOPS = [
    pytest.param(at(place, n), id=f"{place}-{n}") for place in PLACES for n in range(CALLS)
]


@pytest.mark.parametrize("stop", [pytest.param(never, id="never"), *STOPS, when_large])
def test_a_run_that_is_stopped_and_goes_on_stays_within_its_claim(stop: Stop) -> None:
    assert loss(stop) <= CAP.epsilon


def test_the_claim_is_used_up() -> None:
    assert loss(at("before", 1)) > 0.95 * CAP.epsilon


@pytest.mark.parametrize("place", ["before", "stored"])
@pytest.mark.parametrize("number", range(CALLS))
def test_a_run_that_goes_on_has_the_law_of_one_that_was_never_stopped(
    place: str, number: int
) -> None:
    def last_turn(session: RoomSession, rows: Rows) -> Hashable:
        seen = interrupted(at(place, number))(session, rows)
        assert isinstance(seen, tuple)
        return seen[-CALLS:]

    for table in ((), ((0,),), ((1,),), ((0,), (1,))):
        laws = [
            exact.law_of(program, table, domain=DOMAIN, cap=CAP, high=2)
            for program in (interrupted(never), last_turn)
        ]
        assert laws[0] == laws[1]


@pytest.mark.parametrize("place", ["begun", "drawn"])
def test_a_run_whose_noise_may_be_lost_ends(place: str) -> None:
    law = exact.law_of(interrupted(at(place, 1)), ((0,),), domain=DOMAIN, cap=CAP, high=1)
    assert {outcome[-1] for outcome in law} == {"ended"}  # type: ignore[index]


def test_mutant_what_was_drawn_before_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, RoomSession._ask, "self._log.next_stored() or ", "")
    assert loss(at("before", 1)) == inf


def test_mutant_noise_that_is_lost_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops every run whose first answer he dislikes has two answers for one charge."""
    monkeypatch.setitem(globals(), "may_go_on", lambda _log: True)
    assert loss(when_large) == inf


def test_mutant_noise_is_drawn_before_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, RoomSession._draw, "self._log.begin(call)", "pass")
    assert loss(when_large) == inf


def test_answers_of_another_run_are_refused() -> None:
    stored: list[AnsweredCall] = []
    log = Log(never, stored)
    rows = exact.rows_of(((0,),), DOMAIN)
    open_session(rows, domain=DOMAIN, cap=CAP, log=log).measure((), noise=LAPLACE)
    again = open_session(rows, domain=DOMAIN, cap=CAP, log=Log(never, stored))
    with pytest.raises(PrivacyError, match="not those of this run"):
        again.measure(("a",), noise=LAPLACE)


def test_the_same_secret_retains_the_same_records_and_another_one_others() -> None:
    units = np.zeros(40, dtype=np.int32)

    def retained(secret: bytes) -> list[list[int]]:
        random_bytes = confidential_rows.expanded(secret)
        return [
            confidential_rows._truncate(units, most=5, random_bytes=random_bytes).tolist()
            for _ in range(2)
        ]

    first, second = retained(b"1" * 32)
    assert retained(b"1" * 32) == [first, second]
    assert first != second
    assert retained(b"2" * 32)[0] not in (first, second)
