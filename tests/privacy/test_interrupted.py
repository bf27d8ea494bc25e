"""A run that is interrupted and goes on: the exact law of everything that anybody can have seen of it
(docs/proofs/interrupted.md).

The run is stopped at every call: before noise is drawn for it, when it is drawn, and when the answer is
stored. What is seen are the answers that the plan was given before and after. Their loss must be within the
claim, also if whoever stops it knows what was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from synth_engine.errors import PrivacyError
from synth_engine.hierarchy import Growth, Rule
from synth_engine.measurement import AnsweredCall, Call, Candidate, Measurement, Noise
from synth_engine.privacy import trees
from synth_engine.privacy.loss import Pure
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.sources import opening
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


# ---- answers that are drawn in parts
# ------------------------------------------------------------------------------------
TREE_DOMAIN = domain_of(4)
TREE_CAP = Pure(epsilon=Fraction(9))
BASIC = Rule(name="basic", depth=2, threshold=1)
PRIVTREE = Rule(name="privtree", depth=2, threshold=1, discount=4)
LEAST = trees.least_discount(scale=LAPLACE.scale, threshold=1)
EVENLY = Rule(name="improved", depth=2, threshold=1, discount=LEAST, spread="evenly")
BY_CHANCE = Rule(name="improved", depth=2, threshold=1, discount=LEAST)
IN_PARTS = (BASIC, PRIVTREE, EVENLY)


def claim_of(rule: Rule) -> Fraction:
    if rule.name == "basic":
        return rule.depth / LAPLACE.scale
    return trees.loss(scale=LAPLACE.scale, threshold=rule.least, discount=rule.discount)


def shape(grown: Growth) -> Hashable:
    return tuple(tuple(one.tolist()) for one in (*grown.opened, *grown.counts))


def parts_of(stored: list[AnsweredCall]) -> tuple[Hashable, ...]:
    return tuple(shape(one.answer) for one in stored if isinstance(one.answer, Growth))


def tree(stop: Stop, rule: Rule) -> exact.Program:
    """What is stored of a tree whose growth is stopped once and goes on if it may, and what the plan is
    given."""

    def program(session: RoomSession, rows: Rows) -> Hashable:
        stored: list[AnsweredCall] = []
        for stops in (stop, never):
            log = Log(stops, stored)
            room = open_session(
                rows, domain=TREE_DOMAIN, cap=TREE_CAP, sampler=session._sampler, log=log
            )
            try:
                grown = room.grow(("a",), rule=rule, noise=LAPLACE)
            except Stopped:
                if not may_go_on(log):
                    return parts_of(stored), "ended"
            else:
                return parts_of(stored), shape(grown)
        raise AssertionError("it was stopped twice")

    return program


def tree_loss(stop: Stop, rule: Rule) -> float:
    ratio = exact.largest_ratio(tree(stop, rule), TREE_DOMAIN, cap=TREE_CAP, most=1)
    return exact.loss_within(ratio, claim=claim_of(rule))


def when_one_is_counted(place: str, number: int, answered: AnsweredCall | None) -> bool:
    """Whoever stops the growth looks at what was drawn of a depth first."""
    return (
        (place, number) == ("drawn", 0)
        and answered is not None
        and isinstance(answered.answer, Growth)
        and bool(answered.answer.opened[0].size)
    )


@pytest.mark.parametrize("rule", IN_PARTS, ids=lambda rule: f"{rule.name}")
@pytest.mark.parametrize(
    "stop",
    [never, *(at(place, n) for place in PLACES for n in range(2)), when_one_is_counted],
)
def test_a_tree_that_is_stopped_at_a_depth_and_goes_on_stays_within_its_claim(
    stop: Stop, rule: Rule
) -> None:
    assert tree_loss(stop, rule) <= claim_of(rule)


@pytest.mark.parametrize("rule", IN_PARTS, ids=lambda rule: f"{rule.name}")
def test_a_tree_that_goes_on_has_the_law_of_one_that_was_never_stopped(rule: Rule) -> None:
    for table in ((), ((0,),), ((0,), (3,)), ((1,), (1,), (2,))):
        laws = [
            exact.law_of(tree(stop, rule), table, domain=TREE_DOMAIN, cap=TREE_CAP, high=1)
            for stop in (never, at("before", 1), at("stored", 0), at("stored", 1))
        ]
        assert all(law == laws[0] for law in laws)


def test_each_depth_is_stored_but_where_something_secret_is_kept_between_them() -> None:
    rows = exact.rows_of(((0,), (0,), (3,)) * 40, TREE_DOMAIN)

    def parts(rule: Rule) -> int:
        stored: list[AnsweredCall] = []
        session = open_session(rows, domain=TREE_DOMAIN, cap=TREE_CAP, log=Log(never, stored))
        grown = session.grow(("a",), rule=rule, noise=LAPLACE)
        assert session.calls == tuple(one.call for one in stored[:1])
        assert len(session.answers) == 1
        if len(stored) == 1:
            return 1
        assert parts_of(stored) == tuple(
            shape(
                Growth(
                    columns=("a",),
                    rule=rule,
                    opened=(opened,),
                    counts=grown.counts[depth : depth + 1],
                )
            )
            for depth, opened in enumerate(grown.opened)
        )
        return len(stored)

    assert [parts(rule) for rule in IN_PARTS] == [2, 2, 2]
    assert parts(BY_CHANCE) == 1


def test_mutant_a_depth_that_was_drawn_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = "answered = self._log.next_stored()"
    plant(monkeypatch, RoomSession._draw_in_parts, draw, "answered = None")
    assert tree_loss(at("before", 1), BASIC) == inf


def test_mutant_a_depth_is_drawn_before_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, RoomSession._draw_in_parts, "self._log.begin(call)", "pass")
    assert tree_loss(when_one_is_counted, BASIC) == inf


def test_parts_of_another_tree_are_refused() -> None:
    rows = exact.rows_of(((0,),) * 40, TREE_DOMAIN)
    stored: list[AnsweredCall] = []

    def grow(rule: Rule) -> None:
        session = open_session(rows, domain=TREE_DOMAIN, cap=TREE_CAP, log=Log(never, stored))
        session.grow(("a",), rule=rule, noise=LAPLACE)

    grow(BASIC)
    with pytest.raises(PrivacyError, match="not those of this run"):
        grow(replace(BASIC, threshold=2))
    # More nodes than there are, and one that is not there.
    depth = stored[0].answer
    assert isinstance(depth, Growth)
    for wrong in (
        replace(depth, counts=(np.zeros(3, dtype=np.int64),)),
        replace(depth, opened=(np.array([1, 1], dtype=np.int64) * 7,)),
        replace(depth, opened=depth.opened * 2, counts=depth.counts * 2),
    ):
        stored[0] = AnsweredCall(stored[0].call, wrong)
        with pytest.raises(PrivacyError, match="not those of this run"):
            grow(BASIC)


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
        random_bytes = opening.expanded(secret)
        return [
            opening._truncate(units, most=5, random_bytes=random_bytes).tolist()
            for _ in range(2)
        ]

    first, second = retained(b"1" * 32)
    assert retained(b"1" * 32) == [first, second]
    assert first != second
    assert retained(b"2" * 32)[0] not in (first, second)
