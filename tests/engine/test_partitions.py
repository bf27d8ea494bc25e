"""Public partitions of a column, given or made of its points."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from synth_engine.domain import Categorical, Domain, Partition, PointSet, names
from synth_engine.domain.resolution import VALUES, cells, parting
from synth_engine.domain.schema import SCHEMA
from synth_engine.errors import DomainError

HOMES = ("a1", "a2", "b1", "b2", "b3")
AT = ((41.0, -71.0), (41.01, -71.0), (41.5, -71.3), (41.52, -71.3), (41.5, -71.4))
TOWN = Partition(
    name="town", column="home", of=("A", "A", "B", "B", "B"), source=(("name", "census"),)
)


def domain_of(*partitions: Partition, points: bool = True) -> Domain:
    return Domain(
        attributes=(Categorical(name="home", values=HOMES, other=True, missing=("",)),),
        points=(PointSet(column="home", at=tuple((*at, 1.0) for at in AT)),) if points else (),
        partitions=partitions,
    )


def test_partitions_belong_to_the_description() -> None:
    domain = domain_of(TOWN)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert domain.digest != domain_of().digest
    assert "partitions" not in domain_of().to_json()


def test_other_and_missing_are_parts_of_their_own() -> None:
    assert parting(domain_of(TOWN), "home", "town") == (0, 0, 1, 1, 1, 2, 3)
    assert parting(domain_of(), "home", VALUES) == (0, 1, 2, 3, 4, 5, 6)


def test_cells_halve_the_most_points_along_their_longer_side() -> None:
    assert parting(domain_of(), "home", "2 cells") == (0, 0, 1, 1, 1, 2, 3)
    assert cells([(*at, 1.0) for at in AT], 3) == (0, 0, 2, 2, 1)
    assert sorted(cells([(*at, 1.0) for at in AT], 99)) == [0, 1, 2, 3, 4]
    same = [(41.0, -71.0, 1.0)] * 4
    assert sorted(cells(same, 2)) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("name", "points"), [("county", True), ("4 cells", False), ("0 cells", True)]
)
def test_a_partition_that_there_is_not_is_refused_with_those_there_are(
    name: str, points: bool
) -> None:
    with pytest.raises(DomainError, match=r"no such partition.*values, town"):
        parting(domain_of(TOWN, points=points), "home", name)


ENTRY = TOWN.to_json(domain_of().attributes)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"of": {"a1": "A"}}, "does not cover"),
        ({"of": {**ENTRY["of"], "c": "C"}}, "does not cover"),  # type: ignore[dict-item]
        ({"of": {**ENTRY["of"], "a1": ""}}, "has no name"),  # type: ignore[dict-item]
        ({"of": {**ENTRY["of"], "a1": 3}}, "no text"),  # type: ignore[dict-item]
        ({"of": ["A"]}, "no object"),
        ({"column": "work"}, "does not cover"),
        ({"name": ""}, "no short name"),
        ({"source": "census"}, "source"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_partitions_that_cannot_be_right_are_refused(
    changed: dict[str, Any], reason: str
) -> None:
    document = domain_of().to_json() | {"partitions": [{**ENTRY, **changed}]}
    with pytest.raises(DomainError, match=reason):
        Domain.from_json(document)


def test_two_partitions_of_one_name_are_refused() -> None:
    with pytest.raises(DomainError, match="one name"):
        domain_of(TOWN, TOWN)


NAMED: dict[str, Any] = {
    "attributes": [
        {"name": "home", "kind": "categorical", "values": ["b", "a", "c"], "outside": "clamp"}
    ],
    "points": [
        {
            "column": "home",
            "at": {"b": [41, -71], "a": [42, -72], "c": [43, -73]},
            "names": {"b": "Bristol"},
        }
    ],
    "partitions": [
        {
            "name": "town",
            "column": "home",
            "of": {"b": "2", "a": "1", "c": "1"},
            "names": {"1": "Warren"},
        }
    ],
}


def test_names_stand_with_their_codes_and_come_back() -> None:
    domain = Domain.from_json(NAMED)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain and hash(
        domain.partitions[0]
    )
    assert domain.partitions[0].titles == ("1 · Warren", "2") and domain.partitions[
        0
    ].parts == ("1", "2")
    assert names.titled(("b", "a"), domain.points[0].names) == ("b · Bristol", "a")
    assert names.titled(("b",), (("b", "b"),)) == ("b",)
    jsonschema.validate(domain.to_json(), SCHEMA)


@pytest.mark.parametrize(
    "bad", [{"x": "Nowhere"}, {"1": ""}, {"1": "a\nb"}, {"1": "x" * 201}, {"1": 1}, ["1"]]
)
def test_names_of_other_codes_and_names_that_are_none_are_refused(bad: Any) -> None:
    (partition,), (points,) = NAMED["partitions"], NAMED["points"]
    with pytest.raises(DomainError, match="name") as caught:
        Domain.from_json(NAMED | {"partitions": [partition | {"names": bad}]})
    assert caught.value.column == "home"
    with pytest.raises(DomainError, match="name"):
        Domain.from_json(NAMED | {"points": [points | {"names": bad}]})
