"""`select`: the exact law of permute-and-flip and of Gumbel noise on tiny domains, and mutants."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

import numpy as np
import pytest

from synth_engine.domain import Domain
from synth_engine.measurement import Candidate, Clique
from synth_engine.privacy import noise_scale
from synth_engine.privacy.events import Gumbel, PermuteAndFlip
from synth_engine.privacy.loss import Loss, Pure, ZeroConcentrated
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests.privacy import exact
from tests.privacy.exact import Law, Replay, Table, domain_of, pairs_of

EPSILON = Fraction(7, 10)
CAPS = [Pure(epsilon=Fraction(100)), ZeroConcentrated(rho=Fraction(5000))]


def candidate(clique: Clique, *reference: int, penalty: int = 0) -> Candidate:
    shape = (2,) * len(clique)
    return Candidate(
        clique=clique,
        reference=np.array(reference, dtype=np.int64).reshape(shape),
        penalty=penalty,
    )


# Crossing: which candidate leads depends on single records. Wide: one candidate leads whatever the rows are,
# and a record moves its score and the other's in opposite directions, which is where the whole claim is used
# up.
FIXTURES = {
    "crossing": [
        candidate(("a",), 0, 1),
        candidate(("b",), 1, 0),
        candidate(("a", "b"), 0, 1, 0, 1),
    ],
    "wide": [candidate(("a",), 0, 0), candidate(("b",), 20, 20)],
    # A public penalty changes which one leads, and no price.
    "handicap": [candidate(("a",), 0, 0), candidate(("b",), 20, 20, penalty=41)],
    # Replacing one record moves both scores by two, again in opposite directions.
    "opposite": [candidate(("a",), 0, 20), candidate(("b",), 60, 0)],
}


def laws(
    domain: Domain,
    *,
    fixture: str,
    cap: Loss,
    most: int = 2,
    scale: Fraction | None = None,
    sampler: type[Replay] = Replay,
) -> dict[Table, Law]:
    linf = histogram_sensitivity(domain.unit, domain.relation).linf
    spread = scale or noise_scale.selection_scale(EPSILON, linf)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        return session.select(FIXTURES[fixture], scale=spread), session.calls

    return {
        table: exact.law_of(program, table, domain=domain, cap=cap, high=most, sampler=sampler)
        for table in exact.tables(domain, most=most)
    }


def worst_over_fixtures(domain: Domain, cap: Loss, **mutation: object) -> Fraction | float:
    found = [
        exact.worst_ratio(
            laws(domain, fixture=fixture, cap=cap, **mutation), pairs_of(domain, most=2)
        )[0]  # type: ignore[arg-type]
        for fixture in FIXTURES
    ]
    return max(found)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("cap", CAPS, ids=["permute-and-flip", "gumbel"])
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    cap: Loss, relation: Relation
) -> None:
    ratio = worst_over_fixtures(domain_of(2, 2, relation=relation), cap)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


@pytest.mark.parametrize("cap", CAPS, ids=["permute-and-flip", "gumbel"])
def test_a_scale_without_the_factor_of_two_is_noticed(cap: Loss) -> None:
    ratio = worst_over_fixtures(
        domain_of(2, 2), cap, scale=noise_scale.laplace_scale(EPSILON, 1)
    )
    assert exact.worst_epsilon(ratio) > 1.8 * EPSILON


@pytest.mark.parametrize("cap", CAPS, ids=["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("sampler", [exact.HalvedScale, exact.ArgMax], ids=lambda s: s.__name__)
def test_a_mutant_sampler_is_noticed(sampler: type[Replay], cap: Loss) -> None:
    ratio = worst_over_fixtures(domain_of(2, 2), cap, sampler=sampler)
    assert exact.worst_epsilon(ratio) > 1.8 * EPSILON


def test_the_sensitivity_of_add_and_remove_is_noticed_under_replace_one() -> None:
    domain = domain_of(2, 2, relation=Relation.REPLACE_ONE)
    ratio = worst_over_fixtures(domain, CAPS[0], scale=noise_scale.selection_scale(EPSILON, 1))
    assert exact.worst_epsilon(ratio) > 1.8 * EPSILON


@pytest.mark.parametrize("alpha", [2, 3, 8])
def test_gumbel_noise_costs_an_eighth_of_the_squared_epsilon_in_rho(alpha: int) -> None:
    """Rényi divergence of order alpha at most alpha · rho, for every pair of neighbours."""
    domain = domain_of(2, 2)
    rho = Gumbel(scale=noise_scale.selection_scale(EPSILON, 1), linf=1).rho()
    largest = max(
        renyi_sum(found[x], found[y], alpha=alpha)
        for fixture in FIXTURES
        for found in [laws(domain, fixture=fixture, cap=CAPS[1])]
        for x, y in pairs_of(domain, most=2)
    )
    assert exact.proves(largest, epsilon=(alpha - 1) * alpha * rho)


def test_permute_and_flip_would_not_be_covered_by_the_price_of_gumbel_noise() -> None:
    """Its loss is not of bounded range; the accountant must charge half the squared epsilon."""
    scale = noise_scale.selection_scale(EPSILON, 1)
    assert PermuteAndFlip(scale=scale, linf=1).rho() == 4 * Gumbel(scale=scale, linf=1).rho()


def renyi_sum(p: Law, q: Law, *, alpha: int) -> Fraction:
    """An upper bound of the sum over outcomes of p^alpha / q^(alpha - 1)."""
    total = Fraction(0)
    for outcome, chance in p.items():
        total += Fraction(chance.high, exact.ONE) ** alpha / Fraction(
            q[outcome].low, exact.ONE
        ) ** (alpha - 1)
    return total
