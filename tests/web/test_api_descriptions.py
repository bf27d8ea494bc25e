"""What cannot be described is refused by REST with a pointer to the very field, and nothing is stored or
spent."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from synthweb.datasets.models import DomainVersion
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import scene
from tests.web.rest import Caller, assert_problem

pytestmark = pytest.mark.django_db
BAD: list[tuple[dict[str, Any], str]] = [
    ({"kind": "scale", "of": "integer", "low": 9, "high": 1}, "low"),
    ({"kind": "scale", "of": "integer", "low": 0, "high": 10, "step": 3}, "step"),
    ({"kind": "scale", "of": "number", "low": 0, "high": 1e300}, "high"),
    ({"kind": "scale", "of": "integer", "low": 0, "high": 10**30}, "high"),
    ({"kind": "scale", "of": "date", "format": "%m/%Y"}, "format"),
    ({"kind": "scale", "of": "integer", "low": 0, "high": 1000, "missing": ["999"]}, "missing"),
    ({"kind": "integer", "low": 9, "high": 1}, "low"),
    ({"kind": "integer", "low": 0, "high": 9, "missing": ["5"]}, "missing"),
    ({"kind": "integer", "low": 0, "high": 9, "edges": [0, 5, 3, 9]}, "edges"),
    ({"kind": "integer", "low": "0", "high": 9}, "low"),
    ({"kind": "integer", "low": 0}, "high"),
    ({"kind": "date", "low": "20240101", "high": "2024-12-31"}, "low"),
    ({"kind": "date", "low": "2024-01-01", "high": "2024-W01-1"}, "high"),
    ({"kind": "date", "low": "1/1/2024", "high": "2024-12-31"}, "low"),
    ({"kind": "datetime", "low": "20240101T0000", "high": "2024-12-31"}, "low"),
    ({"kind": "datetime", "low": "2024-01-01", "high": "2024-02-01T00:00Z"}, "high"),
    ({"kind": "range", "of": "date", "low": "20240101", "high": "2024-12-31"}, "low"),
    (
        {"kind": "weak", "values": {"set": "dates", "low": "20240101", "high": "2024-12-31"}},
        "values",
    ),
    ({"kind": "number", "low": 0, "high": 1, "written": {"after": "3 kg"}}, "written/after"),
    ({"kind": "derived", "rule": "sum", "of": ["region", "gone"]}, "of"),
    ({"kind": "unheard-of"}, "kind"),
]


@pytest.mark.parametrize(("attribute", "field"), BAD)
def test_the_field_of_a_refused_description_is_named(
    cast: Cast, attribute: dict[str, Any], field: str
) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    document = copy.deepcopy(scene.DOMAIN)
    document["attributes"][1] = {"name": "age", "provenance": "declared", **attribute}
    answer = Caller(cast.steward, "read", "spend").send(
        f"/datasets/{dataset.code}/domain/", document, method="put"
    )
    (fault,) = assert_problem(answer, status=422)["errors"]
    assert (fault["pointer"], fault["column"]) == (f"/attributes/1/{field}", "age")
    assert fault["rule"]
    assert fault["repair"]
    assert not DomainVersion.objects.filter(dataset=dataset).exists()
    assert not SynthesisRun.objects.exists()


def test_a_number_of_three_hundred_digits_is_refused_before_it_is_read(cast: Cast) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    document = copy.deepcopy(scene.DOMAIN)
    document["attributes"][1]["high"] = 10**300
    answer = Caller(cast.steward, "read", "spend").send(
        f"/datasets/{dataset.code}/domain/", document, method="put"
    )
    (fault,) = assert_problem(answer, status=400)["errors"]
    assert fault["pointer"] == "/attributes/1/high"
    assert not DomainVersion.objects.filter(dataset=dataset).exists()


@pytest.mark.parametrize("end", ["20240301", "2024-W09-5"])
def test_a_day_of_a_constraint_is_an_iso_day(cast: Cast, end: str) -> None:
    dataset = scene.read(scene.upload(steward=cast.steward, organisation=cast.organisation))
    document = copy.deepcopy(scene.DOMAIN)
    day = {"kind": "date", "low": "2024-01-01", "high": "2024-12-31", "provenance": "declared"}
    document["attributes"][1] = {"name": "age", **day}
    combination = {"age": [{"from": end, "to": "2024-05-01"}], "works": ["no"]}
    document["constraints"] = [{"kind": "impossible", "columns": combination}]
    caller = Caller(cast.steward, "read", "spend")
    answer = caller.send(f"/datasets/{dataset.code}/domain/", document, method="put")
    (fault,) = assert_problem(answer, status=422)["errors"]
    assert fault["repair"]
    assert fault["pointer"] == "/constraints/0/columns/age/0/from"
    combination["age"] = [{"from": "2024-03-01", "to": "2024-05-01"}]
    answer = caller.send(f"/datasets/{dataset.code}/domain/", document, method="put")
    assert answer.status_code == 201
