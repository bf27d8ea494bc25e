"""`auto`, the whole of it: everything that leaves the room, its exact law, and mutants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from synth_engine import mechanisms, verifier
from synth_engine.domain import Domain, Integer
from synth_engine.errors import BudgetExceeded
from synth_engine.inference import bins as binning
from synth_engine.measurement import Candidate, Measurement, Noise, Scores
from synth_engine.mechanisms.auto import auto, groups, pair_selection, triples
from synth_engine.mechanisms.auto.auto import (
    COMPARING_SHARE,
    SELECTING_SHARE,
    TRIPLES_SHARE,
    AutoPlan,
)
from synth_engine.mechanisms.auto.denoising import Fine
from synth_engine.mechanisms.auto.group_tables import GroupTables
from synth_engine.mechanisms.auto.groups import GroupSearch
from synth_engine.mechanisms.auto.questions import Stage
from synth_engine.mechanisms.auto.selection import Columns, Floats
from synth_engine.mechanisms.auto.triples import TripleSearch
from synth_engine.plans import budget_allocation
from synth_engine.privacy.events import Gumbel, PermuteAndFlip, mu_squared_of_pure
from synth_engine.privacy.filter import Filter
from synth_engine.privacy.loss import GaussianDP, Loss, Pure, ZeroConcentrated
from synth_engine.privacy.unit import (
    Relation,
    Sensitivity,
    histogram_sensitivity,
    interaction_sensitivity,
    scores_sensitivity,
)
from synth_engine.room import counts
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession, open_session
from synth_engine.room.verbs import score as score_verb
from synth_engine.spec import Spec
from tests.privacy import exact
from tests.privacy.exact import Replay, Table, domain_of, pairs_of

EPSILON = Fraction(7, 10)
MANY = Pure(epsilon=100 * EPSILON)


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from the same answers is worked out once: a law replays every branch, and most of them
    share theirs."""
    columns, first_stage = Columns.of, AutoPlan.first_stage
    known: dict[Hashable, Any] = {}

    def of(
        domain: Domain, answers: Sequence[Measurement], *, strength: float, rare: bool
    ) -> Columns:
        key = (domain.digest, strength, *(m.values.tobytes() for m in answers))
        if key not in known:
            known[key] = columns(domain, answers, strength=strength, rare=rare)
        return known[key]

    def staged(
        self: AutoPlan,
        of_columns: Columns,
        pairs: Sequence[Any],
        scores: Scores,
        *,
        budget: Fraction,
    ) -> Stage:
        key = (id(of_columns), id(self), scores.noise, scores.values.tobytes(), budget)
        if key not in known:
            known[key] = (
                first_stage(self, of_columns, pairs, scores, budget=budget),
                of_columns,
                self,
            )
        stage: Stage = known[key][0]
        return stage

    monkeypatch.setattr(Columns, "of", of)
    monkeypatch.setattr(AutoPlan, "first_stage", staged)


def plan_of(
    domain: Domain, *, delta: Fraction = Fraction(0), epsilon: Fraction = EPSILON, **given: Any
) -> AutoPlan:
    plan = mechanisms.plan(
        domain, Spec(mechanism="auto", epsilon=epsilon, delta=delta, parameters=given)
    )
    assert isinstance(plan, AutoPlan)
    return plan


def worst(
    domain: Domain,
    *,
    most: int = 1,
    plan: AutoPlan | None = None,
    cap: Loss | None = None,
    sampler: type[Replay] = Replay,
    pairs: list[tuple[Table, Table]] | None = None,
    leak: bool = False,
) -> Fraction | float:
    """Released counts and scores are clamped to 0 and 1, so that every branch can be walked; for mutants that
    is enough."""
    chosen = plan or plan_of(domain)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answers = chosen.run(session)
        values = tuple(
            value for m in answers.measurements for value in m.values.ravel().tolist()
        )
        scores = tuple(value for given in answers.scores for value in given.values.tolist())
        return values, scores, answers.calls, session.spent, rows.total if leak else None

    return exact.largest_ratio(
        program, domain, cap=cap or chosen.loss, most=most, high=1, sampler=sampler, pairs=pairs
    )


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_target(
    relation: Relation,
) -> None:
    ratio = worst(domain_of(2, 2, relation=relation))
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.9 * EPSILON, "a claim this loose would hide a defect"


@pytest.mark.nightly
def test_nor_is_any_of_two_and_three_values() -> None:
    domain = domain_of(2, 3)
    pairs: list[tuple[Table, Table]] = [((), ((0, 1),)), (((0, 1),), ())]
    assert exact.proves(worst(domain, pairs=pairs), epsilon=EPSILON)


@pytest.mark.slow
def test_nor_are_people_of_two_records() -> None:
    domain = domain_of(2, 2, max_records=2)
    pairs: list[tuple[Table, Table]] = [((), ((0, 1), (0, 1))), (((0, 1), (0, 1)), ())]
    assert exact.proves(worst(domain, pairs=pairs), epsilon=EPSILON)
    careless = plan_of(domain_of(2, 2))
    assert (
        exact.worst_epsilon(worst(domain, plan=careless, cap=MANY, pairs=pairs))
        > 1.15 * EPSILON
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler", [exact.HalvedScale, exact.ActiveDomain], ids=lambda s: s.__name__
)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay]) -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), sampler=sampler)) > 1.15 * EPSILON


@pytest.mark.slow
def test_scores_of_the_exact_counts_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(self: RoomSession, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        honest = score_verb.question(self._facts, tuple(candidates), noise=noise)
        event = noise.event(scores_sensitivity(self._facts.sensitivity, number=1))
        return self._ask(
            replace(
                honest,
                event=event,
                answer=lambda scores, _: Scores(noise=noise, values=scores),
            )
        )

    monkeypatch.setattr(RoomSession, "score", score)
    assert exact.worst_epsilon(worst(domain_of(2, 2))) == float("inf")


@pytest.mark.slow
def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    assert exact.worst_epsilon(worst(domain_of(2, 2), leak=True)) == float("inf")


class RoundingUp(AutoPlan):
    """A mutant: tables get half as much again as columns and scores have left."""

    def _left_for_tables(self, scores: Noise, pairs: int) -> Fraction:
        return super()._left_for_tables(scores, pairs) * Fraction(3, 2)


@pytest.mark.slow
def test_a_budget_that_is_rounded_up_is_noticed() -> None:
    """By the law of what leaves the room, where no filter stops it."""
    honest = plan_of(domain_of(2, 2))
    plan = RoundingUp(
        config=honest.config, domain=honest.domain, spec=honest.spec, cap=honest.cap
    )
    pairs: list[tuple[Table, Table]] = [((), ((0, 1),)), (((0, 1),), ())]
    assert exact.proves(worst(plan.domain, plan=honest, cap=MANY, pairs=pairs), epsilon=EPSILON)
    assert (
        exact.worst_epsilon(worst(plan.domain, plan=plan, cap=MANY, pairs=pairs))
        > 1.15 * EPSILON
    )


def test_a_budget_that_is_rounded_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(domain_of(2, 2))
    left = AutoPlan._left_for_tables
    monkeypatch.setattr(
        AutoPlan,
        "_left_for_tables",
        lambda self, scores, pairs: left(self, scores, pairs) * Fraction(1_000_001, 10**6),
    )
    domain = domain_of(2, 2)
    with pytest.raises(BudgetExceeded):
        plan.run(
            open_session(exact.rows_of(((0, 0), (1, 1)), domain), domain=domain, cap=plan.loss)
        )


# ---- relations of three columns
# ----------------------------------------------------------------------------------


def fixed_search(plan: AutoPlan, columns: Columns) -> TripleSearch:
    """A search whose pairs are taken to be independent."""
    fine = Fine.of(columns, rows=columns.rows, histograms=columns.histograms)
    counts = {
        pair: np.multiply.outer(fine.histograms[pair[0]], fine.histograms[pair[1]]) / fine.rows
        for pair in columns.pairs
    }
    tables = GroupTables(
        columns=columns, fine=fine, counts=counts, weights=dict.fromkeys(counts, 1.0)
    )
    return TripleSearch(tables=tables)


def worst_of_triples(plan: AutoPlan) -> Fraction | float:
    """The law of everything that is asked after the pairs, where their answers are fixed."""
    noise = plan.column_noises()
    oneways = [
        Measurement(clique=(name,), noise=noise[name], values=np.array([4, 3]))
        for name in plan.domain.names
    ]
    columns = plan._columns(oneways)
    before = Stage(questions=[], price=plan.loss.amount * (1 - TRIPLES_SHARE), error=1.0)

    search = fixed_search(plan, columns)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        selected, compared = plan._scored_triples(session, search, budget=plan.loss.amount)
        # A strong relation, whatever the score: its table is asked for in every branch.
        strong = replace(compared, values=compared.values + 10**6)
        rest = plan.loss.amount * (TRIPLES_SHARE - SELECTING_SHARE - COMPARING_SHARE)
        answers = [
            plan._measure(session, columns, question)
            for question in plan.last_stage(search, selected, strong, before, budget=rest)
        ]
        assert [len(answer.clique) for answer in answers] == [3]
        cells = tuple(answers[0].values.ravel().tolist())
        return tuple(selected), tuple(compared.values.tolist()), cells, session.calls

    record = (0, 1, 1)
    pairs: list[tuple[Table, Table]] = [((), (record,)), ((record,), ())]
    return exact.largest_ratio(
        program, plan.domain, cap=MANY, most=1, high=1, sampler=Replay, pairs=pairs
    )


@pytest.mark.slow
@pytest.mark.parametrize("most", [0.0, math.inf], ids=["selected", "all scored"])
def test_looking_for_triples_and_measuring_them_costs_no_more_than_its_share(
    most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triples, "MAX_SCORE_NOISE", most)
    plan = plan_of(domain_of(2, 2, 2), epsilon=4 * EPSILON)
    ratio = worst_of_triples(plan)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.9 * EPSILON, "a claim this loose would hide a defect"


@pytest.mark.slow
@pytest.mark.parametrize(
    "most",
    [0.0, pytest.param(math.inf, marks=pytest.mark.nightly)],
    ids=["selected", "all scored"],
)
def test_a_share_of_triples_that_is_exceeded_is_noticed(
    most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triples, "MAX_SCORE_NOISE", most)
    plan = plan_of(domain_of(2, 2, 2), epsilon=4 * EPSILON)
    last_stage = AutoPlan.last_stage

    def generous(self: AutoPlan, *given: Any, budget: Fraction) -> Any:
        return last_stage(self, *given, budget=budget * Fraction(3, 2))

    monkeypatch.setattr(AutoPlan, "last_stage", generous)
    assert exact.worst_epsilon(worst_of_triples(plan)) > 1.15 * EPSILON


@pytest.mark.slow
def test_scores_of_all_triples_that_cost_more_than_their_share_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(triples, "MAX_SCORE_NOISE", math.inf)
    plan = plan_of(domain_of(2, 2, 2), epsilon=4 * EPSILON)
    of_scores = AutoPlan._of_scores

    def tiny(self: AutoPlan, number: int) -> Sensitivity:
        return replace(of_scores(self, number), l1=1, l2_squared=1, linf=1)

    # The noise of the scores is that of a smaller sensitivity, over most of the budget.
    monkeypatch.setattr(auto, "COMPARING_SHARE", Fraction(1, 5))
    monkeypatch.setattr(AutoPlan, "_of_scores", tiny)
    assert exact.worst_epsilon(worst_of_triples(plan)) > 1.15 * EPSILON


# ---- relations of four columns and more
# --------------------------------------------------------------------------

# Of five columns a group of four is selected, which leaves no group of five to select.
GROUPS_SHARE = groups.SELECTING_SHARE / 2 + groups.COMPARING_SHARE


def worst_of_groups(
    plan: AutoPlan, monkeypatch: pytest.MonkeyPatch, *, from_data: bool = False
) -> Fraction | float:
    """The law of looking for groups, where all answers before are fixed. from_data: whether references hold
    the exact number of records."""
    # Tables of so few records are not compared otherwise.
    monkeypatch.setattr(groups, "RECORDS_A_CELL", Fraction(1, 100))
    noise = plan.column_noises()
    values = [np.array([20, 1])] * 4 + [np.array([0, 21])]
    columns = plan._columns(
        [
            Measurement(clique=(name,), noise=noise[name], values=each)
            for name, each in zip(plan.domain.names, values, strict=True)
        ]
    )
    search = fixed_search(plan, columns)
    # As large as the distances of groups of four from an empty table, so that their scores are near zero.
    relations = dict.fromkeys(itertools.combinations(range(5), 3), columns.total / 2)

    honest = GroupSearch(triples=search, relations=relations)
    # A law walks through hundreds of runs, whose candidates are the same.
    known = {
        group: honest.candidate(group) for size in groups.SIZES for group in honest.groups(size)
    }

    class Search(GroupSearch):
        records = 0
        scores: tuple[int, ...] = ()

        def candidate(self, group: tuple[int, ...]) -> Candidate:
            # Half of the candidates have the number of records in each cell.
            return replace(
                known[group], reference=known[group].reference + self.records * (4 in group)
            )

        def distances(self, scores: Scores, *, compared: int) -> Floats:
            Search.scores = tuple(scores.values.tolist())
            return super().distances(scores, compared=compared)

    given = Search(triples=search, relations=relations)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        Search.records = 4 * rows.total if from_data else 0
        scored = plan._scored_groups(session, given, budget=plan.loss.amount)
        assert scored is not None
        return tuple(scored.groups), Search.scores, session.calls

    # The record is where a group without the last column is expected to have nearly all, and one with it
    # none.
    record = (0,) * 5
    pairs: list[tuple[Table, Table]] = [((), (record,)), ((record,), ())]
    return exact.largest_ratio(
        program, plan.domain, cap=MANY, most=1, high=1, sampler=Replay, pairs=pairs
    )


def plan_of_groups() -> AutoPlan:
    """A budget of which looking for groups gets EPSILON."""
    return plan_of(domain_of(*[2] * 5), epsilon=EPSILON / GROUPS_SHARE)


@pytest.mark.slow
def test_looking_for_larger_groups_costs_no_more_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratio = worst_of_groups(plan_of_groups(), monkeypatch)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.8 * EPSILON, "a claim this loose would hide a defect"


@pytest.mark.slow
@pytest.mark.parametrize(("share", "times"), [("SELECTING_SHARE", 6), ("COMPARING_SHARE", 3)])
def test_a_share_of_larger_groups_that_is_exceeded_is_noticed(
    share: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of_groups()
    monkeypatch.setattr(groups, share, times * getattr(groups, share))
    assert exact.worst_epsilon(worst_of_groups(plan, monkeypatch)) > 1.15 * EPSILON


@pytest.mark.slow
def test_a_reference_of_a_group_that_follows_from_the_data_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratio = worst_of_groups(plan_of_groups(), monkeypatch, from_data=True)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


# ---- how the room is asked about bins, given the one-way answers
# -----------------------------------------------


def worst_of_bins(*, from_data: bool) -> Fraction | float:
    """The law of the calls and the table of one question by bins; the bins follow from fixed noisy counts, or
    from the rows."""
    domain = domain_of(4)
    noise = Noise(law="discrete-laplace", scale=Fraction(3, 2))

    def program(session: RoomSession, rows: Rows) -> Hashable:
        told = (
            counts.contingency(rows, ("a",))
            if from_data
            else np.array([3, 0, 1, 2], dtype=np.int64)
        )
        bins = binning.nested_bins(told.astype(np.float64), ordered=True, levels=(2,))[0]
        answer = session.measure(("a",), noise=noise, merged={"a": bins})
        return tuple(bins.tolist()), tuple(answer.values.tolist())

    compared = list(pairs_of(domain, most=2))
    laws = {
        table: exact.law_of(program, table, domain=domain, cap=MANY, high=2)
        for table in {table for pair in compared for table in pair}
    }
    return exact.worst_ratio(laws, iter(compared))[0]


def test_bins_from_noisy_counts_cost_nothing() -> None:
    assert exact.proves(worst_of_bins(from_data=False), epsilon=EPSILON)


def test_a_merge_rule_read_from_the_data_is_noticed() -> None:
    assert exact.worst_epsilon(worst_of_bins(from_data=True)) == float("inf")


# ---- Gaussian noise: how far all that it is added to moves, along one history of answers
# --------------------------


class Answered:
    """Notes what noise is added to, and answers what another run was answered, where there is one."""

    def __init__(self, history: Sequence[np.ndarray[Any, Any]] | None = None) -> None:
        self.history, self.rng = history, np.random.default_rng(8)
        self.vectors: list[np.ndarray[Any, Any]] = []
        self.given: list[np.ndarray[Any, Any]] = []
        self.chosen: list[np.ndarray[Any, Any]] = []

    def counts(self, vector: np.ndarray[Any, Any], noise: Noise) -> np.ndarray[Any, Any]:
        self.vectors.append(vector.copy())
        if self.history is None:
            self.given.append(
                vector
                + np.rint(self.rng.normal(0, float(noise.scale), vector.size)).astype(np.int64)
            )
        else:
            self.given.append(self.history[len(self.given)])
        return self.given[-1]

    def choose(self, scores: np.ndarray[Any, Any], *, scale: Fraction, law: str) -> int:
        """The first one, in both runs."""
        self.chosen.append(scores.copy())
        return 0


def moved(plan: AutoPlan, pair: tuple[Table, Table]) -> Fraction:
    """mu² that would tell the two tables apart, if both were answered alike."""
    runs: list[Answered] = []
    for table in pair:
        sampler: Any = Answered(runs[0].given if runs else None)
        rows = exact.rows_of(table, plan.domain)
        answers = plan.run(open_session(rows, domain=plan.domain, cap=MU_CAP, sampler=sampler))
        runs.append(sampler)
    scales = [
        line.answer.noise.scale
        for line in answers.answered
        if isinstance(line.answer, Measurement | Scores)
    ]
    apart = [
        int(((x - y) ** 2).sum()) for x, y in zip(runs[0].vectors, runs[1].vectors, strict=True)
    ]
    tables = sum((d / scale**2 for d, scale in zip(apart, scales, strict=True)), Fraction(0))
    events = [line.call.event for line in answers.answered if line.call.query.verb == "select"]
    for event, x, y in zip(events, runs[0].chosen, runs[1].chosen, strict=True):
        assert isinstance(event, Gumbel)
        differences = (x - y).tolist()
        # The loss of the exponential mechanism ranges over so much, whatever is selected.
        spread = Fraction(max(differences) - min(differences)) / event.scale
        if spread:
            tables += mu_squared_of_pure(spread / 2)
    return tables


MU_CAP = GaussianDP(mu_squared=Fraction(10**6))


def neighbours(domain: Domain) -> Iterator[tuple[Table, Table]]:
    rng = np.random.default_rng(2)
    sizes = list(domain.sizes.values())
    table = tuple(tuple(int(c) for c in rng.integers(0, sizes)) for _ in range(40))
    for record in [tuple(int(c) for c in rng.integers(0, sizes)) for _ in range(12)]:
        if domain.relation is Relation.REPLACE_ONE:
            yield table, (record, *table[1:])
        else:
            yield table, (record, *table)


@pytest.mark.parametrize("way", ["tables", "columns once more", "a tree of pairs"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    "sizes", [(3, 5, 4), (3, 2, 3, 2, 2)], ids=["triples", "larger groups"]
)
def test_with_gaussian_noise_nothing_moves_farther_than_the_cap(
    sizes: tuple[int, ...],
    relation: Relation,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 0.0 if way == "a tree of pairs" else math.inf
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", most)
    if way == "columns once more":
        monkeypatch.setattr(Columns, "choices", lambda *_, **__: [])
    # Tables of so few records are not compared otherwise.
    monkeypatch.setattr(groups, "RECORDS_A_CELL", Fraction(1, 100))
    domain = domain_of(*sizes, relation=relation)
    plan = plan_of(domain, delta=Fraction(1, 10**9), epsilon=Fraction(2))
    assert isinstance(plan.loss, GaussianDP)
    found = [moved(plan, pair) for pair in neighbours(domain)]
    assert max(found) <= plan.loss.mu_squared
    # No random pair of records is the farthest one of all tables at once; the more columns, the less so.
    least = Fraction(8 if len(sizes) == 3 else 7, 10)
    if way == "a tree of pairs":  # all candidates of a selection move alike, as a rule
        least = Fraction(1, 2)
    assert max(found) >= least * plan.loss.mu_squared, "a claim this loose would hide a defect"


def test_interactions_that_are_paid_for_as_the_counts_they_are_made_of_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = domain_of(3, 5, 4)
    plan = plan_of(domain, delta=Fraction(1, 10**9), epsilon=Fraction(2))

    def of_counts(self: AutoPlan, shape: Sequence[int]) -> Sensitivity:
        return histogram_sensitivity(self.domain.unit, self.domain.relation)

    monkeypatch.setattr(AutoPlan, "_of_interaction", of_counts)
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", math.inf)
    assert isinstance(plan.loss, GaussianDP)
    assert max(moved(plan, pair) for pair in neighbours(domain)) > 2 * plan.loss.mu_squared


# ---- what is spent, and what the receipt says
# ------------------------------------------------------------------


def settings() -> Iterator[tuple[Domain, Fraction]]:
    for relation in Relation:
        for delta in (Fraction(0), Fraction(1, 10**9)):
            yield domain_of(2, 3, 4, relation=relation), delta
            yield domain_of(2, 1, 4, relation=relation, max_records=3), delta
            yield domain_of(2, 3, 2, 2, 2, relation=relation), delta


@pytest.mark.parametrize(("domain", "delta"), list(settings()))
def test_all_events_together_stay_under_the_cap_and_the_receipt_verifies(
    domain: Domain, delta: Fraction
) -> None:
    plan = plan_of(domain, delta=delta, epsilon=Fraction(3))
    rng = np.random.default_rng(3)
    table = tuple(
        tuple(int(code) % size for size in domain.sizes.values())
        for code in rng.integers(0, 12, 300).tolist()
    )
    session = open_session(exact.rows_of(table, domain), domain=domain, cap=plan.loss)
    answers = plan.run(session)
    assert answers.calls == session.calls
    found = verifier.verify(plan.receipt(answers))
    assert found.epsilon <= Fraction(3) + Fraction(1, 10**9)
    spent = Filter(plan.loss)
    for call in answers.calls:
        spent.admit(call.event)
    if any(len(m.clique) == 2 for m in answers.measurements):
        assert spent.remaining <= plan.loss.amount / 10**5, (
            "what is left over could have made tables more accurate"
        )


@pytest.mark.parametrize("seed", range(12))
def test_no_scores_and_no_workload_make_a_run_overspend_or_be_refused(seed: int) -> None:
    """Parts come from floats; whatever they are, their prices add up exactly to what there is, or less."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, size=int(rng.integers(2, 9))).tolist()
    domain = Domain(
        attributes=tuple(
            Integer(name=f"c{i}", low=0, high=size - 1) for i, size in enumerate(sizes)
        )
    )
    epsilon = Fraction(float(10.0 ** rng.uniform(-2, 1.5))).limit_denominator(10**6)
    plan = plan_of(domain, delta=Fraction(rng.integers(0, 2).item(), 10**9), epsilon=epsilon)
    caps: list[Pure | ZeroConcentrated | GaussianDP] = [
        plan.loss,
        ZeroConcentrated(rho=epsilon**2 / 7),
    ]
    for cap in caps:
        one = replace(plan, cap=cap)
        columns = one._columns(
            [
                noisy_column(name, size, noise=one.column_noises()[name], rng=rng)
                for name, size in domain.sizes.items()
            ]
        )
        pairs = one._pairs(columns)
        if not pairs:
            continue
        noise = one._score_noise(len(pairs))
        assert noise is not None
        budget = Filter(cap)
        for each in one.column_noises().values():
            budget.admit(each.event(one.sensitivity))
        budget.admit(noise.event(scores_sensitivity(one.sensitivity, number=len(pairs))))
        values = rng.integers(-(10 ** int(rng.integers(1, 12))), 10**8, size=len(pairs))
        tables = one._left_for_tables(noise, len(pairs))
        share = TRIPLES_SHARE if triples.exist(columns, pairs) else 0
        given = Scores(noise=noise, values=values)
        stage = one.first_stage(columns, pairs, given, budget=tables * (1 - share))
        asked = list(stage.questions)
        if share:
            search = fixed_search(one, columns)
            chosen = search.triples[: search.selections]
            compared = budget_allocation.noise(
                cap.of(tables * COMPARING_SHARE), one._of_scores(len(chosen))
            )
            scale = cap.of(tables * SELECTING_SHARE / len(chosen)).selection_scale(
                one.sensitivity.linf
            )
            event = PermuteAndFlip if isinstance(cap, Pure) else Gumbel
            for _ in chosen:
                budget.admit(event(scale=scale, linf=one.sensitivity.linf))
            budget.admit(compared.event(one._of_scores(len(chosen))))
            far = rng.integers(-(10 ** int(rng.integers(1, 12))), 10**8, size=len(chosen))
            scored = Scores(noise=compared, values=far)
            rest = tables * (TRIPLES_SHARE - SELECTING_SHARE - COMPARING_SHARE)
            given_groups = GroupSearch(
                triples=search, relations=search.relations(chosen, scored)
            )
            anything: Any = Anything(rng, budget, one.sensitivity, event)
            larger = one._scored_groups(anything, given_groups, budget=tables)
            if larger is not None:
                rest -= larger.price
            asked += one.last_stage(search, chosen, scored, stage, budget=rest, larger=larger)
        for question in asked:
            moving = one.sensitivity
            if question.interaction:
                shape = columns.shape(question.axes, question.levels)
                moving = interaction_sensitivity(domain.unit, domain.relation, sizes=shape)
            budget.admit(question.noise.event(moving))


class Anything:
    """A session that answers at random, and charges what it is asked."""

    def __init__(
        self,
        rng: np.random.Generator,
        budget: Filter,
        sensitivity: Sensitivity,
        event: type[Gumbel] | type[PermuteAndFlip],
    ) -> None:
        self._rng, self._budget, self._sensitivity = rng, budget, sensitivity
        self._event = event

    def select(self, candidates: Sequence[Candidate], *, scale: Fraction) -> int:
        self._budget.admit(self._event(scale=scale, linf=self._sensitivity.linf))
        return int(self._rng.integers(len(candidates)))

    def score(self, candidates: Sequence[Candidate], *, noise: Noise) -> Scores:
        self._budget.admit(
            noise.event(scores_sensitivity(self._sensitivity, number=len(candidates)))
        )
        values = self._rng.integers(-(10**9), 10**8, size=len(candidates))
        return Scores(noise=noise, values=values)


def noisy_column(
    name: str, size: int, *, noise: Noise, rng: np.random.Generator
) -> Measurement:
    values = rng.integers(-500, 10_000, size=size)
    return Measurement(clique=(name,), noise=noise, values=values)
