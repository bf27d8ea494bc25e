"""The session: admit, journal, count, noise; never in another order."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest

from synth_engine.domain import Domain, Integer, Range, Weak
from synth_engine.errors import BudgetExceeded, DomainError, PrivacyError, UnsupportedEvent
from synth_engine.measurement import AnsweredCall, Call, Candidate, Counts, NoCallLog, Noise
from synth_engine.privacy.events import Gumbel, PermuteAndFlip
from synth_engine.privacy.loss import Approximate, Loss, Pure, ZeroConcentrated
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.samplers import SecureSampler
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import RoomSession, open_session
from synth_engine.values import Listed
from tests.privacy import exact
from tests.privacy.exact import domain_of
from tests.privacy.planted import plant

DOMAIN = domain_of(2, 3)
TABLE = ((0, 0), (0, 2), (1, 2))
LAPLACE = Noise(law="discrete-laplace", scale=Fraction(2))
GAUSSIAN = Noise(law="discrete-gaussian", scale=Fraction(2))


class Spy:
    """No noise at all; notes what was asked of it and in which state the session was."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.session: RoomSession | None = None

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        assert self.session is not None
        self.log.append(f"noise after {len(self.session.calls)} calls")
        return vector.copy()

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        self.log.append(f"{law} {scores.tolist()}")
        return 0


def room(cap: Loss, *, domain: Domain = DOMAIN) -> tuple[RoomSession, Spy]:
    spy = Spy()
    session = open_session(exact.rows_of(TABLE, domain), domain=domain, cap=cap, sampler=spy)
    spy.session = session
    return session, spy


def test_a_measurement_is_in_the_journal_before_noise_is_drawn() -> None:
    session, spy = room(Pure(epsilon=Fraction(1)))
    answer = session.measure(("b", "a"), noise=LAPLACE)
    assert spy.log == ["noise after 1 calls"]
    assert answer.values.tolist() == [[1, 0], [0, 0], [1, 1]]
    assert session.spent == Pure(epsilon=Fraction(1, 2))


def test_everything_but_the_draw_is_done_before_a_call_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever dies with a call that was begun has lost its answer."""
    noted: list[str] = []

    class Log(NoCallLog):
        def begin(self, call: Call) -> None:
            noted.append("begun")

        def store(self, answered: AnsweredCall) -> None:
            noted.append("stored")

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted_first(*arguments: Any, **options: Any) -> Any:
            noted.append(name)
            return function(*arguments, **options)

        return noted_first

    monkeypatch.setattr(counts, "contingency", noting("counted", counts.contingency))
    for name in ("prepare", "counts"):
        monkeypatch.setattr(SecureSampler, name, noting(name, getattr(SecureSampler, name)))
    session = open_session(
        exact.rows_of(TABLE, DOMAIN), domain=DOMAIN, cap=Pure(epsilon=Fraction(1)), log=Log()
    )
    session.measure(("a",), noise=LAPLACE)
    assert noted == ["counted", "prepare", "begun", "counts", "stored"]


def test_a_question_over_the_cap_is_refused_before_rows_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(rows: Rows, clique: tuple[str, ...]) -> NoReturn:
        raise AssertionError("rows were looked at")

    monkeypatch.setattr(counts, "contingency", look)
    session, spy = room(Pure(epsilon=Fraction(1, 3)))
    with pytest.raises(BudgetExceeded):
        session.measure(("a",), noise=LAPLACE)
    with pytest.raises(BudgetExceeded):
        session.select([candidate(("a",), 2)], scale=Fraction(2))
    with pytest.raises(UnsupportedEvent):
        session.measure(("a",), noise=GAUSSIAN)
    assert session.calls == ()
    assert spy.log == []


def test_what_was_admitted_stays_paid_for_when_counting_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(rows: Rows, clique: tuple[str, ...], merged: object = None) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(counts, "contingency", fail)
    session, _ = room(Pure(epsilon=Fraction(1, 2)))
    with pytest.raises(MemoryError):
        session.measure(("a",), noise=LAPLACE)
    assert len(session.calls) == 1
    with pytest.raises(BudgetExceeded):
        session.measure(("a",), noise=LAPLACE)


def candidate(clique: tuple[str, ...], *shape: int) -> Candidate:
    return Candidate(clique=clique, reference=np.zeros(shape, dtype=np.int64))


@pytest.mark.parametrize(
    ("cap", "event"),
    [
        (Pure(epsilon=Fraction(1)), PermuteAndFlip(scale=Fraction(4), linf=1)),
        (ZeroConcentrated(rho=Fraction(1)), Gumbel(scale=Fraction(4), linf=1)),
        (
            Approximate(epsilon=Fraction(9), delta=Fraction(1, 10**6)),
            Gumbel(scale=Fraction(4), linf=1),
        ),
    ],
)
def test_the_law_of_a_selection_follows_from_the_cap(
    cap: Loss, event: PermuteAndFlip | Gumbel
) -> None:
    session, spy = room(cap)
    one = Candidate(clique=("a",), reference=np.array([0, 5], dtype=np.int64))
    session.select([one, candidate(("b",), 3)], scale=Fraction(4))
    assert spy.log == [f"{event.law} [6, 3]"]
    assert session.calls[0].event == event
    assert session.calls[0].query.candidates == (("a",), ("b",))
    assert session.calls[0].query.cells == 5


def test_replacing_a_record_doubles_every_price() -> None:
    session, _ = room(
        Pure(epsilon=Fraction(10)), domain=domain_of(2, 3, relation=Relation.REPLACE_ONE)
    )
    session.measure(("a",), noise=LAPLACE)
    assert session.spent == Pure(epsilon=Fraction(1))
    session.select([candidate(("a",), 2)], scale=Fraction(4))
    assert session.spent == Pure(epsilon=Fraction(2))


@pytest.mark.parametrize("clique", [("c",), ("a", "a")])
def test_a_clique_outside_the_domain_is_refused_unpaid(clique: tuple[str, ...]) -> None:
    session, _ = room(Pure(epsilon=Fraction(1)))
    with pytest.raises((DomainError, PrivacyError)):
        session.measure(clique, noise=LAPLACE)
    assert session.calls == ()


def test_the_empty_clique_counts_the_records() -> None:
    session, _ = room(Pure(epsilon=Fraction(1)))
    answer = session.measure((), noise=LAPLACE)
    assert answer.values.shape == ()
    assert int(answer.values) == 3
    assert session.calls[0].query.cells == 1
    assert session.spent == Pure(epsilon=Fraction(1, 2))


def test_a_penalty_is_taken_off_the_score() -> None:
    session, spy = room(Pure(epsilon=Fraction(1)))
    reference = np.array([0, 5], dtype=np.int64)
    lighter = Candidate(clique=("a",), reference=reference, penalty=4)
    session.select([lighter, Candidate(clique=("a",), reference=reference)], scale=Fraction(4))
    assert spy.log == ["permute-and-flip [2, 6]"]


def test_malformed_candidates_are_refused_unpaid() -> None:
    session, _ = room(Pure(epsilon=Fraction(1)))
    huge = Candidate(clique=("a",), reference=np.array([0, 2**50], dtype=np.int64))
    heavy = Candidate(clique=("a",), reference=np.array([0, 1], dtype=np.int64), penalty=2**50)
    for candidates in ([], [candidate(("a",), 3)], [candidate(())], [huge], [heavy]):
        with pytest.raises(PrivacyError):
            session.select(candidates, scale=Fraction(100))
    assert session.calls == ()


def test_a_table_too_large_to_measure_is_refused_unpaid() -> None:
    attributes = tuple(Integer(name=name, low=0, high=100, width=1) for name in "abc")
    domain = Domain(attributes=attributes)
    rows = exact.rows_of(((0, 0, 0),), domain)
    session = open_session(rows, domain=domain, cap=Pure(epsilon=Fraction(1)))
    with pytest.raises(PrivacyError, match="1,000,000"):
        session.measure(("a", "b", "c"), noise=LAPLACE)
    assert session.calls == ()


def test_rows_opened_under_another_domain_are_refused() -> None:
    rows = exact.rows_of(TABLE, DOMAIN)
    with pytest.raises(PrivacyError, match="another domain"):
        open_session(
            rows,
            domain=domain_of(2, 3, relation=Relation.REPLACE_ONE),
            cap=Pure(epsilon=Fraction(1)),
        )


def test_a_static_plan_is_answered_call_by_call_in_its_order_and_nothing_beyond_it() -> None:
    """What certifies a list of calls certifies that list alone, however much its cap would still allow."""
    counted = open_session(
        exact.rows_of(TABLE, DOMAIN), domain=DOMAIN, cap=Pure(epsilon=Fraction(100))
    )
    counted.measure(("a",), noise=LAPLACE)
    counted.measure(("b",), noise=LAPLACE)

    def planned() -> RoomSession:
        rows = exact.rows_of(TABLE, DOMAIN)
        return open_session(
            rows, domain=DOMAIN, cap=Pure(epsilon=Fraction(100)), planned=counted.calls
        )

    smaller = Noise(law="discrete-laplace", scale=Fraction(1))
    for clique, noise in (
        (("b",), LAPLACE),
        (("a",), smaller),
        (("a",), GAUSSIAN),
        (("a", "b"), LAPLACE),
    ):
        session = planned()
        with pytest.raises(PrivacyError, match="not the next one planned"):
            session.measure(clique, noise=noise)
        assert session.calls == ()
        assert session.spent == Pure(epsilon=Fraction(0))
    session = planned()
    session.measure(("a",), noise=LAPLACE)
    session.measure(("b",), noise=LAPLACE)
    with pytest.raises(PrivacyError, match="not the next one planned"):
        session.measure(("a",), noise=LAPLACE)
    assert session.calls == counted.calls


def test_a_session_shows_nothing_and_cannot_be_copied() -> None:
    session, _ = room(Pure(epsilon=Fraction(1)))
    assert repr(session) == str(session) == "<session: 0 calls>"
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivacyError):
            attempt(session)


# ---- what was counted before something was learned says nothing afterwards
# -------------------------------------------

RANGE = Range(name="number", of="integer", low=0, high=4, bins=2)
"""Its public grid has the cells 0, 1, 2 and 3 to 4."""
WEAK = Weak(name="word", values=Listed(["a"]), rho=0.5)
OPEN = Domain(attributes=(RANGE, WEAK))
RECORDS = ((0, 0), (1, 0), (2, 0), (3, 1))
"""Numbers, and words by their rank: three times "a", once another one."""


def distances_before_and_after_learning() -> tuple[int, int]:
    """Of one reference array that fits the four cells of the grid, and afterwards two bins by two words."""
    spy = Spy()
    session = open_session(
        exact.rows_of(RECORDS, OPEN), domain=OPEN, cap=Pure(epsilon=Fraction(99)), sampler=spy
    )
    spy.session = session
    reference = np.array([[2], [0], [0], [0]], dtype=np.int64)
    candidate = Candidate(clique=("number", "word"), reference=reference)
    (before,) = session.score([candidate], noise=LAPLACE).values.tolist()
    session.resolve(
        OPEN.resolve({"number": RANGE.cut([0, 2, 4]), "word": WEAK.from_ranks([0])})
    )
    reference.shape = (2, 2)
    (after,) = session.score([candidate], noise=LAPLACE).values.tolist()
    return before, after


PLAIN = Integer(name="plain", low=0, high=3, width=1)
COARSE = Integer(name="plain", low=0, high=3, width=2)
PARTLY_OPEN = Domain(attributes=(PLAIN, RANGE))
NOT_ITS_OWN = [
    pytest.param(replace(PARTLY_OPEN, attributes=(COARSE, RANGE)), id="another-column"),
    pytest.param(replace(PARTLY_OPEN, attributes=(RANGE, PLAIN)), id="another-order"),
    pytest.param(replace(PARTLY_OPEN, relation=Relation.REPLACE_ONE), id="another-relation"),
    pytest.param(replace(PARTLY_OPEN, unit=PrivacyUnit(max_records=2)), id="another-unit"),
]


@pytest.mark.parametrize("other", NOT_ITS_OWN)
def test_nothing_but_what_was_open_changes_when_something_was_learned(other: Domain) -> None:
    """Resolving costs nothing, so it may change neither how other columns are counted nor whom noise
    protects."""
    learned = {"number": RANGE.cut([0, 2, 4])}
    session = open_session(
        exact.rows_of(((0, 0), (3, 1)), PARTLY_OPEN),
        domain=PARTLY_OPEN,
        cap=Pure(epsilon=Fraction(9)),
    )
    with pytest.raises(PrivacyError, match="more than what was open"):
        session.resolve(other.resolve(learned))
    assert session.domain == PARTLY_OPEN
    session.resolve(PARTLY_OPEN.resolve(learned))
    assert session.domain == PARTLY_OPEN.resolve(learned)


def test_distances_are_counted_again_after_something_was_learned() -> None:
    """Before: 1, 1, 1, 1 in the cells, and 2 in the first of the reference. After: 2 and 0, then 1 and 1."""
    assert distances_before_and_after_learning() == (4, 2)


def test_distances_that_outlive_what_was_counted_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(
        monkeypatch,
        RoomSession.resolve,
        "self._counts = CountCache(self._counts.rows.resolve(domain))",
        "self._counts.rows = self._counts.rows.resolve(domain)",
    )
    assert distances_before_and_after_learning() == (4, 4)


def test_a_distance_is_of_the_very_reference_that_is_asked_about() -> None:
    """Two references of one clique; the second is another array, which may stand where the first one stood in
    memory."""
    session, _ = room(Pure(epsilon=Fraction(99)))
    for value in range(20):
        candidate = Candidate(clique=("b",), reference=np.full(3, 10 * value, dtype=np.int64))
        expected = int(np.abs(np.array([1, 0, 2]) - 10 * value).sum())
        assert session.score([candidate], noise=LAPLACE).values.tolist() == [expected]
        del candidate


def test_a_table_by_bins_follows_from_the_one_that_was_counted_for_its_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own counts, whichever columns have bins and whether they were counted before; then without a look
    at the records."""
    clique, reference = ("a", "b"), np.zeros((2, 3), dtype=np.int64)
    by_bins = {"b": np.array([0, 1, 0])}, {"a": np.array([0, 0]), "b": np.array([1, 0, 1])}
    fresh, _ = room(Pure(epsilon=Fraction(99)))
    expected = [
        fresh.measure(clique, noise=LAPLACE, merged=merged).values for merged in by_bins
    ]
    assert [table.tolist() for table in expected] == [[[2, 0], [1, 0]], [[0, 3]]]
    session, _ = room(Pure(epsilon=Fraction(99)))
    session.score([Candidate(clique=clique, reference=reference)], noise=LAPLACE)
    monkeypatch.setattr(counts, "contingency", None)
    for merged, table in zip(by_bins, expected, strict=True):
        assert np.array_equal(
            session.measure(clique, noise=LAPLACE, merged=merged).values, table
        )
    assert session.measure(clique, noise=LAPLACE).values.tolist() == [[1, 0, 1], [0, 0, 1]]


def test_a_discovery_that_would_let_much_noise_through_is_refused_unpaid() -> None:
    """Of two hundred words about ninety would reach a threshold of one by chance. The threshold is public:
    nothing is charged."""
    weak = Weak(name="word", values=Listed([f"w{number}" for number in range(200)]), rho=0.5)
    domain = Domain(attributes=(weak,))
    session = open_session(
        exact.rows_of(((0,),), domain),
        domain=domain,
        cap=Pure(epsilon=Fraction(9)),
        sampler=Spy(),
    )
    with pytest.raises(PrivacyError, match="threshold"):
        session.discover(
            "word", noise=Noise(law="discrete-laplace", scale=Fraction(10)), threshold=1
        )
    assert session.calls == ()
    assert session.spent == Pure(epsilon=Fraction(0))
