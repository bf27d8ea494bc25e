"""Whole runs under a cap on mu² or on rho: all that leaves the room, its privacy loss, and mistakes that must
be noticed.

Every question of a run is asked of both tables by the shipped code, along every branch; the deltas of all
answers together are compared with the curve of the cap at many epsilons, their Rényi divergences with its rho
(docs/proofs/accounting.md)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.domain import Domain, Integer, Range, Weak
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms.auto import pair_selection
from synth_engine.plans.plan import Plan
from synth_engine.privacy.loss import Budget, GaussianDP, Pure, ZeroConcentrated
from synth_engine.privacy.unit import Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.values import Listed
from tests import plans
from tests.privacy import coarse, exact
from tests.privacy.coarse import ROUNDING, Coarse, Compared, Ranges, Telling, Told
from tests.privacy.exact import Table, domain_of

EPSILON, DELTA = Fraction(2), Fraction(1, 1000)
EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
ORDERS = (1.25, 2.0, 3.0, 6.0, 12.0)
LINE = Domain(attributes=(Integer(name="x", low=0, high=3, width=1),))
KNOWN = Integer(name="known", low=0, high=1)
WEAK = Weak(name="word", values=Listed(["a"]), rho=0.5)
RANGE = Range(name="number", of="integer", low=0, high=2, bins=2)


def plan_of(mechanism: str, domain: Domain, **parameters: int) -> Plan:
    return plans.plan_of(mechanism, domain, epsilon=EPSILON, delta=DELTA, **parameters)


def compared(
    plan: Plan,
    pair: tuple[Table, Table],
    telling: Telling,
    *,
    domain: Domain | None = None,
    cap: Budget | None = None,
    sampler: type[Coarse] = Coarse,
) -> Compared:
    """domain, cap: of the rows and of the room, where they are not those of the plan."""
    room = domain or plan.domain

    def run(sampler: Coarse, rows: Rows) -> Hashable:
        session = open_session(rows, domain=room, cap=cap or plan.loss, sampler=sampler)
        return plan.run(session).calls, session.spent

    one, other = (exact.rows_of(table, room) for table in pair)
    return Compared(run, (one, other), telling, sampler=sampler)


CASES = [
    pytest.param("auto", domain_of(2, 2), ((), ((0, 1),)), (0, 2, 4), 0.97, id="auto"),
    pytest.param(
        "auto",
        domain_of(2, 2, relation=Relation.REPLACE_ONE),
        (((0, 0),), ((0, 1),)),
        (0, 2, 4),
        0.8,
        id="auto, a record replaced",
    ),
    pytest.param(
        "auto",
        domain_of(2, 2, max_records=2),
        ((), ((0, 1), (0, 1))),
        (0, 2, 4),
        0.97,
        id="auto, people of two records",
    ),
    pytest.param(
        "auto",
        domain_of(2, 2, 2),
        ((), ((0, 1, 1),)),
        (6,),
        0.87,
        id="auto, with a tree that is selected",
    ),
    pytest.param(
        "auto",
        Domain(attributes=(WEAK, KNOWN)),
        ((), ((0, 1),)),
        (0, 3, 5),
        0.88,
        id="auto, after a value that was looked for with Laplace noise",
    ),
    pytest.param(
        "auto",
        Domain(attributes=(RANGE, KNOWN)),
        ((), ((0, 1),)),
        (0, 3, 5),
        0.95,
        id="auto, after bins were learned",
    ),
    pytest.param("adaptive", LINE, ((), ((0,),)), (0, 1, 2), 0.97, id="adaptive"),
    pytest.param(
        # Of two cells that may be divided, the record lies in one.
        "direct-synthesis",
        LINE,
        ((), ((0,),)),
        (0, 1, 2),
        0.48,
        id="direct-synthesis",
    ),
    pytest.param("generalize", domain_of(2, 2), ((), ((0, 1),)), (0, 2), 0.85, id="generalize"),
    pytest.param("dpsyn", domain_of(2, 2), ((), ((0, 1),)), (0, 2), 0.97, id="dpsyn"),
]
TRIPLES = [
    pytest.param(
        "auto",
        domain_of(2, 2, 2),
        ((), ((0, 1, 1),)),
        (6,),
        0.93,
        id="auto, with a triple",
    ),
    pytest.param(
        "auto",
        domain_of(2, 2, 2, 2),
        ((), ((0, 1, 1, 0),)),
        (),
        0.9,
        id="auto, choosing among triples",
    ),
]
"""Of `auto` where noise does not hide the scores of all pairs, so that it looks for triples."""


def require_kept_and_used(
    mechanism: str,
    domain: Domain,
    pair: tuple[Table, Table],
    forks: tuple[int, ...],
    least: float,
) -> None:
    parameters = {"depth": 2} if domain is LINE else {}
    plan = plan_of(mechanism, domain, **parameters)
    cap = plan.loss
    assert isinstance(cap, GaussianDP)
    for one in (pair, pair[::-1]):
        found = compared(plan, one, Told(forks))
        assert found.number > len(forks)
        losses = found.losses()
        for epsilon in EPSILONS:
            curve = coarse.delta_of_gaussian(math.sqrt(cap.mu_squared), epsilon)
            assert losses.delta(epsilon) <= curve + ROUNDING
        assert losses.delta(float(EPSILON)) <= DELTA
        assert all(found.renyi(order) <= order * cap.mu_squared / 2 for order in ORDERS)
        lowest = found.losses(least=True)
        assert max(lowest.mu(epsilon) ** 2 for epsilon in (0.5, 1.0, 2.0)) >= (
            least * cap.mu_squared
        ), "a claim this loose would hide a defect"


NAMES = ("mechanism", "domain", "pair", "forks", "least")


@pytest.mark.parametrize(NAMES, CASES)
def test_all_answers_together_keep_to_the_cap_on_mu_and_use_most_of_it(
    mechanism: str,
    domain: Domain,
    pair: tuple[Table, Table],
    forks: tuple[int, ...],
    least: float,
) -> None:
    require_kept_and_used(mechanism, domain, pair, forks, least)


@pytest.mark.parametrize(NAMES, TRIPLES)
def test_answers_about_triples_keep_to_the_cap_on_mu_and_use_most_of_it(
    mechanism: str,
    domain: Domain,
    pair: tuple[Table, Table],
    forks: tuple[int, ...],
    least: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_selection, "MAX_SCORE_NOISE", math.inf)
    require_kept_and_used(mechanism, domain, pair, forks, least)


@pytest.mark.parametrize(
    ("mechanism", "domain", "pair", "forks", "least"),
    [
        # A choice costs more by its formula than the best pair of tables can show.
        ("mst", domain_of(2, 2, 2), ((), ((0, 1, 1),)), (0, 2, 4), 0.89),
        ("aim", domain_of(2, 2), ((), ((0, 1),)), (0, 2, 4), 0.95),
        ("privsyn", domain_of(2, 2), ((), ((0, 1),)), (0, 2, 4), 0.99),
    ],
)
def test_all_answers_together_keep_to_the_cap_on_rho_and_use_most_of_it(
    mechanism: str,
    domain: Domain,
    pair: tuple[Table, Table],
    forks: tuple[int, ...],
    least: float,
) -> None:
    """With discrete Gaussian noise, which has no mu."""
    plan = plan_of(mechanism, domain)
    cap = plan.loss
    assert isinstance(cap, ZeroConcentrated)
    for one in (pair, pair[::-1]):
        found = compared(plan, one, Told(forks))
        assert found.number > len(forks)
        divergences = [found.renyi(order) / order for order in ORDERS]
        assert max(divergences) <= cap.rho * Fraction(1 + 10**9, 10**9)
        assert max(divergences) >= least * cap.rho, "a claim this loose would hide a defect"
        assert found.losses().delta(float(EPSILON)) <= DELTA


# ---- mistakes
# ---------------------------------------------------------------------------------------------------


class HalvedScale(Coarse):
    def number(self, value: int, noise: Noise) -> int:
        return super().number(value, replace(noise, scale=noise.scale / 2))


class ScoresAtHalf(Coarse):
    """Of one number, as scores are in these runs."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        scale = noise.scale / 2 if vector.size == 1 else noise.scale
        return super().counts(vector, replace(noise, scale=scale))


class ExactScores(Coarse):
    def counts(self, vector: Counts, noise: Noise) -> Counts:
        scale = Fraction(1, 64) if vector.size == 1 else noise.scale
        return super().counts(vector, replace(noise, scale=scale))


class ReusedNoise(Coarse):
    """The second number of a table has the noise of the first one: their difference leaves the room
    exactly."""

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        given = super().counts(vector, noise)
        for before, value in zip(vector.tolist(), vector.tolist()[1:], strict=False):
            self.number(value - before, replace(noise, scale=Fraction(1, 64)))
        return given


def keeps_to(found: Compared, cap: GaussianDP) -> bool:
    losses = found.losses()
    return all(
        losses.delta(epsilon)
        <= coarse.delta_of_gaussian(math.sqrt(cap.mu_squared), epsilon) + ROUNDING
        for epsilon in EPSILONS
    )


@pytest.mark.parametrize("sampler", [HalvedScale, ScoresAtHalf, ExactScores, ReusedNoise])
def test_too_little_noise_is_noticed(sampler: type[Coarse]) -> None:
    plan = plan_of("auto", domain_of(2, 2))
    assert isinstance(plan.loss, GaussianDP)
    pair: tuple[Table, Table] = ((), ((0, 1),))
    assert not keeps_to(compared(plan, pair, Told((0, 2, 4)), sampler=sampler), plan.loss)


@pytest.mark.parametrize(
    ("domain", "pair", "times"),
    [
        (domain_of(2, 2, max_records=2), ((), ((0, 1), (0, 1))), 3.5),
        (domain_of(2, 2, relation=Relation.REPLACE_ONE), (((0, 0),), ((0, 1),)), 1.5),
    ],
    ids=["records of a person", "replacing"],
)
def test_the_plan_of_another_unit_or_relation_is_noticed(
    domain: Domain, pair: tuple[Table, Table], times: float
) -> None:
    careless = plan_of("auto", domain_of(2, 2))
    assert isinstance(careless.loss, GaussianDP)
    wide = GaussianDP(mu_squared=100 * careless.loss.mu_squared)

    def run(sampler: Coarse, rows: Rows) -> Hashable:
        careless.run(open_session(rows, domain=domain, cap=wide, sampler=sampler))
        return None

    one, other = (exact.rows_of(table, domain) for table in pair)
    found = Compared(run, (one, other), Told((0, 2, 4)))
    assert not keeps_to(found, careless.loss)
    assert found.losses(least=True).mu(2.0) ** 2 > times * careless.loss.mu_squared


def test_a_choice_with_half_of_its_scale_is_noticed() -> None:
    class SharpChoices(Coarse):
        def choose(self, scores: Counts, *, scale: Fraction, law):  # type: ignore[no-untyped-def]
            return super().choose(scores, scale=scale / 4, law=law)

    plan = plan_of("mst", domain_of(2, 2, 2))
    assert isinstance(plan.loss, ZeroConcentrated)
    pair: tuple[Table, Table] = ((), ((0, 1, 1),))
    found = compared(plan, pair, Told((0, 2, 4)), sampler=SharpChoices)
    assert max(found.renyi(order) / order for order in ORDERS) > 1.1 * plan.loss.rho


def test_a_question_that_follows_from_the_rows_is_noticed() -> None:
    domain = domain_of(2)
    noises = [Noise(law="rounded-gaussian", scale=Fraction(scale)) for scale in (3, 4)]
    cap = GaussianDP(mu_squared=Fraction(10))

    def run(sampler: Coarse, rows: Rows) -> Hashable:
        session = open_session(rows, domain=domain, cap=cap, sampler=sampler)
        session.measure(("a",), noise=noises[min(1, rows.total)])
        return None

    one, other = (exact.rows_of(table, domain) for table in ((), ((0,),)))
    assert Compared(run, (one, other), Told(())).losses().certain == pytest.approx(1)


# ---- that losses are added up rightly
# ---------------------------------------------------------------------------

LAWS = ("rounded-gaussian", "discrete-gaussian", "discrete-laplace")


def by_hand(pair: tuple[Table, Table], noise: Noise, epsilon: float) -> float:
    """Of one table of two counts: the sum over all pairs of numbers."""
    size = 70
    laws = []
    for table in pair:
        counts = [sum(record == (code,) for record in table) for code in (0, 1)]
        each = []
        for count in counts:
            away = np.arange(-size, size + 1) - count
            if noise.law == "discrete-laplace":
                masses = np.exp(-np.abs(away) / float(noise.scale))
            elif noise.law == "discrete-gaussian":
                masses = np.exp(-(away**2) / (2 * float(noise.scale) ** 2))
            else:
                edge = [math.erf((d + 0.5) / float(noise.scale) / math.sqrt(2)) for d in away]
                masses = np.diff(edge, prepend=-1.0)
            each.append(masses / masses.sum())
        laws.append(np.multiply.outer(*each))
    return float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("forks", [(), (0,), (0, 1)])
def test_losses_are_those_of_a_sum_over_all_numbers(law: str, forks: tuple[int, ...]) -> None:
    """Whatever is told, where nothing follows from it."""
    domain = domain_of(2, relation=Relation.REPLACE_ONE)
    noise = Noise(law=law, scale=Fraction(2))  # type: ignore[arg-type]
    cap: Budget = {
        "rounded-gaussian": GaussianDP(mu_squared=Fraction(9)),
        "discrete-gaussian": ZeroConcentrated(rho=Fraction(9)),
        "discrete-laplace": Pure(epsilon=Fraction(9)),
    }[law]

    def run(sampler: Coarse, rows: Rows) -> Hashable:
        open_session(rows, domain=domain, cap=cap, sampler=sampler).measure(("a",), noise=noise)
        return None

    pair: tuple[Table, Table] = (((0,), (0,)), ((0,), (1,)))
    one, other = (exact.rows_of(table, domain) for table in pair)

    def telling(number: int, _: Noise) -> Ranges:
        return Ranges((1, 9), (1,)) if number in forks else Ranges((3,))

    found = Compared(run, (one, other), telling)
    assert found.number == 2 ** len(forks)
    for epsilon in (0.0, 0.3, 0.9, 1.4):
        truth = by_hand(pair, noise, epsilon)
        assert found.losses(least=True).delta(epsilon) <= truth + ROUNDING
        assert truth <= found.losses().delta(epsilon) + ROUNDING
        assert found.losses().delta(epsilon) <= truth + 2 * coarse.STEP
    if law == "discrete-gaussian":
        assert found.renyi(2.0) == pytest.approx(2.0 * 2 / (2 * 4), rel=1e-9)
    if law == "discrete-laplace":
        assert found.largest() == pytest.approx(1.0)
