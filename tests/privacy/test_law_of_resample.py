"""`resample`: the exact law of the room's own code on tiny groups, every ball of the urn in turn, against
formula and claim; mutants that must not survive; what the room refuses; and what the verifier makes of a
call."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import log, prod
from typing import Any

import numpy as np
import pytest
from scipy import stats

from synth_engine.domain import Categorical, Domain, Partition, Totals
from synth_engine.domain.sources import Source
from synth_engine.errors import (
    BudgetExceeded,
    DomainError,
    PrivacyError,
    UnsupportedEvent,
    VerificationError,
)
from synth_engine.measurement import Answers, Call, Counts, Query
from synth_engine.privacy import dirichlet_multinomial, resampling
from synth_engine.privacy.dirichlet_multinomial import Resampled, Urn
from synth_engine.privacy.events import DirichletMultinomial, from_json
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import (
    Approximate,
    Basic,
    GaussianDP,
    Loss,
    Pure,
    ZeroConcentrated,
)
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.growth import uniform
from synth_engine.room.session import RoomSession, open_session
from synth_engine.verifier import calls as verifier_calls
from synth_engine.verifier import resampling as verifier_resampling
from tests.answers import replaced
from tests.privacy import dirichlet, exact
from tests.privacy.chance import fits, least
from tests.privacy.dirichlet import Vector

Law = dict[Vector, Fraction]
Held = tuple[Vector, ...]
"""Counts by origin of each group."""


def domain_of(totals: tuple[int, ...], *, origins: int) -> Domain:
    work = Categorical(
        name="work", values=tuple(f"w{i}" for i in range(len(totals))), outside="clamp"
    )
    home = Categorical(
        name="home", values=tuple(f"h{i}" for i in range(origins)), outside="clamp"
    )
    return Domain(
        attributes=(work, home),
        relation=Relation.REPLACE_ONE,
        totals=Totals(column="work", counts=totals),
    )


def table_of(held: Held) -> exact.Table:
    return tuple(
        (group, home)
        for group, counts in enumerate(held)
        for home, n in enumerate(counts)
        for _ in range(n)
    )


class Chosen:
    """A sampler whose balls are given."""

    def __init__(self) -> None:
        self.balls: tuple[int, ...] | None = None
        self.bounds: tuple[int, ...] = ()

    def below(self, bounds: Counts) -> Counts:
        self.bounds = tuple(bounds.tolist())
        return np.array(self.balls or (0,) * len(self.bounds), dtype=np.int64)


def law_of(held: Held, event: DirichletMultinomial) -> Law:
    """What leaves the room, for every choice of balls."""
    domain, sampler = domain_of(tuple(map(sum, held)), origins=len(held[0])), Chosen()
    cap = Basic(
        epsilon=event.epsilon * 10**6, delta=event.delta * 10**6
    )  # one session answers for all choices
    rows = exact.rows_of(table_of(held), domain)
    session = open_session(rows, domain=domain, cap=cap, sampler=sampler)  # type: ignore[arg-type]
    session.resample("home", event=event)
    bounds = sampler.bounds
    each, found = Fraction(1, prod(bounds)), Law()
    for sampler.balls in itertools.product(*map(range, bounds)):
        outcome = tuple(session.resample("home", event=event).values.ravel().tolist())
        found[outcome] = found.get(outcome, Fraction(0)) + each
    assert sum(found.values()) == 1
    return found


def event_of(
    priors: dict[int, int], *, unit: int, origins: int, epsilon: float, delta: float = 0.999
) -> DirichletMultinomial:
    pairs = tuple(sorted(priors.items()))
    return DirichletMultinomial(
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        origins=origins,
        unit=unit,
        priors=pairs,
    )


GROUPS = [(1, 3, 1, 2), (2, 2, 1, 2), (2, 3, 2, 3), (3, 2, 2, 1)]


@pytest.mark.parametrize(("n", "k", "parts", "unit"), GROUPS)
def test_the_law_of_one_group_is_the_formula(n: int, k: int, parts: int, unit: int) -> None:
    event = event_of({n: parts}, unit=unit, origins=k, epsilon=1)
    for held in dirichlet.vectors(n, k):
        expected = {m: p for m, p in dirichlet.law(held, (parts,) * k, unit, n).items() if p}
        assert law_of((held,), event) == expected


@pytest.mark.parametrize(("n", "k", "parts", "unit"), [(1, 3, 1, 2), (2, 2, 1, 1)])
def test_several_records_are_drawn_for_each_at_the_loss_of_the_formula(
    n: int, k: int, parts: int, unit: int
) -> None:
    event = replace(event_of({n: parts}, unit=unit, origins=k, epsilon=1), copies=2)
    laws = {held: law_of((held,), event) for held in dirichlet.vectors(n, k)}
    for held, law in laws.items():
        assert law == {
            m: p for m, p in dirichlet.law(held, (parts,) * k, unit, 2 * n).items() if p
        }
    found = max(
        dirichlet.delta_between(laws[one], laws[other], event.epsilon)
        for one, other in neighbours(n, k)
    )
    claim = resampling.delta_of(n, alpha=parts / unit, origins=k, epsilon=1.0, copies=2)
    of_one_copy = resampling.delta_of(n, alpha=parts / unit, origins=k, epsilon=1.0)
    assert of_one_copy < float(found) <= claim * (1 + 1e-9)


def test_the_prior_of_one_copy_is_refused_for_two() -> None:
    (w,) = resampling.parts(Fraction(1), Fraction(1, 100), sizes=(2,), origins=2).values()
    (more,) = resampling.parts(
        Fraction(1), Fraction(1, 100), sizes=(2,), origins=2, copies=2
    ).values()
    assert more > w
    unit = resampling.UNIT
    event = event_of({2: w}, unit=unit, origins=2, epsilon=1, delta=Fraction(1, 100))
    session_event = replace(event, copies=2)
    with pytest.raises(PrivacyError, match="too small"):
        resampling.required(session_event, totals=(2,), origins=(2,))
    noise = session_event.to_json()
    assert verifier_resampling.is_prior(noise)
    found = verifier_resampling.group_delta(noise, Fraction(1))
    assert found is not None and found > Fraction(1, 100)
    enough = replace(session_event, priors=((2, more),))
    resampling.required(enough, totals=(2,), origins=(2,))
    found = verifier_resampling.group_delta(enough.to_json(), Fraction(1))
    assert found is not None and found <= Fraction(1, 100)
    assert from_json(enough.to_json()) == enough


@pytest.mark.parametrize("copies", [0, 1, -2, 2.0, "2", True, 10**6])
def test_copies_that_are_none_are_refused_by_the_verifier(copies: object) -> None:
    noise = event_of({2: 3}, unit=2, origins=2, epsilon=1).to_json() | {"copies": copies}
    assert not verifier_resampling.is_prior(noise)


def test_groups_are_drawn_independently_each_with_its_own_prior() -> None:
    event = event_of({1: 3, 2: 1}, unit=2, origins=2, epsilon=1)
    for held in itertools.product(
        dirichlet.vectors(2, 2), dirichlet.vectors(0, 2), dirichlet.vectors(1, 2)
    ):
        parts = [
            dirichlet.law(vector, (w,) * 2, 2, sum(vector))
            for vector, w in zip(held, (1, 1, 3), strict=True)
        ]
        expected: Law = {}
        for chosen in itertools.product(*(part.items() for part in parts)):
            outcome = tuple(n for m, _ in chosen for n in m)
            expected[outcome] = chosen[0][1] * chosen[1][1] * chosen[2][1]
        assert law_of(held, event) == expected


def neighbours(n: int, k: int) -> Iterator[tuple[Vector, Vector]]:
    for held in dirichlet.vectors(n, k):
        for i, j in itertools.permutations(range(k), 2):
            if held[i]:
                yield held, dirichlet.moved(held, i, j)


def worst(n: int, k: int, event: DirichletMultinomial) -> float:
    """The exact delta at the epsilon of the event of what leaves the room."""
    laws = {held: law_of((held,), event) for held in dirichlet.vectors(n, k)}
    return float(
        max(
            dirichlet.delta_between(laws[x], laws[y], event.epsilon)
            for x, y in neighbours(n, k)
        )
    )


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5])
@pytest.mark.parametrize(("n", "k", "parts", "unit"), GROUPS)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    n: int, k: int, parts: int, unit: int, epsilon: float
) -> None:
    event = event_of({n: parts}, unit=unit, origins=k, epsilon=epsilon)
    claim = resampling.delta_of(n, alpha=parts / unit, origins=k, epsilon=epsilon)
    found = worst(n, k, event)
    assert found <= claim * (1 + 1e-9)
    if n == 1:
        assert found >= 0.95 * claim, "a claim this loose would hide a defect"


def test_a_pure_claim_is_kept_and_is_tight() -> None:
    """Theorem 4.1: 2 new records and a prior of 1/2 multiply a chance by at most 5."""
    near = log(5)
    for epsilon, kept in ((near * 1.0001, True), (near * 0.98, False)):
        event = event_of({2: 1}, unit=2, origins=2, epsilon=epsilon)
        assert (worst(2, 2, event) == 0) is kept
        assert (resampling.delta_of(2, alpha=0.5, origins=2, epsilon=epsilon) == 0) is kept


# ---- by public parts
# ---------------------------------------------------------------------------------------------

PARTED = Partition(name="town", column="home", of=("b", "a", "b"))


def merged(held: Vector) -> Vector:
    return (held[1], held[0] + held[2])


def law_by_parts(held: Vector, event: DirichletMultinomial) -> Law:
    domain, sampler = (
        replace(domain_of((sum(held),), origins=3), partitions=(PARTED,)),
        Chosen(),
    )
    cap = Basic(epsilon=event.epsilon * 10**6, delta=event.delta * 10**6)
    rows = exact.rows_of(table_of((held,)), domain)
    session = open_session(rows, domain=domain, cap=cap, sampler=sampler)  # type: ignore[arg-type]
    session.resample("home", event=event, parting="town")
    bounds = sampler.bounds
    each, found = Fraction(1, prod(bounds)), Law()
    for sampler.balls in itertools.product(*map(range, bounds)):
        outcome = tuple(
            session.resample("home", event=event, parting="town").values.ravel().tolist()
        )
        found[outcome] = found.get(outcome, Fraction(0)) + each
    return found


@pytest.mark.parametrize(("n", "parts", "unit"), [(1, 1, 2), (2, 3, 2), (3, 2, 1)])
def test_by_public_parts_the_law_is_the_formula_of_parts_and_the_claim_is_kept(
    n: int, parts: int, unit: int
) -> None:
    event = event_of({n: parts}, unit=unit, origins=2, epsilon=1.0)
    laws = {held: law_by_parts(held, event) for held in dirichlet.vectors(n, 3)}
    for held, law in laws.items():
        assert law == {
            m: p for m, p in dirichlet.law(merged(held), (parts,) * 2, unit, n).items() if p
        }
    claim = resampling.delta_of(n, alpha=parts / unit, origins=2, epsilon=1.0)
    assert max(
        dirichlet.delta_between(laws[x], laws[y], event.epsilon) for x, y in neighbours(n, 3)
    ) <= claim * (1 + 1e-9)


def test_a_draw_by_parts_has_a_prior_for_parts_and_says_by_which() -> None:
    domain = replace(domain_of((2, 3), origins=3), partitions=(PARTED,))
    event = event_of({2: 4, 3: 4}, unit=2, origins=2, epsilon=1, delta=0.0625)
    session = session_of(HELD, domain, CAP)
    found = session.resample("home", event=event, parting="town")
    assert found.shape == (2, 2)
    query = Query(verb="resample", clique=("work", "home"), cells=4, parting="town")
    assert session.calls == (Call(query=query, event=event),)
    assert Query.from_json(query.to_json()) == query
    line = call_to_json(query.to_json(), event)
    assert verifier_calls.cost_of(
        line, 1, verifier_calls.allowed_by(RECEIPT)
    ).delta == Fraction(1, 16)
    for parting in ("", 3, None):
        malformed = {**line, "query": {**line["query"], "parting": parting}}
        with pytest.raises(VerificationError, match="no name"):
            verifier_calls.cost_of(malformed, 1, verifier_calls.allowed_by(RECEIPT))


BY_SIZE = "town; values from 2"


class Several(Chosen):
    """A sampler asked once for each way of counting."""

    def below(self, bounds: Counts) -> Counts:
        given = (self.balls or (0,) * 99)[len(self.bounds) :][: len(bounds)]
        self.bounds += tuple(bounds.tolist())
        return np.array(given, dtype=np.int64)


def law_by_size(held: Held, event: DirichletMultinomial) -> Law:
    domain, sampler = (
        replace(domain_of(tuple(map(sum, held)), origins=3), partitions=(PARTED,)),
        Several(),
    )
    cap = Basic(epsilon=event.epsilon * 10**6, delta=event.delta * 10**6)
    session = open_session(
        exact.rows_of(table_of(held), domain), domain=domain, cap=cap, sampler=sampler
    )  # type: ignore[arg-type]
    session.resample("home", event=event, parting=BY_SIZE)
    bounds = sampler.bounds
    each, found = Fraction(1, prod(bounds)), Law()
    for sampler.balls in itertools.product(*map(range, bounds)):
        sampler.bounds = ()
        outcome = tuple(
            session.resample("home", event=event, parting=BY_SIZE).values.ravel().tolist()
        )
        found[outcome] = found.get(outcome, Fraction(0)) + each
    return found


def by_size_of(
    one: int, two: int, *, epsilon: float = 1.0, delta: float = 0.999
) -> DirichletMultinomial:
    """Groups of one record over two towns, those of two over three values; priors in halves of a record."""
    return DirichletMultinomial(
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        origins=3,
        unit=2,
        priors=((1, one, 2), (2, two)),
    )


def pairs_of_groups() -> Iterator[Held]:
    return itertools.product(dirichlet.vectors(2, 3), dirichlet.vectors(1, 3))


def test_groups_counted_by_parts_of_their_size_have_the_law_of_these_and_no_more_than_the_claim() -> (
    None
):
    event = by_size_of(3, 2)
    laws = {held: law_by_size(held, event) for held in pairs_of_groups()}
    for held, law in laws.items():
        large = dirichlet.law(held[0], (2,) * 3, 2, 2)
        small = dirichlet.law(merged(held[1]), (3,) * 2, 2, 1)
        expected = {
            (*m, *t, 0): p * q for m, p in large.items() for t, q in small.items() if p * q
        }
        assert law == expected
    claims = [
        resampling.delta_of(n, alpha=w / 2, origins=k, epsilon=1.0)
        for n, w, k in ((1, 3, 2), (2, 2, 3))
    ]
    found = 0.0
    for large, small in laws:
        near = [(other, small) for held, other in neighbours(2, 3) if held == large]
        near += [(large, other) for held, other in neighbours(1, 3) if held == small]
        for other in near:
            found = max(
                found,
                float(dirichlet.delta_between(laws[large, small], laws[other], event.epsilon)),
            )
    assert 0 < found <= max(claims) * (1 + 1e-9)


def test_groups_of_each_size_need_the_prior_of_their_own_number_of_origins() -> None:
    """A prior that is enough where there are three origins is not enough where there are two."""
    domain = replace(domain_of((2, 1), origins=3), partitions=(PARTED,))
    fewest, most = (
        Fraction(resampling.delta_of(1, alpha=0.5, origins=k, epsilon=1.0)) for k in (3, 2)
    )
    assert fewest < most
    between = (fewest + most) / 2
    event, session = (
        replace(by_size_of(1, 4), delta=between),
        session_of(
            ((1, 1, 0), (0, 0, 1)), domain, Basic(epsilon=Fraction(9), delta=Fraction(9, 10))
        ),
    )
    with pytest.raises(PrivacyError, match="too small"):
        session.resample("home", event=event, parting=BY_SIZE)
    for other in (
        replace(event, priors=((1, 1), (2, 4))),
        replace(event, priors=((1, 9, 1), (2, 9))),
    ):
        with pytest.raises(PrivacyError, match="other groups or origins"):
            session.resample("home", event=other, parting=BY_SIZE)
    assert session.calls == ()
    session.resample("home", event=by_size_of(2, 4, delta=float(most)), parting=BY_SIZE)
    assert session.spent == Basic(epsilon=Fraction(1), delta=Fraction(float(most)))
    line = call_to_json(
        Query(verb="resample", clique=("work", "home"), cells=6, parting=BY_SIZE).to_json(),
        event,
    )
    with pytest.raises(VerificationError, match="too small"):
        verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(RECEIPT))
    line["noise"] = {**line["noise"], "priors": [[1, 1], [2, 4]]}
    assert verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(RECEIPT)).delta == between


@pytest.mark.parametrize(("parting", "error"), [("county", DomainError), ("", PrivacyError)])
def test_parts_that_there_are_not_are_refused_and_not_charged(
    parting: str, error: type[Exception]
) -> None:
    session = session_of(HELD, replace(domain_of((2, 3), origins=3), partitions=(PARTED,)), CAP)
    with pytest.raises(error):
        session.resample(
            "home", event=event_of({2: 4, 3: 4}, unit=2, origins=2, epsilon=1), parting=parting
        )
    assert session.calls == ()


# ---- mutants
# ---------------------------------------------------------------------------------------------------

honest = dirichlet_multinomial.draw_origins


def too_small(*args: object, parts: np.ndarray, urn: Urn, **kwargs: object) -> np.ndarray:
    """Nine tenths of the prior."""
    return honest(*args, parts=9 * parts, urn=Urn(unit=10 * urn.unit), **kwargs)  # type: ignore[arg-type]


def without_return(groups, origins, *, parts, shape, urn, below):  # type: ignore[no-untyped-def]
    """The balls that are added are forgotten: parameters of the right size, and another law."""
    bounds = below(np.full(groups.size, groups.size * urn.unit + int(parts[0]) * shape[1]))
    own = np.sort(origins)
    homes = [
        int(own[b // urn.unit])
        if b < groups.size * urn.unit
        else int(b - groups.size * urn.unit) // int(parts[0])
        for b in bounds.tolist()
    ]
    return np.array(homes, dtype=np.int64)


def only_occupied(groups, origins, *, parts, shape, urn, below):  # type: ignore[no-untyped-def]
    """No prior for origins that nobody comes from."""
    seen = np.unique(origins)
    small = honest(
        groups,
        np.searchsorted(seen, origins),
        parts=parts,
        shape=(shape[0], seen.size),
        urn=urn,
        below=below,
    )
    return seen[small]


def shrunk_by_the_data(groups, origins, *, parts, shape, urn, below):  # type: ignore[no-untyped-def]
    """The prior of an origin is kept where the origin before it has records: a chance taken from the data."""
    kept = np.array(
        [home for home in range(shape[1]) if home in origins or home - 1 in origins]
    )
    small = honest(
        groups,
        np.searchsorted(kept, origins),
        parts=parts,
        shape=(shape[0], kept.size),
        urn=urn,
        below=below,
    )
    return kept[small]


@pytest.mark.parametrize(
    "mutant", [too_small, only_occupied, shrunk_by_the_data], ids=lambda mutant: mutant.__name__
)
def test_a_mutant_draw_exceeds_the_claim(
    mutant: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    n, k, parts, unit, epsilon = 1, 3, 2, 2, 0.6
    monkeypatch.setattr(dirichlet_multinomial, "draw_origins", mutant)
    claim = resampling.delta_of(n, alpha=parts / unit, origins=k, epsilon=epsilon)
    assert (
        worst(n, k, event_of({n: parts}, unit=unit, origins=k, epsilon=epsilon)) > claim * 1.01
    )


def test_a_draw_without_balls_added_is_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dirichlet_multinomial, "draw_origins", without_return)
    found = law_of(((2, 0),), event_of({2: 1}, unit=2, origins=2, epsilon=1))
    assert found != {m: p for m, p in dirichlet.law((2, 0), (1, 1), 2, 2).items() if p}


# ---- the sampler in use
# ------------------------------------------------------------------------------------------


def test_numbers_below_a_bound_are_uniform_also_where_words_are_refused() -> None:
    bounds = np.array([1, 2, 3, 7, 2**62 + 1] * 20_000, dtype=np.int64)

    def p_value() -> float:
        drawn = uniform(bounds).reshape(-1, 5)
        assert (drawn >= 0).all() and (drawn < bounds[:5]).all()
        halves = drawn[:, 4] >= 2**61
        several = [
            stats.chisquare(np.bincount(column, minlength=bound))
            for column, bound in (
                (drawn[:, 1], 2),
                (drawn[:, 2], 3),
                (drawn[:, 3], 7),
                (halves, 2),
            )
        ]
        return least([float(one.pvalue) for one in several])

    assert fits(p_value)


def test_records_are_resampled_by_the_million_in_seconds() -> None:
    rng = np.random.default_rng(1)
    groups, origins = rng.integers(0, 8_000, 400_000), rng.integers(0, 244, 400_000)
    parts = np.full(8_000, resampling.UNIT // 10)
    dirichlet_multinomial.draw_origins(
        groups[:9],
        origins[:9],
        parts=parts,
        shape=(8_000, 244),
        urn=Urn(unit=resampling.UNIT),
        below=uniform,
    )  # compiled
    times = []
    for _ in range(5):
        begun = time.process_time()
        homes = dirichlet_multinomial.draw_origins(
            groups,
            origins,
            parts=parts,
            shape=(8_000, 244),
            urn=Urn(unit=resampling.UNIT),
            below=uniform,
        )
        times.append(time.process_time() - begun)
    # Four to five million a second where nobody else is on the machine; a loop that is not compiled has some
    # ten thousand.
    assert 400_000 / min(times) > 400_000
    found = dirichlet_multinomial.Resampled.of(
        ("work", "home"), np.sort(groups), homes, shape=(8_000, 244)
    )
    assert found.values.sum(axis=1).tolist() == np.bincount(groups, minlength=8_000).tolist()


def test_the_sampler_in_use_has_the_law() -> None:
    origins = np.array([0, 0, 1, 2])
    law = dirichlet.law((2, 1, 1, 0), (3,) * 4, 4, 4)
    many = np.repeat(np.arange(20_000), 4)

    def p_value() -> float:
        homes = dirichlet_multinomial.draw_origins(
            many,
            np.tile(origins, 20_000),
            parts=np.full(20_000, 3),
            shape=(20_000, 4),
            urn=Urn(unit=4),
            below=uniform,
        )
        found = dirichlet_multinomial.Resampled.of(
            ("work", "home"), many, homes, shape=(20_000, 4)
        ).values
        seen = np.array([(found == np.array(outcome)).all(axis=1).sum() for outcome in law])
        assert seen.sum() == 20_000
        return float(stats.chisquare(seen, [20_000 * float(p) for p in law.values()]).pvalue)

    assert fits(p_value)


# ---- what the room refuses
# -----------------------------------------------------------------------------------------


def session_of(held: Held, domain: Domain, cap: Loss) -> RoomSession:
    return open_session(exact.rows_of(table_of(held), domain), domain=domain, cap=cap)


EVENT = event_of({2: 2, 3: 2}, unit=2, origins=3, epsilon=1, delta=0.0625)
HELD: Held = ((2, 0, 0), (1, 1, 1))
CAP = Basic(epsilon=Fraction(1), delta=Fraction(1, 16))


def test_a_draw_is_charged_with_epsilon_and_delta() -> None:
    session = session_of(HELD, domain_of((2, 3), origins=3), CAP)
    found = session.resample("home", event=EVENT)
    assert found.values.sum(axis=1).tolist() == [2, 3]
    assert session.spent == CAP
    assert session.calls == (
        Call(query=Query(verb="resample", clique=("work", "home"), cells=6), event=EVENT),
    )
    with pytest.raises(BudgetExceeded):
        session.resample("home", event=EVENT)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"priors": ((2, 2),)}, "other groups", id="a size without a prior"),
        pytest.param({"origins": 2}, "other groups", id="other origins"),
        pytest.param({"delta": Fraction(1, 1000)}, "too small", id="a prior too small"),
        pytest.param({"epsilon": Fraction(1, 2)}, "too small", id="an epsilon too small"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_charged(
    changed: dict[str, object], reason: str
) -> None:
    session = session_of(
        HELD, domain_of((2, 3), origins=3), Basic(epsilon=Fraction(9), delta=Fraction(1, 2))
    )
    with pytest.raises(PrivacyError, match=reason):
        session.resample("home", event=replace(EVENT, **changed))  # type: ignore[arg-type]
    assert session.calls == ()


def test_without_public_totals_nothing_is_drawn() -> None:
    plain = replace(domain_of((2, 3), origins=3), totals=None, invariants=("rows",))
    with pytest.raises(PrivacyError, match="totals are public"):
        session_of(HELD, plain, CAP).resample("home", event=EVENT)


def test_other_totals_than_declared_are_noticed_after_the_charge() -> None:
    session = session_of(((2, 1, 0), (1, 1, 0)), domain_of((2, 3), origins=3), CAP)
    with pytest.raises(PrivacyError, match="declared public"):
        session.resample("home", event=EVENT)
    assert session.spent == CAP


@pytest.mark.parametrize(
    "cap",
    [
        ZeroConcentrated(rho=Fraction(99)),
        GaussianDP(mu_squared=Fraction(99)),
        Pure(epsilon=Fraction(99)),
        Approximate(epsilon=Fraction(99), delta=Fraction(1, 2)),
    ],
    ids=lambda cap: type(cap).__name__,
)
def test_no_sum_that_loses_the_delta_admits_a_draw(cap: Loss) -> None:
    with pytest.raises(UnsupportedEvent):
        Filter(cap).admit(EVENT)


@pytest.mark.parametrize(
    "changed",
    [
        {"relation": Relation.ADD_REMOVE},
        {"unit": PrivacyUnit(max_records=2)},
        {"totals": Totals(column="work", counts=(2, 2))},
        {"totals": Totals(column="work", counts=(5,))},
        {"totals": Totals(column="nobody", counts=(5,))},
    ],
)
def test_totals_of_another_relation_unit_or_sum_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(DomainError):
        replace(domain_of((2, 3), origins=3), **changed)  # type: ignore[arg-type]


def test_totals_belong_to_the_description_and_come_back_from_it() -> None:
    domain = domain_of((2, 0, 3), origins=3)
    assert domain.invariants == ("rows", "totals of work")
    assert domain.rows == 5
    again = Domain.from_json(domain.to_json())
    assert again == domain
    assert again.digest == domain.digest != domain_of((3, 0, 2), origins=3).digest
    assert domain.totals is not None
    source = Source(name="Jobs by place of work", version="2", sha256="0a" * 32)
    cited = replace(domain, totals=replace(domain.totals, source=source))
    assert Domain.from_json(cited.to_json()) == cited and cited.digest != domain.digest
    with pytest.raises(DomainError, match="64 hexadecimal"):
        Domain.from_json(
            cited.to_json()
            | {"totals": cited.to_json()["totals"] | {"source": {"name": "x", "sha256": "?"}}}
        )
    document = domain.to_json() | {
        "totals": {"column": "work", "counts": {"somewhere else": 5}}
    }
    with pytest.raises(DomainError, match="value that the column does not have"):
        Domain.from_json(document)


# ---- stored and verified
# -------------------------------------------------------------------------------------------


def test_a_draw_is_stored_with_its_call_and_belongs_to_the_digest(tmp_path) -> None:
    session = session_of(HELD, domain_of((2, 3), origins=3), CAP)
    session.resample("home", event=EVENT)
    answers = session.answers
    answers.save(tmp_path / "answers.npz")
    loaded = Answers.load(tmp_path / "answers.npz")
    assert loaded.resampled is not None and answers.resampled is not None
    assert loaded.resampled.clique == ("work", "home")
    assert (loaded.resampled.values == answers.resampled.values).all()
    assert loaded.calls == answers.calls
    assert loaded.digest == answers.digest
    other = replace(
        answers.resampled,
        counts=answers.resampled.counts[::-1] + np.arange(answers.resampled.counts.size),
    )
    assert replaced(answers, Resampled, [other]).digest != answers.digest
    assert from_json(EVENT.to_json()) == EVENT


RECEIPT = {
    "unit": {"max_records": 1, "column": None},
    "relation": "replace-one",
    "invariants": ["rows", "totals of work"],
}


def line_of(
    event: DirichletMultinomial, *, group: str = "work", cells: int = 6
) -> dict[str, object]:
    return call_to_json(
        Query(verb="resample", clique=(group, "home"), cells=cells).to_json(), event
    )


def test_the_verifier_recomputes_the_delta() -> None:
    cost = verifier_calls.cost_of(line_of(EVENT), 1, verifier_calls.allowed_by(RECEIPT))
    assert (cost.epsilon, cost.delta) == (1, Fraction(1, 16))


def test_no_rho_follows_from_an_epsilon_with_a_delta() -> None:
    """A draw that is (1/2, 1/10)-DP moves farther, in the divergence of order 2, than half of its squared
    epsilon allows."""
    epsilon, weight, unit = Fraction(1, 2), 949, 1000
    one = dirichlet.law((1, 0, 0), (weight,) * 3, unit, 1)
    other = dirichlet.law((0, 1, 0), (weight,) * 3, unit, 1)
    assert dirichlet.delta_between(one, other, epsilon) <= Fraction(1, 10)
    divergence = log(sum(one[m] ** 2 / other[m] for m in one))
    assert divergence > 1.3 * 2 * float(epsilon**2 / 2)
    event = event_of({1: weight}, unit=unit, origins=3, epsilon=0.5, delta=0.1)
    line = line_of(event, cells=3)
    assert verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(RECEIPT)).rho is None


@pytest.mark.parametrize(
    ("changed", "about", "reason"),
    [
        pytest.param({"delta": Fraction(1, 1000)}, {}, "too small", id="delta"),
        pytest.param({"epsilon": Fraction(1, 2)}, {}, "too small", id="epsilon"),
        pytest.param({"priors": ((2, 1), (3, 1))}, {}, "too small", id="prior"),
        pytest.param({"unit": 40}, {}, "too small", id="unit"),
        pytest.param({}, {"invariants": ["rows"]}, "not public", id="no totals"),
        pytest.param(
            {}, {"invariants": ["rows", "totals of home"]}, "not public", id="other totals"
        ),
        pytest.param(
            {}, {"unit": {"max_records": 2, "column": None}}, "one record", id="several records"
        ),
        pytest.param({}, {"relation": "add-remove"}, "no invariant", id="relation"),
    ],
)
def test_the_verifier_refuses_what_is_not_paid_for(
    changed: dict[str, object], about: dict[str, object], reason: str
) -> None:
    line = line_of(replace(EVENT, **changed))  # type: ignore[arg-type]
    with pytest.raises(VerificationError, match=reason):
        verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(RECEIPT | about))


@pytest.mark.parametrize(
    "malformed",
    [
        {"priors": [[3, 1], [2, 1]]},
        {"priors": []},
        {"priors": [[2, 0]]},
        {"priors": [[2, 9, 3]]},
        {"priors": [[2, 9, 2, 2]]},
        {"unit": 0},
        {"origins": "3"},
        {"more": 1},
    ],
)
def test_the_verifier_refuses_a_malformed_prior(malformed: dict[str, object]) -> None:
    line = line_of(EVENT)
    line["noise"] = {**line["noise"], **malformed}  # type: ignore[dict-item]
    with pytest.raises(VerificationError, match="malformed"):
        verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(RECEIPT))


SIZES_BY_BRUTE_FORCE = ((1, 2, 1), (3, 3, 1), (5, 2, 1), (6, 4, 1), (2, 3, 2), (3, 2, 3))
"""Records, origins, and records drawn for each."""


def test_the_verifier_is_never_below_brute_force_and_near_the_planner() -> None:
    for (n, k, copies), epsilon in itertools.product(SIZES_BY_BRUTE_FORCE, ("0.7", "1.2", "3")):
        for weight in (1, 7, 60):
            noise: dict[str, Any] = {"origins": k, "unit": 40, "priors": [[n, weight]]}
            noise |= {} if copies == 1 else {"copies": copies}
            found = verifier_resampling.group_delta(noise, Fraction(epsilon))
            assert found is not None
            assert found >= dirichlet.worst_delta(
                n, k, weight, 40, Fraction(epsilon), copies=copies
            ) - Fraction(1, 10**30)
            planned = resampling.delta_of(
                n, alpha=weight / 40, origins=k, epsilon=float(epsilon), copies=copies
            )
            assert float(found) == pytest.approx(planned, rel=1e-9, abs=1e-40)
