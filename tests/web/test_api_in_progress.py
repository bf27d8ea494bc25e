"""Files of a release that no worker has made yet: the answer is JSON and says so, so that no program reads it
as the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synthweb.releases.models import (
    ExpectedRanges,
    FirstLook,
    PlausibleTables,
    ReleasedCounts,
)
from synthweb.runs.models import CountsJob, ImplicatesJob, RangesJob
from tests.cast import Cast
from tests.web import addresses
from tests.web.rest import Caller
from tests.web.scene import Scene

DERIVED = (
    ExpectedRanges,
    FirstLook,
    PlausibleTables,
    ReleasedCounts,
    RangesJob,
    CountsJob,
    ImplicatesJob,
)


def _files() -> list[str]:
    """The addresses of a release that end in no slash, after its code."""
    begin = "releases/<slug:code>/"
    return [
        route.removeprefix(begin)
        for route in addresses.rest_routes()
        if route.startswith(begin)
        and not route.endswith("/")
        and "<" not in route[len(begin) :]
    ]


def _responses(operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = operation["responses"]
    return found


@pytest.mark.django_db
def test_what_is_not_made_yet_is_json(cast: Cast, played: Scene) -> None:
    for kind in DERIVED:
        kind._default_manager.all().delete()
    calls = Caller(cast.steward, "read")
    waiting = {}
    for name in _files():
        answer = calls.get(f"/releases/{played.release.code}/{name}")
        if answer.status_code == 202:
            waiting[name] = (answer["Content-Type"], json.loads(answer.content)["state"])
    assert {"marginals.csv", "marginals.parquet", "implicates.zip", "bundle.zip"} <= set(
        waiting
    )
    assert set(waiting.values()) == {("application/json", "waiting")}


@pytest.mark.django_db
def test_the_reference_says_so(cast: Cast, played: Scene) -> None:
    paths = Caller(cast.steward, "read").get("/schema/?format=json").json()["paths"]
    kinds = {
        kind
        for operations in paths.values()
        for operation in operations.values()
        for kind in _responses(operation).get("202", {}).get("content", {})
    }
    assert kinds == {"application/json"}
    csv = _responses(paths["/api/v1/releases/{code}/marginals.csv"]["get"])
    assert set(csv["200"]["content"]) == {"text/csv"}
