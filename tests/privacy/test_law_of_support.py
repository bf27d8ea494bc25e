"""Trees over public points: the exact law of `grow` where records are moved to them or lie nowhere, and
mutants that let the table decide where points are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from synth_engine.domain import Categorical, Domain, Integer, Place, PointSet
from synth_engine.hierarchy import Codes, GazetteerHierarchy, Hierarchy, Rule
from synth_engine.indexing import prefixes
from synth_engine.measurement import Noise
from synth_engine.privacy.loss import Pure
from synth_engine.room.rows import Rows
from synth_engine.room.session import RoomSession
from tests.privacy import exact

SCALE = Fraction(2)
NOISE = Noise(law="discrete-laplace", scale=SCALE)
RULE = Rule(name="basic", depth=1, threshold=1)
MOST = 2
CORNERS = ((10.0, 20.0, 1.0), (11.0, 21.0, 3.0))
PLACED = Domain(
    attributes=(
        Integer(name="north", low=10, high=11, width=1),
        Integer(name="east", low=20, high=21, width=1),
    ),
    places=(Place(name="home", latitude="north", longitude="east"),),
    points=(PointSet(place="home", at=CORNERS),),
)
CODED = Domain(
    attributes=(Categorical(name="block", values=("a", "b"), other=True, missing=("",)),),
    points=(PointSet(column="block", at=CORNERS),),
)


def program(session: RoomSession, _rows: Rows) -> Hashable:
    found = session.grow(session.domain.names, rule=RULE, noise=NOISE)
    return tuple(tuple(one.tolist()) for one in (*found.opened, *found.counts))


def worst(domain: Domain) -> float:
    """The largest loss over all neighbours, both ways round; infinite where it is above the claim."""
    ratio = exact.largest_ratio(program, domain, cap=Pure(epsilon=Fraction(9)), most=MOST)
    return exact.loss_within(ratio, claim=1 / SCALE)


@pytest.mark.parametrize("domain", [PLACED, CODED], ids=["place", "codes"])
def test_a_tree_over_public_points_costs_what_any_tree_does(domain: Domain) -> None:
    points = prefixes.hierarchy(domain, domain.names)
    assert points.exists(points.below(points.root(), 0), 1).sum() == 2  # of four children
    assert 0.99 / SCALE < worst(domain) < inf


def only_occupied(found: Hierarchy, codes: Codes) -> Hierarchy:
    """The gazetteer without the points at which nobody is; one is left."""
    assert isinstance(found, GazetteerHierarchy)
    supports = []
    for one in found.supports:
        here = np.isin(one.codes, found.project(codes, one.axes))
        here[0] |= not here.any()
        kept = {name: getattr(one, name)[here] for name in ("codes", "weights", "order")}
        supports.append(replace(one, **kept))
    return replace(found, supports=tuple(supports))


def test_points_taken_from_the_table_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = prefixes.hierarchy
    rows: list[Rows] = []

    def of_the_table(domain: Domain, columns: Any, **more: Any) -> Hierarchy:
        found = plain(domain, columns, **more)
        codes = prefixes.of_codes(
            found, {name: rows[-1].codes(name) for name in domain.names}, domain
        )
        return only_occupied(found, codes)

    original = exact.rows_of
    monkeypatch.setattr(
        exact, "rows_of", lambda table, domain: rows.append(original(table, domain)) or rows[-1]
    )
    monkeypatch.setattr(prefixes, "hierarchy", of_the_table)
    assert worst(PLACED) == inf


def test_a_record_that_is_moved_to_where_others_are_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = GazetteerHierarchy.supported

    def to_the_crowd(self: GazetteerHierarchy, codes: Codes) -> Codes:
        moved = plain(self, codes)
        return (
            np.full_like(moved, np.bincount(moved.astype(np.int64)).argmax())
            if moved.size
            else moved
        )

    monkeypatch.setattr(GazetteerHierarchy, "supported", to_the_crowd)
    assert worst(PLACED) == inf


def test_where_a_record_goes_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(5)
    at = tuple((float(a), float(b), 1.0) for a, b in np.round(rng.uniform(10, 25, (9, 2)), 2))
    attributes = tuple(
        Integer(name=name, low=10, high=25, width=1) for name in ("north", "east")
    )
    domain = Domain(
        attributes=attributes, places=PLACED.places, points=(PointSet(place="home", at=at),)
    )
    points = prefixes.hierarchy(domain, domain.names)
    everything = {"north": np.repeat(np.arange(16), 16), "east": np.tile(np.arange(16), 16)}
    together = prefixes.of_codes(points, everything, domain)
    for place in range(0, 256, 7):
        alone = prefixes.of_codes(
            points, {name: each[[place]] for name, each in everything.items()}, domain
        )
        assert alone[0] == together[place]
    assert (
        isinstance(points, GazetteerHierarchy) and points.exists(together, points.depth).all()
    )
