"""Statistical audit of each verb and each mechanism: real room, real noise, nothing known of the inside
(`audit.py`).

An honest mechanism fails its test only if two audits in a row, on fresh runs, disprove its claim: chance
1e-8. A planted defect passes unseen only if eight audits in a row miss it: about 1e-10 where it is hardest to
see, for there one audit in thirty misses (8 of 260 for Laplace noise that is too small by a tenth; fewer for
all others). `--nightly` runs the larger audits as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.measurement import Noise
from synth_engine.mechanisms import Plan
from synth_engine.mechanisms.pairwise import network_search
from synth_engine.privacy import conversion, noise_scale
from synth_engine.privacy.loss import GaussianDP, Loss, Pure, ZeroConcentrated
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.room.session import RoomSession
from synth_engine.spec import Spec
from tests.privacy.audit import (
    Change,
    Claim,
    Runs,
    adaptive_runs,
    as_claimed,
    epsilon_bound,
    flagged,
    smaller_by,
    static_runs,
)
from tests.privacy.exact import Table, domain_of
from tests.privacy.test_law_of_gaussian_noise import hockey_stick
from tests.privacy.test_law_of_select import candidate

ONE = Fraction(1)
ROOM_ENOUGH: Loss = Pure(epsilon=Fraction(100))
EMPTY: Table = ()
Pair = tuple[Table, Table]

RUNS = 100_000
RUNS_OF_SELECT = 6_000
RUNS_OF_NETWORK = 1_500
TEN_TIMES = 10


def holds(runs: Runs, pair: Pair, claim: Claim, *, size: int = RUNS) -> bool:
    """Not disproved twice in a row."""
    return not all(flagged(runs, pair, claim, size=size) for _ in range(2))


def is_caught(runs: Runs, pair: Pair, claim: Claim, *, size: int = RUNS) -> bool:
    return any(flagged(runs, pair, claim, size=size) for _ in range(8))


# ---- what is audited: runs with noise as claimed or smaller, the worst pair, and the claim
# ----------------------

Setup = Callable[[Change], tuple[Runs, Pair, Claim]]


def measure_with_laplace(change: Change) -> tuple[Runs, Pair, Claim]:
    """Replace-one: both cells of a column move."""
    domain = domain_of(2, relation=Relation.REPLACE_ONE)
    l1 = histogram_sensitivity(domain.unit, domain.relation).l1
    noise = Noise(law="discrete-laplace", scale=noise_scale.laplace_scale(ONE, l1))
    runs = static_runs(
        lambda s: s.measure(("a",), noise=noise), domain=domain, cap=ROOM_ENOUGH, change=change
    )
    return runs, (((0,),), ((1,),)), Claim(epsilon=1.0)


def measure_with_gaussian(change: Change) -> tuple[Runs, Pair, Claim]:
    """The number of records, with sigma 1. The claim is a point of the exact curve of that noise: at a delta
    as small as those in use no number of runs shows anything."""
    noise = Noise(law="discrete-gaussian", scale=ONE)
    cap = ZeroConcentrated(rho=ONE)
    runs = static_runs(
        lambda s: s.measure((), noise=noise), domain=domain_of(2), cap=cap, change=change
    )
    return runs, (EMPTY, ((0,),)), on_the_curve([(1, ONE)], epsilon=Fraction(1, 4))


def measure_with_rounded_gaussian(change: Change) -> tuple[Runs, Pair, Claim]:
    """Replace-one: both cells of a column move, under noise of sigma 1. The claim is what the exact curve of
    Gaussian noise says of mu² = 2 at an epsilon of a half; rounding may not add to it."""
    domain = domain_of(2, relation=Relation.REPLACE_ONE)
    noise = Noise(law="rounded-gaussian", scale=ONE)
    cap = GaussianDP(mu_squared=Fraction(2))
    runs = static_runs(
        lambda s: s.measure(("a",), noise=noise), domain=domain, cap=cap, change=change
    )
    mu, epsilon = math.sqrt(2), 0.5
    delta = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )
    return runs, (((0,),), ((1,),)), Claim(epsilon=epsilon, delta=float(delta))


def whole_random(change: Change) -> tuple[Runs, Pair, Claim]:
    plan = plan_of("random", domain_of(2))
    return (
        static_runs(plan.run, domain=plan.domain, cap=plan.loss, change=change),
        (EMPTY, ((0,),)),
        Claim(epsilon=1.0),
    )


def whole_independent(change: Change) -> tuple[Runs, Pair, Claim]:
    plan = plan_of("independent", domain_of(2, 2))
    runs = static_runs(plan.run, domain=plan.domain, cap=plan.loss, change=change)
    return runs, (EMPTY, ((0, 1),)), Claim(epsilon=1.0)


def whole_random_gaussian(change: Change) -> tuple[Runs, Pair, Claim]:
    plan = plan_of("random", domain_of(2), epsilon=Fraction(3), delta=Fraction(1, 100))
    runs = static_runs(plan.run, domain=plan.domain, cap=plan.loss, change=change)
    return (
        runs,
        (EMPTY, ((0,),)),
        on_the_curve([(1, sigma_of(plan, cells=1))], epsilon=Fraction(1, 4)),
    )


def whole_independent_gaussian(change: Change) -> tuple[Runs, Pair, Claim]:
    plan = plan_of("independent", domain_of(2, 2), epsilon=Fraction(3), delta=Fraction(1, 100))
    runs = static_runs(plan.run, domain=plan.domain, cap=plan.loss, change=change)
    return (
        runs,
        (EMPTY, ((0, 1),)),
        on_the_curve([(1, sigma_of(plan, cells=2))] * 2, epsilon=Fraction(1, 4)),
    )


def plan_of(
    mechanism: str, domain: Domain, *, epsilon: Fraction = ONE, delta: Fraction = Fraction(0)
) -> Plan:
    parameters = {"structure_share": 0.02} if mechanism == "bayesian-network" else {}
    return mechanisms.plan(
        domain, Spec(mechanism=mechanism, epsilon=epsilon, delta=delta, parameters=parameters)
    )


def sigma_of(plan: Plan, *, cells: int) -> Fraction:
    """What the target alone says about the noise of each cell that moves, not what the plan set."""
    rho = conversion.rho_for(plan.spec.epsilon, plan.spec.delta)
    return Fraction(math.sqrt(cells / (2 * rho)))


def on_the_curve(cells: list[tuple[int, Fraction]], *, epsilon: Fraction) -> Claim:
    return Claim(epsilon=float(epsilon), delta=float(hockey_stick(cells, epsilon=epsilon).b))


EVERY_DAY = [
    measure_with_laplace,
    measure_with_gaussian,
    measure_with_rounded_gaussian,
    whole_random,
    whole_independent,
]
AT_NIGHT = [*EVERY_DAY, whole_random_gaussian, whole_independent_gaussian]


@pytest.mark.slow
@pytest.mark.parametrize("setup", EVERY_DAY, ids=lambda setup: setup.__name__)
def test_what_is_honest_is_not_flagged(setup: Setup) -> None:
    assert holds(*setup(as_claimed))


@pytest.mark.slow
@pytest.mark.parametrize("setup", EVERY_DAY, ids=lambda setup: setup.__name__)
def test_noise_that_is_too_small_by_a_tenth_is_caught(setup: Setup) -> None:
    assert is_caught(*setup(smaller_by("1.1")))


@pytest.mark.nightly
@pytest.mark.parametrize("setup", AT_NIGHT, ids=lambda setup: setup.__name__)
def test_ten_times_as_many_runs_flag_nothing_honest(setup: Setup) -> None:
    assert holds(*setup(as_claimed), size=TEN_TIMES * RUNS)


@pytest.mark.nightly
@pytest.mark.parametrize("setup", AT_NIGHT, ids=lambda setup: setup.__name__)
def test_ten_times_as_many_runs_catch_noise_that_is_too_small_by_a_twentieth(
    setup: Setup,
) -> None:
    assert is_caught(*setup(smaller_by("1.05")), size=TEN_TIMES * RUNS)


# ---- choices: one call of the sampler a run, so fewer of them by day
# ---------------------------------------------

LAWS: list[Loss] = [Pure(epsilon=Fraction(100)), ZeroConcentrated(rho=Fraction(5000))]
BY_LAW = pytest.mark.parametrize("cap", LAWS, ids=["permute-and-flip", "gumbel"])


def select(cap: Loss, change: Change) -> tuple[Runs, Pair, Claim]:
    """A choice between two columns of which one gains and the other loses a point by one record more."""
    domain = domain_of(2, 2)
    scale = noise_scale.selection_scale(
        ONE, histogram_sensitivity(domain.unit, domain.relation).linf
    )
    candidates = [
        candidate(("a",), 0, 0),
        candidate(("b",), 2, 0),
    ]  # scores 0 and 2, with the record 1 and 1
    runs = adaptive_runs(
        lambda s: [s.select(candidates, scale=scale)], domain=domain, cap=cap, change=change
    )
    return runs, (EMPTY, ((0, 0),)), Claim(epsilon=1.0)


def select_of_bounded_range(change: Change) -> tuple[Runs, Pair, Claim]:
    """The exponential mechanism's loss has range epsilon, so that no event's chances differ by more than
    tanh(epsilon / 4) (Dong, Durfee and Rogers 2020); with scores one apart, either way round, just that."""
    domain = domain_of(2, 2)
    scale = noise_scale.selection_scale(
        ONE, histogram_sensitivity(domain.unit, domain.relation).linf
    )
    candidates = [
        candidate(("a",), 0, 0),
        candidate(("b",), 1, 0),
    ]  # scores 0 and 1, with the record 1 and 0
    runs = adaptive_runs(
        lambda s: [s.select(candidates, scale=scale)], domain=domain, cap=LAWS[1], change=change
    )
    return runs, (EMPTY, ((0, 0),)), Claim(epsilon=0.0, delta=math.tanh(1 / 4))


@pytest.mark.slow
@BY_LAW
def test_a_choice_is_not_flagged(cap: Loss) -> None:
    assert holds(*select(cap, as_claimed), size=RUNS_OF_SELECT)


@pytest.mark.slow
@BY_LAW
def test_a_choice_with_half_the_scale_is_caught(cap: Loss) -> None:
    """As when the factor 2 of scores that move both ways is forgotten."""
    assert is_caught(*select(cap, smaller_by("2")), size=RUNS_OF_SELECT)


@pytest.mark.nightly
def test_permute_and_flip_with_a_scale_too_small_by_a_tenth_is_caught() -> None:
    assert holds(*select(LAWS[0], as_claimed), size=RUNS)
    assert is_caught(*select(LAWS[0], smaller_by("1.1")), size=RUNS)


@pytest.mark.nightly
def test_gumbel_noise_with_a_scale_too_small_by_a_tenth_is_caught() -> None:
    assert holds(*select_of_bounded_range(as_claimed), size=2 * RUNS)
    assert is_caught(*select_of_bounded_range(smaller_by("1.1")), size=2 * RUNS)


# ---- the Bayesian network, whole: one run after the other
# --------------------------------------------------------


@pytest.fixture
def few_records_of_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many records the references are counted from is public and says nothing about rows."""
    monkeypatch.setattr(network_search, "POPULATION", 40)


def network(
    *, change: Change = as_claimed, delta: Fraction = Fraction(0)
) -> tuple[Runs, Pair, Claim]:
    plan = plan_of("bayesian-network", domain_of(2, 2), delta=delta)

    def program(session: RoomSession) -> list[int]:
        """Both columns, which choice, and the table of the choice, or zeros if there is none."""
        answers = plan.run(session)
        values = [int(value) for m in answers.measurements for value in m.values.ravel()]
        return [*answers.selections, *values, *[0] * (8 - len(values))]

    runs = adaptive_runs(program, domain=plan.domain, cap=plan.loss, change=change)
    return runs, (EMPTY, ((0, 1),)), Claim(epsilon=1.0, delta=float(delta))


@pytest.mark.slow
@pytest.mark.usefixtures("few_records_of_reference")
def test_a_whole_network_is_not_flagged() -> None:
    assert holds(*network(), size=RUNS_OF_NETWORK)


@pytest.mark.slow
@pytest.mark.usefixtures("few_records_of_reference")
def test_networks_with_a_fifth_of_the_noise_are_caught() -> None:
    """Fewer runs see less. Noise for frequencies of five records, added to counts, is what public code
    did."""
    assert is_caught(*network(change=smaller_by("5")), size=RUNS_OF_NETWORK)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("few_records_of_reference")
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)], ids=["laplace", "gaussian"])
def test_many_whole_networks_are_not_flagged(delta: Fraction) -> None:
    assert holds(*network(delta=delta), size=RUNS)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("few_records_of_reference")
def test_many_networks_with_two_thirds_of_the_noise_are_caught() -> None:
    assert is_caught(*network(change=smaller_by("1.5")), size=RUNS)


# ---- the audit itself
# --------------------------------------------------------------------------------------------


def test_tables_that_give_the_same_runs_show_no_loss() -> None:
    def same(table: Table, size: int) -> np.ndarray:
        return np.zeros((size, 1), dtype=np.int64)

    assert epsilon_bound(same, (EMPTY, ((0,),)), size=1_000) <= 0


def test_tables_that_never_give_the_same_run_show_as_much_as_so_few_runs_can() -> None:
    def apart(table: Table, size: int) -> np.ndarray:
        return np.full((size, 1), len(table), dtype=np.int64)

    runs = 2_000
    none = 1 - (5e-5) ** (1 / (runs // 2))  # the upper bound for an event that was never seen
    found = epsilon_bound(apart, (EMPTY, ((0,),)), size=runs)
    assert found == pytest.approx(math.log((1 - none) / none))
