"""`resample` where each group counts the parts near it by themselves and all others together: the exact law
of the room's own code is that of groups with so many parts, and no pair of neighbours passes the claim."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest

from synth_engine.domain import Domain, PointSet
from synth_engine.domain.resolution import near_parts, part_count, split_within
from synth_engine.errors import DomainError, PrivacyError
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.loss import Basic
from synth_engine.room.session import open_session
from tests.privacy import exact
from tests.privacy.dirichlet import Vector
from tests.privacy.test_law_of_resample import (
    Chosen,
    Held,
    Law,
    domain_of,
    event_of,
    law_of,
    table_of,
)

NEAR = "values within 10 miles"
HOMES = ((41.0, -71.0, 1.0), (41.05, -71.0, 1.0), (42.0, -71.0, 1.0))
WORKS = ((41.0, -71.0, 1.0), (42.0, -71.0, 1.0))
"""The first place of work is near two homes, and the second near the third one."""


def near_domain(totals: tuple[int, ...]) -> Domain:
    points = (
        PointSet(column="work", at=WORKS[: len(totals)]),
        PointSet(column="home", at=HOMES),
    )
    return replace(domain_of(totals, origins=3), points=points)


def law_of_near(held: Held, event: DirichletMultinomial) -> Law:
    domain, sampler = near_domain(tuple(map(sum, held))), Chosen()
    cap = Basic(epsilon=event.epsilon * 10**6, delta=event.delta * 10**6)
    rows = exact.rows_of(table_of(held), domain)
    session = open_session(rows, domain=domain, cap=cap, sampler=sampler)  # type: ignore[arg-type]
    session.resample("home", event=event, parting=NEAR)
    bounds = sampler.bounds
    each, found = Fraction(1, prod(bounds)), Law()
    for sampler.balls in itertools.product(*map(range, bounds)):
        answer = session.resample("home", event=event, parting=NEAR)
        outcome = tuple(answer.values.ravel().tolist())
        found[outcome] = found.get(outcome, Fraction(0)) + each
    return found


def counted(held: Held) -> Held:
    """Of the first group: both near homes and the far one; of the second: the near home, nothing, and the two
    far ones."""
    first, *second = held
    return (first, *((two[2], 0, two[0] + two[1]) for two in second))


@pytest.mark.parametrize("held", [((1, 0, 1), (0, 1, 0)), ((0, 1, 0), (1, 0, 1))])
def test_the_law_is_that_of_groups_with_so_many_parts(held: Held) -> None:
    sizes = {sum(one): 2 for one in held}
    event = event_of(sizes, unit=2, origins=3, epsilon=1)
    assert law_of_near(held, event) == law_of(counted(held), event)


def test_no_pair_of_neighbours_passes_the_claim() -> None:
    """A record of the second group moves between any two homes, near or far."""
    event = event_of({1: 1, 2: 1}, unit=1, origins=3, epsilon=2, delta=0)
    # Two new records and a prior of 1 multiply a chance by 3 at most (Theorem 4.1).
    most = Fraction(0)
    homes: list[Vector] = [tuple(int(i == h) for i in range(3)) for h in range(3)]
    for base in homes:
        laws = [
            law_of_near(((1, 0, 0), tuple(np.add(base, one).tolist())), event) for one in homes
        ]
        for one, other in itertools.permutations(laws, 2):
            assert set(one) == set(other)
            most = max(most, *(one[outcome] / other[outcome] for outcome in one))
    assert most == 3


def test_a_prior_for_fewer_parts_is_refused() -> None:
    domain = near_domain((2, 1))
    session = open_session(
        exact.rows_of(table_of(((1, 0, 1), (0, 1, 0))), domain),
        domain=domain,
        cap=Basic(epsilon=Fraction(100), delta=Fraction(1, 2)),
        sampler=Chosen(),  # type: ignore[arg-type]
    )
    with pytest.raises(PrivacyError, match="other groups or origins"):
        session.resample(
            "home",
            event=event_of({1: 9, 2: 9}, unit=1, origins=2, epsilon=3, delta=0.1),
            parting=NEAR,
        )


def test_which_parts_are_near_follows_from_public_points() -> None:
    domain = near_domain((1, 1))
    near = near_parts(domain, "work", "home", NEAR)
    assert near.near.tolist() == [[True, True, False], [False, False, True]]
    assert near.numbers().tolist() == [[0, 1, 2], [2, 2, 0]]
    assert near.number == part_count(domain, "work", "home", NEAR) == 3
    assert split_within("town within 30 miles") == ("town", 30)
    assert split_within("town") == ("town", None)
    with pytest.raises(DomainError, match="points of both columns"):
        near_parts(replace(domain, points=()), "work", "home", NEAR)
