"""`measure`: the exact law on tiny domains, and mutants that must not survive."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

import pytest

from synth_engine.domain import Domain
from synth_engine.measurement import Noise
from synth_engine.privacy import noise_scale
from synth_engine.privacy.loss import Pure
from synth_engine.privacy.unit import Relation, histogram_sensitivity
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests.privacy import exact
from tests.privacy.exact import Replay, domain_of, pairs_of

EPSILON = Fraction(7, 10)


def worst(
    domain: Domain,
    *,
    most: int,
    sampler: type[Replay] = Replay,
    l1: int | None = None,
    with_total: bool = False,
    epsilon: Fraction = EPSILON,
) -> Fraction | float:
    """The worst ratio of one measurement of all attributes together, with noise calibrated to epsilon."""
    scale = noise_scale.laplace_scale(
        epsilon, l1 or histogram_sensitivity(domain.unit, domain.relation).l1
    )
    noise = Noise(law="discrete-laplace", scale=scale)

    def program(session: RoomSession, rows: Rows) -> Hashable:
        answer = session.measure(domain.names, noise=noise)
        return (
            *answer.values.ravel().tolist(),
            session.calls,
            session.spent,
            rows.total if with_total else None,
        )

    # Mutants may cost more than the cap allows; the cap is not what is tested here.
    cap = Pure(epsilon=100 * epsilon)
    return exact.largest_ratio(program, domain, cap=cap, most=most, sampler=sampler)


SETTINGS = [
    pytest.param(domain_of(2, 2), 2, id="2x2, add or remove, up to 2 rows"),
    pytest.param(domain_of(2), 3, id="2 codes, add or remove, up to 3 rows"),
    pytest.param(domain_of(2, 3), 1, id="2x3, add or remove, up to 1 row"),
    pytest.param(
        domain_of(2, 2, relation=Relation.REPLACE_ONE), 2, id="2x2, replace one, up to 2 rows"
    ),
    pytest.param(
        domain_of(3, relation=Relation.REPLACE_ONE), 3, id="3 codes, replace one, up to 3 rows"
    ),
    pytest.param(
        domain_of(2, max_records=2), 3, id="2 codes, two records a person, up to 3 rows"
    ),
    pytest.param(
        domain_of(2, 3), 2, id="2x3, add or remove, up to 2 rows", marks=pytest.mark.slow
    ),
    pytest.param(
        domain_of(2, 3, relation=Relation.REPLACE_ONE),
        2,
        id="2x3, replace one, up to 2 rows",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("domain", "most"), SETTINGS)
def test_no_pair_of_neighbours_is_told_apart_by_more_than_the_claim(
    domain: Domain, most: int
) -> None:
    ratio = worst(domain, most=most)
    assert exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) >= 0.95 * EPSILON, (
        "a claim this loose would hide a defect"
    )


def test_all_twenty_pairs_are_compared_both_ways() -> None:
    assert len(set(pairs_of(domain_of(2, 2), most=2))) == 40


@pytest.mark.parametrize(
    "sampler",
    [exact.HalvedScale, exact.ActiveDomain, exact.TruncatedNoise, exact.FrequencyScale],
    ids=lambda sampler: sampler.__name__,
)
@pytest.mark.parametrize("relation", list(Relation))
def test_a_mutant_sampler_is_noticed(sampler: type[Replay], relation: Relation) -> None:
    sizes = (2,) if sampler is exact.TruncatedNoise else (2, 2)
    ratio = worst(domain_of(*sizes, relation=relation), most=2, sampler=sampler)
    assert not exact.proves(ratio, epsilon=EPSILON)
    assert exact.worst_epsilon(ratio) > 1.15 * EPSILON


def test_releasing_the_exact_number_of_rows_is_noticed() -> None:
    ratio = worst(domain_of(2, 2), most=2, with_total=True)
    assert exact.worst_epsilon(ratio) == float("inf")


def test_the_sensitivity_of_add_and_remove_is_noticed_under_replace_one() -> None:
    ratio = worst(domain_of(2, relation=Relation.REPLACE_ONE), most=2, l1=1)
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


def test_forgetting_the_records_of_a_person_is_noticed() -> None:
    ratio = worst(domain_of(2, max_records=2), most=2, l1=1)
    assert exact.worst_epsilon(ratio) > 1.9 * EPSILON


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10, 3)])
def test_the_claim_holds_at_other_losses(epsilon: Fraction) -> None:
    ratio = worst(domain_of(2), most=2, epsilon=epsilon)
    # Where the scale is exactly 1 / epsilon the ratio is exactly exp(epsilon); then only equality up to the
    # width of the enclosure can be shown.
    assert exact.proves(ratio, epsilon=epsilon + Fraction(1, 2**200))
