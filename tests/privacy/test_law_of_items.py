"""`items`: the exact law on tiny lists of baskets, read by the room, the length of what one basket adds,
whole runs that choose items, and mutants that must not survive."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms
from synth_engine.codec import baskets
from synth_engine.domain import Domain, Integer, WeakBasket
from synth_engine.errors import BudgetExceeded, PrivacyError, VerificationError
from synth_engine.measurement import Counts, Noise
from synth_engine.plans import domain_learning
from synth_engine.privacy import noise_scale, unit
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.receipt import call_to_json
from synth_engine.privacy.unit import (
    PrivacyUnit,
    Relation,
    histogram_sensitivity,
    items_sensitivity,
)
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.sources.opening import open_table
from synth_engine.spec import Spec
from synth_engine.values import Integers
from synth_engine.verifier import calls as verifier_calls
from tests.privacy import exact
from tests.privacy.exact import Law, Replay

EPSILON = Fraction(7, 10)
VOTE = 6
"""Parts of a vote here: few, so that every outcome can be looked at. Nothing in the proof hangs on how many
there are."""
Basket = tuple[int, ...]
Table = tuple[Basket, ...]
Counting = Callable[..., Counts]


@pytest.fixture
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "VOTE", VOTE)
    monkeypatch.setattr(counts, "VOTE", VOTE)


@pytest.fixture
def two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "VOTE", 2)
    monkeypatch.setattr(counts, "VOTE", 2)


def domain_of(
    *, items: int, relation: Relation = Relation.ADD_REMOVE, max_records: int = 1, keep: int = 1
) -> Domain:
    column = WeakBasket(name="items", values=Integers(1, items), keep=keep)
    return Domain(
        attributes=(column,), relation=relation, unit=PrivacyUnit(max_records=max_records)
    )


def opened(table: Table, domain: Domain, folder: Path) -> Rows:
    """The list as the room opens it. A basket holds every item twice, and one that is in no set."""
    path = folder / "baskets.dat"
    path.write_text(
        "".join(" ".join(map(str, (*basket, "?", *basket))) + "\n" for basket in table)
    )
    return open_table(path, domain)


def all_baskets(items: int) -> list[Basket]:
    return [
        b
        for size in range(items + 1)
        for b in itertools.combinations(range(1, items + 1), size)
    ]


def tables(*, items: int, most: int) -> list[Table]:
    some = all_baskets(items)
    return [
        t
        for size in range(1, most + 1)
        for t in itertools.combinations_with_replacement(some, size)
    ]


def pairs(among: list[Table], relation: Relation) -> Iterator[tuple[Table, Table]]:
    """All of which one has a basket more, or of which one basket differs, both ways round."""
    for x, y in itertools.permutations(among, 2):
        more, fewer = sorted((list(x), list(y)), key=len, reverse=True)
        for basket in fewer:
            if basket in more:
                more.remove(basket)
        if len(more) == 1 and (len(x) == len(y)) == (relation is Relation.REPLACE_ONE):
            yield x, y


def worst(
    domain: Domain,
    folder: Path,
    *,
    items: int,
    most: int,
    l1: int | None = None,
    sampler: type[Replay] = Replay,
) -> Fraction | float:
    """The worst ratio of one answer with Laplace noise that is calibrated to epsilon."""
    of_one = histogram_sensitivity(domain.unit, domain.relation)
    scale = noise_scale.laplace_scale(EPSILON, l1 or items_sensitivity(of_one).l1)
    noise = Noise(law="discrete-laplace", scale=scale)

    def program(session: RoomSession, _: Rows) -> Hashable:
        answer = session.items("items", noise=noise)
        return (*answer.values.tolist(), session.calls, session.spent)

    among = tables(items=items, most=most)
    cap = Pure(
        epsilon=100 * EPSILON
    )  # mutants may cost more than they may; the cap is not what is tested here
    laws: dict[Table, Law] = {
        table: exact.law_on(
            program, opened(table, domain, folder), cap=cap, high=VOTE * most, sampler=sampler
        )
        for table in among
    }
    # Of another shape
    ratio, compared = exact.worst_ratio(laws, pairs(among, domain.relation))  # type: ignore[arg-type]
    assert compared > 10
    return ratio


@pytest.mark.usefixtures("few_parts")
@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    relation: Relation, tmp_path: Path
) -> None:
    ratio = worst(domain_of(items=2, relation=relation), tmp_path, items=2, most=2)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


# ---- how far one basket moves the counts
# -------------------------------------------------------------------------


def lengths(domain: Domain, folder: Path, *, squared: bool, items: int) -> tuple[int, int]:
    """The largest sum of sizes, or of squares, of what one basket adds, and of the difference of two
    baskets."""
    single = [
        counts.items(opened((b,), domain, folder), "items", squared=squared)
        for b in all_baskets(items)
    ]
    power = 2 if squared else 1
    apart = max(int((np.abs(x - y) ** power).sum()) for x in single for y in single)
    return max(int((x**power).sum()) for x in single), apart


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 7, 10_000])
def test_a_basket_adds_one_vote_at_most_by_the_norm_of_its_noise(
    squared: bool, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit, "VOTE", parts)
    monkeypatch.setattr(counts, "VOTE", parts)
    for relation in Relation:
        domain = domain_of(items=5, relation=relation)
        claim = items_sensitivity(histogram_sensitivity(domain.unit, relation))
        most = claim.l2_squared if squared else claim.l1
        one, apart = lengths(domain, tmp_path, squared=squared, items=5)
        assert (apart if relation is Relation.REPLACE_ONE else one) == most, (
            "reached, by baskets of one item"
        )


def test_several_baskets_of_one_person_add_up_as_records_do(tmp_path: Path) -> None:
    domain = domain_of(items=3, max_records=3)
    claim = items_sensitivity(histogram_sensitivity(domain.unit, domain.relation))
    for person in itertools.combinations_with_replacement(all_baskets(3), 3):
        rows = opened(person, domain, tmp_path)
        assert int((counts.items(rows, "items", squared=True) ** 2).sum()) <= claim.l2_squared
        assert int(counts.items(rows, "items", squared=False).sum()) <= claim.l1


def test_votes_are_the_shares_of_what_a_basket_has_of_the_set(tmp_path: Path) -> None:
    rows = opened(((1, 2, 3, 4), (1,), (), (1, 2)), domain_of(items=4), tmp_path)
    assert counts.items(rows, "items", squared=False).tolist() == [17_500, 7_500, 2_500, 2_500]
    assert counts.items(rows, "items", squared=True).tolist() == [
        5_000 + 10_000 + 7_071,
        5_000 + 7_071,
        5_000,
        5_000,
    ]


# ---- mutants
# -----------------------------------------------------------------------------------------------------


def a_vote_for_each_item(rows: Rows, name: str, *, squared: bool, honest: Counting) -> Counts:
    """Every item of a basket gets a whole vote: the longer the basket, the more it moves."""
    found = np.zeros(rows.domain.attribute(name).values.size, dtype=np.int64)  # type: ignore[attr-defined]
    np.add.at(found, rows.basket(name).flatten().to_numpy(), counts.VOTE)
    return found


def the_other_norm(rows: Rows, name: str, *, squared: bool, honest: Counting) -> Counts:
    """Shares whose squares add up to one, under Laplace noise."""
    return honest(rows, name, squared=not squared)


def rounded_up(rows: Rows, name: str, *, squared: bool, honest: Counting) -> Counts:
    """Shares in parts, rounded up: those of four items add up to more than a vote of six parts."""
    found = np.zeros(rows.domain.attribute(name).values.size, dtype=np.int64)  # type: ignore[attr-defined]
    for basket in rows.basket(name).to_pylist():
        found[basket] += -(-counts.VOTE // max(1, len(basket)))
    return found


MUTANTS: list[tuple[Any, int, float]] = [
    (a_vote_for_each_item, 2, 1.9),
    (the_other_norm, 2, 1.3),
    (rounded_up, 4, 1.3),
]


@pytest.mark.usefixtures("few_parts")
@pytest.mark.parametrize(
    ("mutant", "items", "least"), MUTANTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_mutant_count_is_noticed(
    mutant: Any, items: int, least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = counts.items
    monkeypatch.setattr(
        counts, "items", lambda rows, name, **how: mutant(rows, name, **how, honest=honest)
    )
    one, _ = lengths(domain_of(items=items), tmp_path, squared=False, items=items)
    assert one > VOTE
    if items == 2:
        ratio = worst(domain_of(items=2), tmp_path, items=2, most=2)
        assert exact.worst_epsilon(ratio) > least * EPSILON


@pytest.mark.parametrize("squared", [False, True])
def test_an_item_that_counts_as_often_as_it_stands_there_is_noticed(
    squared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every item stands twice in the baskets of these tests. Where shares add up to one, it does not matter;
    where their squares do, two shares of one item are longer than one of each."""
    monkeypatch.setattr(baskets, "_distinct", np.sort)
    one, _ = lengths(domain_of(items=2), tmp_path, squared=squared, items=2)
    assert (one > 1.9 * counts.VOTE**2) if squared else (one == counts.VOTE)


@pytest.mark.usefixtures("few_parts")
def test_a_sensitivity_of_one_is_noticed(tmp_path: Path) -> None:
    """That of a table of records, for counts in parts of a vote."""
    assert (
        exact.worst_epsilon(worst(domain_of(items=2), tmp_path, items=2, most=2, l1=1))
        > 5 * EPSILON
    )


@pytest.mark.usefixtures("few_parts")
def test_the_sensitivity_of_add_and_remove_is_noticed_under_replace_one(tmp_path: Path) -> None:
    domain = domain_of(items=2, relation=Relation.REPLACE_ONE)
    assert (
        exact.worst_epsilon(worst(domain, tmp_path, items=2, most=2, l1=VOTE)) > 1.9 * EPSILON
    )


class WithoutNoise(Replay):
    """Items are chosen by their exact counts."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return vector


@pytest.mark.usefixtures("few_parts")
@pytest.mark.parametrize(
    ("sampler", "least"),
    [(exact.HalvedScale, 1.9), (exact.ActiveDomain, inf), (WithoutNoise, inf)],
)
def test_a_mutant_sampler_is_noticed(
    sampler: type[Replay], least: float, tmp_path: Path
) -> None:
    ratio = worst(domain_of(items=2), tmp_path, items=2, most=2, sampler=sampler)
    assert exact.worst_epsilon(ratio) >= least * EPSILON


# ---- whole runs
# --------------------------------------------------------------------------------------------------


def run_ratio(
    mechanism: str, folder: Path, *, sampler: type[Replay] = Replay
) -> Fraction | float:
    """Of everything that leaves the room in a run that chooses one of two items and then asks for its column,
    or, of `random`, for the number of baskets."""
    domain = domain_of(items=2, keep=1)
    plan = mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=EPSILON))

    def program(session: RoomSession, _: Rows) -> Hashable:
        answers = plan.run(session)
        values = tuple(
            (m.clique, tuple(m.values.ravel().tolist())) for m in answers.measurements
        )
        return values, answers.calls, session.spent, session.domain.digest

    among = tables(items=2, most=2)
    laws = {
        t: exact.law_on(
            program,
            opened(t, domain, folder),
            cap=Pure(epsilon=EPSILON),
            high=4,
            sampler=sampler,
        )
        for t in among
    }
    # Of another shape
    return exact.worst_ratio(laws, pairs(among, domain.relation))[0]  # type: ignore[arg-type]


@pytest.mark.usefixtures("two_parts")
@pytest.mark.parametrize(
    "mechanism", ["random", pytest.param("independent", marks=pytest.mark.slow)]
)
def test_a_run_that_chooses_items_keeps_its_target(mechanism: str, tmp_path: Path) -> None:
    ratio = run_ratio(mechanism, tmp_path)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


class ChoosesExactly(Replay):
    """The first answer, by which items are chosen, has no noise."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        return super().counts(vector, noise) if self.taken else np.clip(vector, 0, self.high)


@pytest.mark.usefixtures("two_parts")
def test_items_chosen_by_exact_counts_are_noticed(tmp_path: Path) -> None:
    assert exact.worst_epsilon(run_ratio("random", tmp_path, sampler=ChoosesExactly)) == inf


def test_the_most_voted_items_are_kept_and_nothing_else_decides() -> None:
    attribute = domain_of(items=4, keep=2).undeclared[0]
    answer = domain_learning.Measurement(
        clique=("items",), noise=NOISE, values=np.array([3, -1, 9, 3], dtype=np.int64)
    )
    assert domain_learning.resolve(attribute, answer).items == ("1", "3")  # type: ignore[attr-defined]


# ---- the room and what leaves it
# ---------------------------------------------------------------------------------

NOISE = Noise(law="discrete-laplace", scale=Fraction(20_000))


def session_of(folder: Path, *, epsilon: Fraction = Fraction(1)) -> RoomSession:
    domain = domain_of(items=2)
    return open_session(
        opened(((1,), (1, 2)), domain, folder), domain=domain, cap=Pure(epsilon=epsilon)
    )


def test_items_over_the_cap_are_refused_before_baskets_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path, epsilon=Fraction(1, 3))
    monkeypatch.delattr(counts, "items")
    with pytest.raises(BudgetExceeded):
        session.items("items", noise=NOISE)
    assert session.calls == ()


def test_other_columns_have_no_items(tmp_path: Path) -> None:
    domain = Domain(attributes=(Integer(name="x", low=0, high=1),))
    session = open_session(
        exact.rows_of(((0,),), domain), domain=domain, cap=Pure(epsilon=Fraction(1))
    )
    with pytest.raises(PrivacyError, match="basket"):
        session.items("x", noise=NOISE)
    assert session.spent == Pure(epsilon=Fraction(0))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({"relation": "replace-one"}, "sensitivity", id="the other relation"),
        pytest.param(
            {"unit": {"max_records": 2, "column": None}}, "sensitivity", id="another unit"
        ),
        pytest.param({"verb": "measure"}, "sensitivity", id="as a table of records"),
        pytest.param({"clique": ["items", "more"]}, "one column", id="two columns"),
        pytest.param({"clique": []}, "no columns", id="no column"),
        pytest.param({"cells": 0}, "malformed", id="no items"),
    ],
)
def test_the_verifier_recomputes_the_cost_of_items(
    changed: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    session = session_of(tmp_path)
    session.items("items", noise=NOISE)
    (call,) = session.calls
    line = call_to_json(call.query.to_json(), call.event)
    receipt = {
        "unit": session.domain.unit.to_json(),
        "relation": "add-remove",
        "invariants": [],
    }
    assert verifier_calls.cost_of(
        line, 1, verifier_calls.allowed_by(receipt)
    ).epsilon == Fraction(1, 2)
    forged = line | {
        "query": line["query"] | {k: v for k, v in changed.items() if k in line["query"]}
    }
    about = receipt | {key: value for key, value in changed.items() if key in receipt}
    with pytest.raises(VerificationError, match=reason):
        verifier_calls.cost_of(forged, 1, verifier_calls.allowed_by(about))


def test_the_verifier_knows_no_distribution_of_the_losses_of_items(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    session.items("items", noise=NOISE)
    (call,) = session.calls
    line = call_to_json(call.query.to_json(), call.event)
    receipt = {
        "unit": {"max_records": 1, "column": None},
        "relation": "add-remove",
        "invariants": [],
        "calls": [line],
    }
    cost = verifier_calls.cost_of(line, 1, verifier_calls.allowed_by(receipt))
    with pytest.raises(VerificationError, match="items"):
        verifier_calls.losses([cost], receipt)
