"""Composition of privacy-loss distributions: the verifier's bound against closed forms, exact enumeration and
somebody else's accountant; the noise that is set by it; and planted mistakes, which have to show."""

from __future__ import annotations

import functools
import itertools
import math
import sys
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args, get_type_hints

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution as library
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms, pipeline, verifier
from synth_engine.domain import Domain, Integer
from synth_engine.errors import PrivacyError, UnsupportedEvent, VerificationError
from synth_engine.measurement import Query
from synth_engine.privacy import certificate, conversion, pld, static_calibration
from synth_engine.privacy.events import DiscreteGaussian, DiscreteLaplace
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.spec import Spec
from synth_engine.verifier import bounds as verifier_bounds
from synth_engine.verifier import calls as verifier_calls
from synth_engine.verifier import discrete_gaussian as verifier_discrete_gaussian
from synth_engine.verifier import losses as verifier_losses
from synth_engine.verifier.losses import GaussianLoss, PureLoss, composed_epsilon
from tests.privacy.planted import plant

SELECTIONS = {"select", "refine", "divide"}
"""The verbs that answer with a choice."""
DELTA = Fraction(1, 10**9)
ADULT = (74, 8, 16, 16, 7, 15, 6, 5, 2, 27, 23, 96, 42, 2)
"""Codes of the columns of a table of common size."""
Calls = dict[PureLoss | GaussianLoss, int]
Bound = Callable[..., Fraction]


def domain_of(
    *sizes: int,
    relation: Relation = Relation.ADD_REMOVE,
    max_records: int = 1,
    column: str | None = None,
) -> Domain:
    attributes = tuple(
        Integer(name=f"c{i}", low=0, high=size - 1) for i, size in enumerate(sizes)
    )
    return Domain(
        attributes=attributes,
        relation=relation,
        unit=PrivacyUnit(max_records=max_records, column=column),
    )


def plan_of(
    domain: Domain, *, epsilon: str = "1", delta: Fraction = DELTA, noise: str = "gaussian"
) -> mechanisms.Plan:
    spec = Spec(
        mechanism="independent",
        epsilon=Fraction(epsilon),
        delta=delta,
        parameters={"noise": noise},
    )
    return mechanisms.plan(domain, spec)


def receipt_of(plan: mechanisms.Plan) -> dict[str, Any]:
    return plan.receipt()


# --- what is known exactly ----------------------------------------------------------------------------------


def atoms(call: PureLoss | GaussianLoss) -> list[tuple[Any, Any]]:
    """Losses and probabilities to 50 digits."""
    if isinstance(call, PureLoss):
        epsilon = mpmath.mpf(call.epsilon.numerator) / call.epsilon.denominator
        high = 1 / (1 + mpmath.exp(-epsilon))
        return [(epsilon, high), (-epsilon, 1 - high)]
    variance = mpmath.mpf(call.sigma_squared.numerator) / call.sigma_squared.denominator
    reach = int(mpmath.ceil(14 * mpmath.sqrt(variance))) + 2
    weights = {
        x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * variance)) for x in range(-reach, reach + 1)
    }
    total = mpmath.fsum(weights.values())
    return [((1 - 2 * x) / (2 * variance), weight / total) for x, weight in weights.items()]


@functools.cache
def outcomes(calls: tuple[tuple[PureLoss | GaussianLoss, int], ...]) -> list[tuple[Any, Any]]:
    """Every total loss of a tiny list, largest first, with its probability."""
    with mpmath.workdps(40):
        found: dict[Any, Any] = {mpmath.mpf(0): mpmath.mpf(1)}
        for call, number in calls:
            for _ in range(number):
                summed: dict[Any, Any] = {}
                for (loss, mass), (more, part) in itertools.product(found.items(), atoms(call)):
                    summed[loss + more] = summed.get(loss + more, 0) + mass * part
                found = summed
        return sorted(found.items(), reverse=True)


def exact_delta(calls: Calls, epsilon: Fraction) -> Any:
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        above = itertools.takewhile(
            lambda outcome: outcome[0] > e, outcomes(tuple(calls.items()))
        )
        return mpmath.fsum(mass * (1 - mpmath.exp(e - loss)) for loss, mass in above)


def exceeds(found: Any, delta: Fraction) -> bool:
    """By more than the 40 digits to which it was found."""
    return bool(
        found > mpmath.mpf(delta.numerator) / delta.denominator * (1 + mpmath.mpf(10) ** -14)
    )


TINY: list[tuple[Calls, Fraction]] = [
    ({PureLoss(Fraction(1)): 1}, Fraction(1, 20)),
    ({PureLoss(Fraction(1, 3)): 6}, Fraction(1, 1000)),
    ({PureLoss(Fraction(1, n)): 1 for n in range(3, 10)}, Fraction(1, 10**4)),
    ({PureLoss(Fraction(7)): 3}, Fraction(1, 10**6)),
    ({GaussianLoss(Fraction(25)): 1}, Fraction(1, 10**5)),
    ({GaussianLoss(Fraction(1, 4)): 1}, Fraction(1, 10**5)),
    ({GaussianLoss(Fraction(4)): 1, GaussianLoss(Fraction(9)): 1}, DELTA),
    ({GaussianLoss(Fraction(1)): 2, PureLoss(Fraction(1, 5)): 2}, Fraction(1, 10**6)),
    ({GaussianLoss(Fraction(50**2)): 1}, Fraction(1, 10**12)),
]


def near(calls: Calls, delta: Fraction) -> Fraction:
    """A first guess, as a claim would be."""
    pure = sum(
        (call.epsilon * n for call, n in calls.items() if isinstance(call, PureLoss)),
        Fraction(0),
    )
    rho = sum(
        (
            n / (2 * call.sigma_squared)
            for call, n in calls.items()
            if isinstance(call, GaussianLoss)
        ),
        Fraction(0),
    )
    return pure + (conversion.epsilon_for(rho, delta) if rho else 0)


def mistakes(bound: Bound) -> list[Calls]:
    """The lists for which a bound is below the truth."""
    found = []
    for calls, delta in TINY:
        try:
            epsilon = bound(calls, delta, near=near(calls, delta))
        except (VerificationError, ZeroDivisionError, ValueError):
            continue
        if exceeds(exact_delta(calls, epsilon), delta):
            found.append(calls)
    return found


@pytest.mark.slow
def test_the_bound_is_never_below_the_exact_loss_and_close_to_it() -> None:
    assert mistakes(composed_epsilon) == []
    for calls, delta in TINY:
        guess = composed_epsilon(calls, delta, near=near(calls, delta))
        epsilon = composed_epsilon(
            calls, delta, near=guess * Fraction(9999, 10**4)
        )  # asks for the finest grid
        lower = epsilon * Fraction(9995, 10**4)
        assert exceeds(exact_delta(calls, lower), delta), "close to the truth"


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(
        st.fractions(min_value=Fraction(1, 1000), max_value=5, max_denominator=1000),
        min_size=1,
        max_size=6,
    ),
    st.integers(2, 9).map(lambda power: Fraction(1, 10**power)),
    st.fractions(min_value=Fraction(1, 10), max_value=3, max_denominator=100),
)
def test_the_bound_holds_whatever_was_expected(
    losses: list[Fraction], delta: Fraction, part: Fraction
) -> None:
    calls: Calls = dict(Counter(PureLoss(loss) for loss in losses))
    try:
        epsilon = composed_epsilon(calls, delta, near=sum(losses, Fraction(0)) * part)
    except VerificationError:
        return
    assert not exceeds(exact_delta(calls, epsilon), delta)


def test_one_discrete_laplace_has_its_closed_form() -> None:
    """delta = (1 - exp(epsilon - e)) / (1 + exp(-e))."""
    for loss, delta in (
        (Fraction(2), Fraction(1, 10)),
        (Fraction(1), Fraction(1, 100)),
        (Fraction(1, 10), DELTA),
    ):
        epsilon = float(
            composed_epsilon({PureLoss(loss): 1}, delta, near=loss * Fraction(999, 1000))
        )
        closed = float(loss) + math.log1p(-float(delta) * (1 + math.exp(-float(loss))))
        assert closed <= epsilon <= closed * 1.001


def test_fifty_discrete_laplaces_cost_more_than_fifty_continuous_ones() -> None:
    """3.953 by the binomial formula; whoever takes them for continuous arrives at 3.879."""
    events = [("measure", DiscreteLaplace(scale=Fraction(10), l1=1))] * 50
    unit, relation = PrivacyUnit(), Relation.ADD_REMOVE
    theirs = certificate.composed_epsilon(
        events, delta=DELTA, unit=unit, relation=relation, near=Fraction(4)
    )
    ours = composed_epsilon({PureLoss(Fraction(1, 10)): 50}, DELTA, near=Fraction(4))
    continuous = library.from_laplace_mechanism(
        10.0, value_discretization_interval=1e-4
    ).self_compose(50)
    assert continuous.get_epsilon_for_delta(1e-9) == pytest.approx(3.879, abs=1e-3)
    assert theirs == pytest.approx(3.95311, abs=5e-4)
    with mpmath.workdps(40):  # the exact loss is the difference of a binomial, times a tenth
        p = 1 / (1 + mpmath.exp(mpmath.mpf(-1) / 10))
        mass = [mpmath.binomial(50, k) * p**k * (1 - p) ** (50 - k) for k in range(51)]

        def excess(epsilon: Any) -> Any:
            gains = (
                m * (1 - mpmath.exp(epsilon - mpmath.mpf(2 * k - 50) / 10))
                for k, m in enumerate(mass)
            )
            return mpmath.fsum(gain for gain in gains if gain > 0) - mpmath.mpf(10) ** -9

        exact = mpmath.findroot(excess, (3.9, 4.0), solver="anderson", tol=1e-30)
    assert float(exact) == pytest.approx(3.95311, abs=1e-5)
    assert float(exact) <= float(ours) <= float(exact) * (1 + 1e-6)


def test_the_logarithm_of_one_and_exponentials_are_enclosed() -> None:
    for value in (
        Fraction(0),
        Fraction(1, 10**12),
        Fraction(1),
        Fraction(700, 3),
        Fraction(12345),
    ):
        low, high = verifier_bounds.exp_bounds(value, 200)
        with mpmath.workdps(120):
            truth = mpmath.exp(-mpmath.mpf(value.numerator) / value.denominator) * 2**200
            assert low <= truth <= high
        assert high - low <= 2


COMPARED: dict[str, tuple[Calls, Fraction]] = {
    "a hundred Gaussians": ({GaussianLoss(Fraction(900)): 100}, DELTA),
    "fourteen different Gaussians": (
        {GaussianLoss(Fraction(20 + j) ** 2): 1 for j in range(14)},
        DELTA,
    ),
    "forty different Laplaces": ({PureLoss(Fraction(1, 36 + j)): 1 for j in range(40)}, DELTA),
    "both": (
        {PureLoss(Fraction(1, 40)): 20, GaussianLoss(Fraction(2500)): 10},
        Fraction(1, 10**6),
    ),
    "large losses": (
        {GaussianLoss(Fraction(10 + j, 10) ** 2): 1 for j in range(14)},
        Fraction(1, 10**6),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARED)
def test_three_accountants_agree(name: str) -> None:
    calls, delta = COMPARED[name]
    ours = float(composed_epsilon(calls, delta, near=near(calls, delta) * Fraction(9, 10)))
    total = library.identity(value_discretization_interval=ours / 20_000)
    searched: Counter[pld.PLD] = Counter()
    for call, times in calls.items():
        options: dict[str, Any] = {
            "value_discretization_interval": ours / 20_000,
            "use_connect_dots": True,
        }
        if isinstance(call, PureLoss):
            one = library.from_discrete_laplace_mechanism(float(call.epsilon), **options)
            searched[pld.RandomizedResponsePLD(float(call.epsilon))] += times
        else:
            one = library.from_discrete_gaussian_mechanism(
                math.sqrt(call.sigma_squared), sensitivity=1, **options
            )
            searched[pld.DiscreteGaussianPLD(math.sqrt(call.sigma_squared))] += times
        total = total.compose(one.self_compose(times) if times > 1 else one)
    assert ours == pytest.approx(total.get_epsilon_for_delta(float(delta)), rel=1e-3)
    assert pld.log_delta(searched, ours) == pytest.approx(math.log(delta), abs=0.01)


MUTANTS = {
    "mass rounded to the lower point": (
        "masses[index + 1] = masses.get(index + 1, 0) + upper",
        "masses[index] += upper",
    ),
    "Gaussian mass rounded to the lower point": (
        "moved = min(mass, -(-upper >> cut))",
        "moved = 0",
    ),
    "no shift between neighbours": ("self._sum(first - 1, last - 1)", "self._sum(first, last)"),
    "losses half as large": (
        "(1 / (2 * sigma_squared * grid.step))",
        "(1 / (4 * sigma_squared * grid.step))",
    ),
    "half of the Gaussian missing": ("x = -noise.radius\n    while", "x = 0\n    while"),
    "every call only once": (
        "_self_convolve(_call_losses(call, grid), number, grid)",
        "_call_losses(call, grid)",
    ),
    "a call forgotten": ("while len(waiting) > 1:", "while len(waiting) > 2:"),
    "mass at the high end dropped": (
        "while high > low + 1 and lost + masses[high - 1] <= limit:",
        "while high > low + (len(masses) - low) // 2 + 1:",
    ),
    "mass at the low end dropped, then scaled": (
        "remaining[0] += moved",
        "remaining = [mass // 2 for mass in remaining]",
    ),
    "epsilon at the point below": (
        "point - grid.step + log_bounds(at)[1]",
        "point - 40 * grid.step",
    ),
    "the two probabilities exchanged": (
        "((epsilon, unit), (-epsilon, high))",
        "((-epsilon, unit), (epsilon, high))",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_mistake_in_the_verifier_shows(name: str) -> None:
    before, after = MUTANTS[name]
    source = (
        Path(verifier_discrete_gaussian.__file__).read_text()
        + Path(verifier_losses.__file__).read_text()
    )
    source = "from __future__ import annotations\n" + source.replace(
        "from __future__ import annotations\n", ""
    )
    source = source.replace(
        "from synth_engine.verifier.discrete_gaussian import GaussianMasses\n", ""
    )
    assert source.count(before) == 1, "the mutant fits the source"
    mutant = types.ModuleType("mutant_of_verifier_losses")
    sys.modules[mutant.__name__] = mutant
    try:
        spoilt = source.replace(before, after)
        if name == "mass at the high end dropped":
            spoilt = spoilt.replace(
                "infinite=losses.infinite + lost", "infinite=losses.infinite"
            )
        exec(compile(spoilt, "mutant", "exec"), mutant.__dict__)
        calls_of = {PureLoss: mutant.PureLoss, GaussianLoss: mutant.GaussianLoss}

        def bound(calls: Calls, delta: Fraction, *, near: Fraction) -> Fraction:
            own = {calls_of[type(c)](*vars(c).values()): n for c, n in calls.items()}
            return mutant.composed_epsilon(own, delta, near=near)  # type: ignore[no-any-return]

        assert mistakes(bound)
    finally:
        del sys.modules[mutant.__name__]


# --- which pair is the worst --------------------------------------------------------------------------------


def test_replacing_a_record_is_two_single_counts_that_move() -> None:
    """From the definition: a table of three cells, two of which move, every outcome of the noise
    enumerated."""
    variance, reach = 4.0, 22
    mass = [math.exp(-(x**2) / (2 * variance)) for x in range(-reach - 1, reach + 2)]
    total = sum(mass)
    p = {x: mass[x + reach + 1] / total for x in range(-reach - 1, reach + 2)}
    for epsilon in (0.5, 1.0, 2.5):
        inside = range(-reach, reach + 1)
        both = (
            (p[x] * p[y], p[x - 1] * p[y + 1]) for x in inside for y in inside
        )  # the third cell says nothing
        exact = sum(max(0.0, one - math.exp(epsilon) * other) for one, other in both)
        event = DiscreteGaussian(sigma_squared=Fraction(4), l2_squared=2)
        found = pld.losses(
            [("measure", event)], cells=pld.cells_that_move(PrivacyUnit(), Relation.REPLACE_ONE)
        )
        assert exact <= math.exp(pld.log_delta(found, epsilon)) <= exact * 1.02
        proved = composed_epsilon(
            {GaussianLoss(Fraction(4)): 2},
            Fraction(exact),
            near=Fraction(epsilon) * Fraction(999, 1000),
        )
        assert epsilon <= proved <= Fraction(epsilon) * Fraction(1002, 1000)
        assert found == Counter({pld.DiscreteGaussianPLD(2.0): 2})


def test_several_records_a_unit_have_no_gaussian_certificate() -> None:
    assert pld.cells_that_move(PrivacyUnit(max_records=2), Relation.ADD_REMOVE) is None
    with pytest.raises(UnsupportedEvent):
        pld.losses(
            [("measure", DiscreteGaussian(sigma_squared=Fraction(9), l2_squared=4))], cells=None
        )
    domain = domain_of(3, 4, max_records=2)
    assert plan_of(domain).certificate == "zcdp"
    assert verifier.verify(receipt_of(plan_of(domain))).certificate == "zcdp"
    forged = replace(plan_of(domain), found_by="pld")
    with pytest.raises(VerificationError, match="units of one record only"):
        verifier.verify(receipt_of(forged))


def test_laplace_noise_for_several_records_a_unit_is_composed_as_randomised_response() -> None:
    plan = plan_of(domain_of(*[5] * 60, max_records=3), noise="laplace")
    assert plan.certificate == "pld"
    assert (
        pld.losses([(call.query.verb, call.event) for call in plan.calls], cells=None).total()
        == 60
    )
    assert verifier.verify(receipt_of(plan)).epsilon <= 1


# --- the noise that is set ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("epsilon", ["1/100", "1", "20"])
def test_gaussian_noise_shrinks_and_its_certificate_is_proved_twice(
    relation: Relation, epsilon: str
) -> None:
    plan = plan_of(domain_of(*ADULT, relation=relation), epsilon=epsilon)
    assert plan.certificate == "pld"
    assert plan.rho > conversion.rho_for(Fraction(epsilon), DELTA) * Fraction(105, 100)
    found = verifier.verify(receipt_of(plan))
    assert Fraction(epsilon) * Fraction(998, 1000) <= found.epsilon <= Fraction(epsilon)
    pipeline.confirm(plan)


@pytest.mark.slow
def test_a_little_less_noise_than_was_set_is_refused_by_both() -> None:
    plan = plan_of(domain_of(*ADULT))
    calls = tuple(
        replace(
            call,
            event=replace(
                call.event,
                sigma_squared=(Fraction(float(math.sqrt(call.event.sigma_squared)) * 0.998))
                ** 2,
            ),
        )  # type: ignore[union-attr, arg-type]
        for call in plan.calls
    )
    forged = replace(plan, calls=calls)
    with pytest.raises(VerificationError, match="below what the calls add up to"):
        verifier.verify(receipt_of(forged))
    with pytest.raises(PrivacyError, match="not certified"):
        certificate.confirm(
            [(call.query.verb, call.event) for call in forged.calls],
            epsilon=Fraction(1),
            delta=DELTA,
            unit=PrivacyUnit(),
            relation=Relation.ADD_REMOVE,
        )
    with pytest.raises(VerificationError):
        pipeline.confirm(forged)


def test_many_laplace_tables_need_less_noise_than_shares_of_epsilon() -> None:
    plan = plan_of(domain_of(*[10] * 80), noise="laplace")
    assert plan.certificate == "pld"
    assert plan.loss.epsilon > Fraction(14, 10)  # type: ignore[union-attr]
    assert plan.epsilon == 1
    assert verifier.verify(receipt_of(plan)).certificate == "pld"


def test_few_laplace_tables_keep_the_plain_sum() -> None:
    plan = plan_of(domain_of(3, 4), noise="laplace")
    assert plan.certificate == "basic"
    assert Fraction(999_999, 10**6) < plan.loss.epsilon <= 1  # type: ignore[union-attr]


def test_without_delta_or_with_one_too_small_no_distribution_is_composed() -> None:
    assert (
        plan_of(domain_of(*[10] * 80), delta=Fraction(0), noise="laplace").certificate
        == "basic"
    )
    assert (
        plan_of(domain_of(*ADULT), delta=static_calibration.MIN_DELTA / 10).certificate
        == "zcdp"
    )
    assert plan_of(domain_of(*ADULT), delta=static_calibration.MIN_DELTA).certificate == "pld"
    assert plan_of(domain_of(*ADULT), epsilon="1/1000").certificate == "zcdp", (
        "noise too wide to be summed up"
    )


def test_the_price_of_a_plan_is_its_target_or_the_sum_of_its_rho() -> None:
    plan = plan_of(domain_of(*ADULT))
    assert plan.cost("basic") == (10**9, 10**9, 0)
    assert plan.cost("zcdp") == (
        0,
        0,
        math.ceil(sum(event.rho() for event in plan.events) * 10**9),
    )


@pytest.mark.parametrize("radius", [2, 5, 20, 60])
@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(2), Fraction(100)])
def test_what_lies_beyond_the_radius_is_bounded_from_above_whatever_the_radius(
    sigma_squared: Fraction, radius: int
) -> None:
    """The radius is chosen so that next to nothing lies beyond; the bound does not rest on that choice."""
    bell = verifier_discrete_gaussian.GaussianMasses.of(sigma_squared, radius, 80)
    with mpmath.workdps(60):
        variance = mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        heights = [mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(1_000)]
        whole, beyond = 2 * sum(heights) - 1, sum(heights[radius + 1 :])
        unit = mpmath.mpf(2) ** -bell.width
        assert bell.tail * unit >= beyond / whole
        assert bell._low * unit <= whole <= bell._high * unit


# --- the mass of a Gaussian beyond its radius, where much lies there ----------------------------------------

SHORT_RADIUS = 2
VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(4)]


def tail_is_counted(sigma_squared: Fraction) -> bool:
    """Noise below minus the radius has the largest losses: all of it must have an infinite one, besides all
    of the mass inside. The radius is a choice of speed alone, so a short one shows it. (Noise above the
    radius has the smallest losses. The mass inside is already scaled up to one, which is worse by more than
    that.)"""
    grid = verifier_losses._Grid(step=Fraction(1, 64), bits=100, trim=0)
    found = verifier_losses._gaussian(sigma_squared, grid)
    with mpmath.workdps(60):
        variance = mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        heights = [mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(300)]
        beyond = sum(heights[SHORT_RADIUS + 1 :]) / (2 * sum(heights) - 1)
        unit = mpmath.mpf(2) ** -grid.bits
        infinite, all_of_it = found.infinite * unit, (sum(found.masses) + found.infinite) * unit
        return bool(infinite >= beyond and all_of_it >= 1)


@pytest.fixture
def short_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier_losses, "_radius", lambda sigma_squared, grid: SHORT_RADIUS)


@pytest.mark.usefixtures("short_radius")
@pytest.mark.parametrize("sigma_squared", VARIANCES)
def test_gaussian_mass_beyond_the_radius_has_an_infinite_loss(sigma_squared: Fraction) -> None:
    assert tail_is_counted(sigma_squared)


TAILS = {
    "no infinite loss": ("return _dense(masses, tail)", "return _dense(masses, 0)"),
    "half of it": ("return _dense(masses, tail)", "return _dense(masses, tail // 2)"),
    "not rounded up": ("tail = -(-noise.tail >> cut)", "tail = noise.tail >> cut + 1"),
}


@pytest.mark.usefixtures("short_radius")
@pytest.mark.parametrize("name", TAILS)
def test_a_verifier_that_forgets_the_tail_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, verifier_losses._gaussian, *TAILS[name])
    assert not all(tail_is_counted(sigma_squared) for sigma_squared in VARIANCES)


@pytest.mark.usefixtures("short_radius")
def test_a_claim_with_a_delta_below_the_tail_is_refused_and_one_above_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sigma 2: noise beyond 2 on one side has chance 0.106. No epsilon has a delta below that; for one above,
    the bound is not below the exact epsilon of the same noise."""
    calls: Calls = {GaussianLoss(Fraction(4)): 1}
    with pytest.raises(VerificationError):
        composed_epsilon(calls, Fraction(1, 10), near=Fraction(1, 2))
    found = composed_epsilon(calls, Fraction(15, 100), near=Fraction(1, 2))
    monkeypatch.undo()
    assert found >= composed_epsilon(calls, Fraction(15, 100), near=Fraction(1, 2))


# --- planted into the shipped verifier, in the ordinary run -------------------------------------------------


def one_laplace_is_bounded() -> bool:
    """A call of pure loss one third at delta 1e-6: the least epsilon is ln(e^(1/3) - 1e-6 (1 + e^(1/3))), and
    both the bound of one call and that of twenty lie above the exact value, by a thousandth at most."""
    delta = Fraction(1, 10**6)
    with mpmath.workdps(40):
        third = mpmath.mpf(1) / 3
        exact_of_one = mpmath.log(
            mpmath.exp(third)
            - mpmath.mpf(delta.numerator) / delta.denominator * (1 + mpmath.exp(third))
        )
        one = composed_epsilon({PureLoss(Fraction(1, 3)): 1}, delta, near=Fraction(1, 3))
        many = composed_epsilon({PureLoss(Fraction(1, 3)): 20}, delta, near=Fraction(5))
        exact_of_many = _least_epsilon_of_responses(
            20, third, mpmath.mpf(delta.numerator) / delta.denominator
        )
        return all(
            mpmath.mpf(0)
            <= mpmath.mpf(found.numerator) / found.denominator - truth
            <= mpmath.mpf(10) ** -3
            for found, truth in ((one, exact_of_one), (many, exact_of_many))
        )


def _least_epsilon_of_responses(number: int, epsilon: Any, delta: Any) -> Any:
    """Of so many randomised responses, by their binomial law and bisection."""
    chance = 1 / (1 + mpmath.exp(-epsilon))
    masses = [
        (
            (2 * k - number) * epsilon,
            mpmath.binomial(number, k) * chance**k * (1 - chance) ** (number - k),
        )
        for k in range(number + 1)
    ]
    low, high = mpmath.mpf(0), number * epsilon
    for _ in range(120):
        middle = (low + high) / 2
        at = sum(
            mass * (1 - mpmath.exp(middle - loss)) for loss, mass in masses if loss > middle
        )
        low, high = (middle, high) if at > delta else (low, middle)
    return low


def test_responses_are_bounded_by_their_exact_epsilon() -> None:
    assert one_laplace_is_bounded()


RESPONSES = {
    "the upper point forgotten": (
        verifier_losses._pure,
        "masses.get(index + 1, 0) + upper",
        "masses.get(index + 1, 0)",
    ),
    "the two probabilities exchanged": (
        verifier_losses._pure,
        "((epsilon, unit), (-epsilon, high))",
        "((-epsilon, unit), (epsilon, high))",
    ),
    "every call only once": (
        verifier_losses._on_grid,
        "_self_convolve(_call_losses(call, grid), number, grid)",
        "_call_losses(call, grid)",
    ),
    "epsilon at the point below": (
        verifier_losses._least_epsilon,
        "point - grid.step + log_bounds(at)[1]",
        "point - 40 * grid.step",
    ),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_a_mistake_in_the_composition_of_the_verifier_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, *RESPONSES[name])
    assert not one_laplace_is_bounded()


@pytest.mark.parametrize("relation", list(Relation))
def test_scores_that_all_move_at_once_are_not_taken_for_a_table(relation: Relation) -> None:
    """One record moves all of ten scores: (1)-DP under added records, not randomised response with a tenth of
    it."""
    moving = 1 if relation is Relation.ADD_REMOVE else 2
    event = DiscreteLaplace(scale=Fraction(10), l1=10 * moving)
    cells = pld.cells_that_move(PrivacyUnit(), relation)
    found = pld.losses([("score", event)], cells=cells)
    assert found == {pld.RandomizedResponsePLD(float(moving)): 1}
    with pytest.raises(PrivacyError, match="not certified"):
        certificate.confirm(
            [("score", event)],
            epsilon=Fraction(1, 2),
            delta=DELTA,
            unit=PrivacyUnit(),
            relation=relation,
        )
    gaussian = DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=10 * moving)
    for verb in ("score", "interaction", "grow", "items"):
        with pytest.raises(UnsupportedEvent):
            pld.losses([(verb, gaussian)], cells=cells)


def test_both_accountants_agree_on_which_verbs_answer_with_tables() -> None:
    """What the one takes for a table the other does not refuse."""
    verbs = set(get_args(get_type_hints(Query)["verb"]))
    assert verbs - set(verifier_calls._NOT_CELL_COUNTS) - SELECTIONS == pld.ONE_CELL_A_RECORD
