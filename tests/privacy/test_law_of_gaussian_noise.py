"""Discrete Gaussian noise in `measure` and `independent`: Rényi divergences and hockey-stick delta, enclosed.

A run without selections is a fixed list of measurements, so its law is a product over cells. What the room
asks of the sampler is recorded on both tables of a pair; cells with equal counts cancel.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache, partial

import mpmath
import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.measurement import Counts, Noise
from synth_engine.mechanisms import Plan
from synth_engine.privacy.loss import ZeroConcentrated
from synth_engine.privacy.unit import Relation
from synth_engine.room.selection import SelectionLaw
from synth_engine.room.session import open_session
from tests import plans
from tests.privacy import exact
from tests.privacy.exact import Table, domain_of, iv, pairs_of, ratio_iv

EPSILON, DELTA = Fraction(2), Fraction(1, 1000)
Cell = tuple[int, Fraction]


class Recorder:
    """Notes the counts and the sigma of every cell, in order; answers zeros."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []

    def counts(self, vector: Counts, noise: Noise) -> Counts:
        assert noise.law == "discrete-gaussian"
        self.cells += [(int(count), noise.scale) for count in vector]
        return np.zeros_like(vector)

    def choose(self, scores: Counts, *, scale: Fraction, law: SelectionLaw) -> int:
        raise AssertionError("no selection here")


plan_of = partial(plans.plan_of, "independent", epsilon=EPSILON, delta=DELTA, noise="gaussian")


def shifts(plan: Plan, x: Table, y: Table) -> list[Cell]:
    """(difference of counts, sigma) of the cells on which two tables differ."""
    recorded = []
    for table in (x, y):
        recorder = Recorder()
        plan.run(
            open_session(
                exact.rows_of(table, plan.domain),
                domain=plan.domain,
                cap=plan.loss,
                sampler=recorder,
            )
        )
        recorded.append(recorder.cells)
    pairs = zip(*recorded, strict=True)
    return sorted((a - b, sigma) for (a, sigma), (b, _) in pairs if a != b)


@cache
def gaussian(
    sigma: Fraction, width: int
) -> tuple[tuple[mpmath.ctx_iv.ivmpf, ...], mpmath.ctx_iv.ivmpf]:
    """Enclosures of the chances of -width … width, and of all the rest together."""
    rate = ratio_iv(1 / (2 * sigma**2))
    weights = [iv.exp(-rate * k * k) for k in range(width + 1)]
    # Beyond the width the weights fall at least geometrically, with the ratio at its edge.
    step = iv.exp(-rate * (2 * width + 1))
    tail = 2 * weights[-1] * step / (1 - step)
    whole = weights[0] + 2 * sum(weights[1:]) + iv.mpf([0, tail.b])
    chances = [weights[abs(k)] / whole for k in range(-width, width + 1)]
    return tuple(chances), iv.mpf([0, (tail / whole).b])


def hockey_stick(cells: list[Cell], *, epsilon: Fraction) -> mpmath.ctx_iv.ivmpf:
    """An enclosure of delta(epsilon): sum over outcomes of (P - exp(epsilon) Q) where positive."""
    width = int(9 * max(sigma for _, sigma in cells)) + 2
    laws = [gaussian(sigma, width) for _, sigma in cells]
    total = iv.mpf(0)
    for noise in itertools.product(range(-width, width + 1), repeat=len(cells)):
        # P puts this noise on its count; Q needs the noise plus the difference of the counts.
        loss = sum(
            Fraction((k + d) ** 2 - k**2) / (2 * sigma**2)
            for k, (d, sigma) in zip(noise, cells, strict=True)
        )
        if loss > epsilon:
            chance = iv.mpf(1)
            for k, (inner, _) in zip(noise, laws, strict=True):
                chance *= inner[k + width]
            total += chance * (1 - iv.exp(ratio_iv(epsilon - loss)))
    outside = sum(tail for _, tail in laws)
    return total + iv.mpf([0, outside.b])


def renyi(cells: list[Cell], *, alpha: int) -> mpmath.ctx_iv.ivmpf:
    """A Rényi divergence of integer order; it adds up over cells."""
    total = iv.mpf(0)
    for d, sigma in cells:
        width = int(14 * sigma) + alpha * abs(d) + 2
        inner, _ = gaussian(sigma, width)
        rate = 1 / (2 * sigma**2)
        powers = (
            inner[k + width] * iv.exp(ratio_iv((alpha - 1) * rate * ((k + d) ** 2 - k * k)))
            for k in range(-width, width + 1)
        )
        # Outside, the summand is a Gaussian weight about -(alpha - 1) d, times exp(alpha (alpha - 1) d²
        # rate).
        centre = (alpha - 1) * abs(d)
        _, tail = gaussian(sigma, width - centre)
        beyond = tail * iv.exp(ratio_iv(alpha * (alpha - 1) * d * d * rate))
        total += iv.log(sum(powers) + iv.mpf([0, beyond.b])) / (alpha - 1)
    return total


def distinct_shifts(domain: Domain, *, most: int = 2) -> list[list[Cell]]:
    plan = plan_of(domain)
    found = {tuple(shifts(plan, x, y)) for x, y in pairs_of(domain, most=most)}
    return [list(cells) for cells in sorted(found)]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("alpha", [2, 3, 6])
def test_every_renyi_divergence_stays_below_the_zcdp_claim(
    relation: Relation, alpha: int
) -> None:
    domain = domain_of(2, 3, relation=relation)
    loss = plan_of(domain).loss
    assert isinstance(loss, ZeroConcentrated)
    divergences = [renyi(cells, alpha=alpha) for cells in distinct_shifts(domain)]
    # For a whole shift and a whole order the divergence is exactly alpha · rho: equality up to the enclosure.
    slack = iv.mpf(2) ** -150
    assert all(
        (divergence - alpha * ratio_iv(loss.rho)).b <= slack.b for divergence in divergences
    )
    assert max(float(divergence.mid) for divergence in divergences) >= 0.95 * alpha * float(
        loss.rho
    )


def test_delta_at_the_claimed_epsilon_is_below_the_claimed_delta() -> None:
    for cells in distinct_shifts(domain_of(2, 2)):
        assert len(cells) == 2
        delta = hockey_stick(cells, epsilon=EPSILON)
        assert delta.b <= ratio_iv(DELTA).a
        assert delta.a >= 0.2 * float(DELTA), (
            "the conversion loses a factor of about three, not more"
        )


@pytest.mark.parametrize("mutation", ["sigma halved", "sigma of one attribute alone"])
def test_a_mutant_sigma_is_noticed(mutation: str) -> None:
    plan = plan_of(domain_of(2, 2))
    for cells in distinct_shifts(domain_of(2, 2)):
        factor = (
            Fraction(1, 2) if mutation == "sigma halved" else Fraction(7, 10)
        )  # about 1 / sqrt 2
        mutant = [(d, sigma * factor) for d, sigma in cells]
        assert hockey_stick(mutant, epsilon=EPSILON).a > ratio_iv(DELTA).b
        assert renyi(mutant, alpha=2).a > 2 * ratio_iv(plan.rho).b


def test_two_records_a_person_that_move_together_use_up_the_squared_sensitivity() -> None:
    domain = domain_of(2, relation=Relation.REPLACE_ONE, max_records=2)
    plan = plan_of(domain)
    cells = shifts(plan, ((0,), (0,)), ((1,), (1,)))
    assert [d for d, _ in cells] == [-2, 2]
    divergence = renyi(cells, alpha=2)
    assert (divergence - 2 * ratio_iv(plan.rho)).b <= (iv.mpf(2) ** -150).b
    assert float(divergence.mid) >= 0.95 * 2 * float(plan.rho)
