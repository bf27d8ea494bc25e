"""`score`, and tables of merged codes, on tiny domains: the exact law over all neighbours, and mistakes that
must be noticed.

With Laplace noise the law of whole programs is enumerated; with Gaussian noise what the room adds it to is
recorded on both tables of every pair, and compared with the sensitivity that was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.errors import BudgetExceeded, PrivacyError
from synth_engine.measurement import Answers, Candidate, Counts, Merged, Noise, Scores
from synth_engine.plans import budget_allocation
from synth_engine.privacy import unit as units
from synth_engine.privacy.events import RoundedGaussian
from synth_engine.privacy.loss import GaussianDP, Pure
from synth_engine.privacy.unit import Relation, scores_sensitivity
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from tests.answers import replaced
from tests.privacy import exact
from tests.privacy.exact import Table, domain_of

EPSILON = Fraction(7, 5)
CAP = Pure(epsilon=EPSILON)
MOST = 2
MERGED: Merged = {"b": np.array([0, 1, 0])}


def candidates_of(domain: Domain) -> list[Candidate]:
    """Two overlapping tables, one of merged codes where there is something to merge; a penalty moves
    nothing."""
    pair, single = domain.shape(("a", "b")), domain.shape(("b",))
    found = [
        Candidate(
            clique=("a", "b"),
            reference=np.ones(pair, dtype=np.int64),
            penalty=pair[0] * pair[1] - MOST,
        )
    ]
    found.append(
        Candidate(
            clique=("b",), reference=np.array([2, *[0] * (single[0] - 1)], dtype=np.int64)
        )
    )
    if single[0] == 3:
        found.append(
            Candidate(
                clique=("a", "b"), reference=np.zeros((2, 2), dtype=np.int64), merged=MERGED
            )
        )
    return found


def scored(session: RoomSession, rows: Rows) -> Hashable:
    candidates = candidates_of(session.domain)
    of = scores_sensitivity(
        units.histogram_sensitivity(session.domain.unit, session.domain.relation),
        number=len(candidates),
    )
    return tuple(
        session.score(candidates, noise=budget_allocation.noise(CAP, of)).values.tolist()
    )


def merged_table(session: RoomSession, rows: Rows) -> Hashable:
    noise = budget_allocation.noise(
        CAP, units.histogram_sensitivity(session.domain.unit, session.domain.relation)
    )
    return tuple(
        session.measure(("a", "b"), noise=noise, merged=MERGED).values.ravel().tolist()
    )


def merged_by_the_data(session: RoomSession, rows: Rows) -> Hashable:
    """A mistake: what nobody has is merged."""
    seen = counts.contingency(rows, ("b",)) > 0
    bins = np.where(seen, np.cumsum(seen), 0)
    bins = np.unique(bins, return_inverse=True)[1]
    noise = budget_allocation.noise(
        CAP, units.histogram_sensitivity(session.domain.unit, session.domain.relation)
    )
    return tuple(session.measure(("b",), noise=noise, merged={"b": bins}).values.tolist())


def score_against_the_truth(session: RoomSession, rows: Rows) -> Hashable:
    """A mistake: a reference made of exact counts of another table moves with the record."""
    number = rows.total
    candidates = [
        Candidate(
            clique=("a", "b"),
            reference=np.full(session.domain.shape(("a", "b")), -number * 2, dtype=np.int64),
        )
    ]
    of = scores_sensitivity(
        units.histogram_sensitivity(session.domain.unit, session.domain.relation), number=1
    )
    return tuple(
        session.score(candidates, noise=budget_allocation.noise(CAP, of)).values.tolist()
    )


def loss_of(
    program: Any,
    domain: Domain,
    *,
    most: int = MOST,
    sampler: type[exact.Replay] = exact.Replay,
    high: int = 4,
) -> Any:
    return exact.largest_ratio(program, domain, cap=CAP, most=most, high=high, sampler=sampler)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    ("program", "shape"), [(scored, (2, 2)), (scored, (2, 3)), (merged_table, (2, 3))]
)
def test_the_law_keeps_to_the_loss_that_was_paid(
    program: Callable[..., Hashable], shape: tuple[int, ...], relation: Relation
) -> None:
    domain = domain_of(*shape, relation=relation)
    ratio = loss_of(
        program, domain, high=4 if program is scored else 2
    )  # no count or score lies beyond
    assert exact.proves(ratio, epsilon=EPSILON)
    if not (
        program is scored and relation is Relation.REPLACE_ONE
    ):  # there no two tables move all scores so far
        assert exact.worst_epsilon(ratio) > float(EPSILON) * 0.99


class Silent(exact.Replay):
    """Scores without noise."""

    def cell(self, count: int, noise: Noise) -> int:
        return count


class OneScore(exact.Replay):
    """The noise of one score on each of several."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        narrow = Noise(law=noise.law, scale=Fraction(float(noise.scale) / max(1, vector.size)))
        return super().counts(vector, narrow)


class RootOfNumber(exact.Replay):
    """sqrt(m), the length of a vector of m scores, taken for how far each of them moves."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return super().counts(
            vector, Noise(law=noise.law, scale=Fraction(float(noise.scale) / vector.size**0.5))
        )


@pytest.mark.parametrize("sampler", [Silent, OneScore, RootOfNumber, exact.HalvedScale])
def test_too_little_noise_on_scores_is_noticed(sampler: type[exact.Replay]) -> None:
    assert not exact.proves(loss_of(scored, domain_of(2, 2), sampler=sampler), epsilon=EPSILON)


@pytest.mark.parametrize(
    ("program", "high"), [(merged_by_the_data, 2), (score_against_the_truth, 26)]
)
def test_what_is_read_from_the_data_is_noticed(
    program: Callable[..., Hashable], high: int
) -> None:
    assert not exact.proves(loss_of(program, domain_of(2, 3), high=high), epsilon=EPSILON)


# ---- Gaussian noise: how far what it is added to moves
# ----------------------------------------------------------


class Recorder:
    """Notes what noise is added to; adds none."""

    def __init__(self) -> None:
        self.vectors: list[Counts] = []

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        assert noise.law == "rounded-gaussian"
        self.vectors.append(vector.copy())
        return vector

    def choose(self, scores: Counts, *, scale: Fraction, law: str) -> int:
        raise AssertionError("no selection here")

    def discover(self, *_: Any, **__: Any) -> list[tuple[int, int]]:
        raise AssertionError("no discovery here")


def program_of_mu(session: RoomSession) -> None:
    noise = Noise(law="rounded-gaussian", scale=Fraction(3))
    session.score(candidates_of(session.domain), noise=noise)
    session.measure(("a", "b"), noise=noise, merged=MERGED)
    session.measure(("a",), noise=noise)


def lengths(domain: Domain, pairs: Iterator[tuple[Table, Table]]) -> Iterator[list[int]]:
    """Squared distances of what noise is added to, call by call, for each pair."""
    for pair in pairs:
        vectors = []
        for table in pair:
            recorder: Any = Recorder()
            program_of_mu(
                open_session(
                    exact.rows_of(table, domain),
                    domain=domain,
                    cap=GaussianDP(mu_squared=Fraction(9)),
                    sampler=recorder,
                )
            )
            vectors.append(recorder.vectors)
        yield [int(((x - y) ** 2).sum()) for x, y in zip(*vectors, strict=True)]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("records", [1, 2])
def test_gaussian_answers_move_no_farther_than_was_paid_for(
    relation: Relation, records: int
) -> None:
    domain = domain_of(2, 3, relation=relation, max_records=records)
    session = open_session(
        exact.rows_of((), domain), domain=domain, cap=GaussianDP(mu_squared=Fraction(99))
    )
    program_of_mu(session)
    events = [call.event for call in session.calls]
    assert all(isinstance(event, RoundedGaussian) for event in events)
    paid = [event.l2_squared for event in events if isinstance(event, RoundedGaussian)]
    assert session.spent == GaussianDP(mu_squared=Fraction(sum(paid), 9))
    if relation is Relation.ADD_REMOVE:
        pairs = exact.add_remove_pairs(domain, most=3, units=records)
    else:
        if records > 1:
            return
        pairs = exact.replace_one_pairs(domain, most=2)
    moved = list(lengths(domain, pairs))
    assert all(a <= b for each in moved for a, b in zip(each, paid, strict=True))
    assert [max(column) for column in zip(*moved, strict=True)][1:] == paid[1:]


# ---- what is refused
# ---------------------------------------------------------------------------------------------


def room(cap: Any = CAP) -> RoomSession:
    domain = domain_of(2, 3)
    return open_session(exact.rows_of(((0, 0), (1, 2), (1, 1)), domain), domain=domain, cap=cap)


WIDE = Noise(law="discrete-laplace", scale=Fraction(2**20))


def test_merged_codes_are_counted_by_bins_and_written_down_as_such() -> None:
    session = room(GaussianDP(mu_squared=Fraction(2**80)))
    exact_enough = Noise(law="rounded-gaussian", scale=Fraction(1, 64))
    found = session.measure(("a", "b"), noise=exact_enough, merged=MERGED)
    assert found.values.tolist() == [[1, 0], [1, 1]]
    assert session.calls[0].query.bins == (2, 2)
    assert session.calls[0].query.cells == 4
    scores = session.score(candidates_of(session.domain), noise=exact_enough)
    assert scores.values.tolist() == [-1, 3, 3]


@pytest.mark.parametrize(
    "merged",
    [
        {"b": np.array([0, 2, 0])},
        {"b": np.array([1, 2, 1])},
        {"b": np.array([0, 1])},
        {"c": np.array([0, 1])},
        {"b": np.array([[0, 1, 0]])},
    ],
    ids=str,
)
def test_bins_that_are_none_are_refused_before_anything_is_paid(merged: Merged) -> None:
    session = room()
    with pytest.raises(PrivacyError):
        session.measure(("a", "b"), noise=WIDE, merged=merged)
    with pytest.raises(PrivacyError):
        session.score(
            [Candidate(clique=("b",), reference=np.zeros(3, dtype=np.int64), merged=merged)],
            noise=WIDE,
        )
    assert session.calls == ()


def test_every_candidate_has_its_bins_checked_for_its_own_columns() -> None:
    """Bins are checked once for a column, whichever candidates share them, and again for another column."""
    session = room()
    bins = np.array([0, 1, 0])
    good = Candidate(clique=("b",), reference=np.zeros(2, dtype=np.int64), merged={"b": bins})
    for merged in ({"b": bins, "a": bins}, {"a": bins}, {"b": bins[:2]}, {"b": bins + 1}):
        bad = Candidate(
            clique=("a", "b"), reference=np.zeros((2, 2), dtype=np.int64), merged=merged
        )
        with pytest.raises(PrivacyError, match="merged into bins"):
            session.score([good, bad], noise=WIDE)
    assert session.calls == ()
    assert session.score([good, good], noise=WIDE).values.shape == (2,)


def test_scores_over_the_cap_and_references_of_another_shape_are_refused() -> None:
    session = room()
    for candidates in ([], [Candidate(clique=("b",), reference=np.zeros(2, dtype=np.int64))]):
        with pytest.raises(PrivacyError):
            session.score(candidates, noise=WIDE)
    huge = [Candidate(clique=("b",), reference=np.array([-(2**63), 0, 0]))]
    with pytest.raises(PrivacyError):
        session.score(huge, noise=WIDE)
    fair = [Candidate(clique=("b",), reference=np.zeros(3, dtype=np.int64))] * 3
    with pytest.raises(BudgetExceeded):
        session.score(fair, noise=Noise(law="discrete-laplace", scale=Fraction(3, 2)))
    assert session.calls == ()


def test_scores_and_bins_survive_the_file_of_answers_and_older_ones_keep_their_digest(
    tmp_path: Any,
) -> None:
    session = room(GaussianDP(mu_squared=Fraction(99)))
    noise = Noise(law="rounded-gaussian", scale=Fraction(3))
    scores = session.score(candidates_of(session.domain), noise=noise)
    session.measure(("a", "b"), noise=noise, merged=MERGED)
    answers = session.answers
    answers.save(tmp_path / "answers.npz")
    again = Answers.load(tmp_path / "answers.npz")
    assert again.digest == answers.digest
    assert again.calls == session.calls
    assert again.scores[0].values.tolist() == scores.values.tolist()
    without = answers[1:]
    assert without.digest != answers.digest
    assert "scores" not in without._header()
    other = scores.values.copy()
    other[0] += 1
    changed = replaced(answers, Scores, [Scores(noise=noise, values=other)])
    assert len({answers.digest, without.digest, changed.digest}) == 3
