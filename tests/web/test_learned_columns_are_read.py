"""A column whose set unifies spelling, through the application: figures that are paid for, by stewards and by
analysts, are about the records that the release was made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from synth_engine.spec import Spec
from synthweb.ledger.amounts import Amount
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services, validations, worker
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.test_validations import NEXT_WEEK

pytestmark = pytest.mark.django_db
MALE, FEMALE = 500, 300
SLACK = 20  # records: an interval holds the truth in 95 of 100 checks, and so much wider always
TABLE = "sex,level\n" + "".join(
    f"{'Male' if place < MALE else 'FEMALE'},{place % 3}\n" for place in range(MALE + FEMALE)
)
DOMAIN: dict[str, Any] = {
    "schema": "synth_engine/domain/1",
    "relation": "add-remove",
    "unit": {"max_records": 1, "column": None},
    "attributes": [
        {
            "name": "sex",
            "kind": "weak",
            "values": {
                "set": "strings",
                "alphabet": "abcdefghijklmnopqrstuvwxyz",
                "min_length": 1,
                "max_length": 12,
                "case": "lower",
            },
            "provenance": "declared",
        },
        {"name": "level", "kind": "integer", "low": 0, "high": 2, "width": 1},
    ],
}
FIGURES = [
    {"kind": "count", "where": ["sex=male"]},
    {"kind": "marginal", "columns": ["sex"]},
    {"kind": "distance", "columns": ["sex", "level"]},
]


@pytest.fixture
def release(cast: Cast) -> Release:
    dataset = scene.funded(cast, table=TABLE, document=DOMAIN, epsilon=60)
    spec = Spec.from_json({"mechanism": "independent", "epsilon": "20", "delta": "1e-9"})
    run = services.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name="Sexes"
    )
    worker.synthesize(code=run.code)
    made = Release.objects.get()
    releases.share(actor=cast.steward, release=made, analyst=cast.analyst)
    return made


def holds(figure: dict[str, Any], truth: float, slack: float = SLACK) -> bool:
    return bool(figure["lower"] - slack <= truth <= figure["upper"] + slack)


def assert_true(figures: list[dict[str, Any]]) -> None:
    count, marginal, distance = figures
    assert holds(count, MALE)
    by_value = {entry["values"][0]: entry for entry in marginal["table"]}
    assert holds(by_value["male"], MALE)
    assert holds(by_value["female"], FEMALE)
    assert holds(by_value["(other)"], 0)
    assert distance["value"] < 0.2


def test_a_stewards_figures_are_those_of_the_table(
    cast: Cast, release: Release, browser: Callable[..., Client]
) -> None:
    steward, base = browser(cast.steward), f"/api/v1/releases/{release.code}/paid/"
    asked = {"figures": FIGURES, "epsilon": "20"}
    started = steward.post(base, asked, content_type="application/json")
    worker.synthesize(code=started.json()["code"])
    (check,) = steward.get(base).json()
    assert_true(check["figures"])


def test_an_analysts_validation_is_true_of_the_table(
    cast: Cast, release: Release, browser: Callable[..., Client]
) -> None:
    amount = Amount(epsilon=20 * 10**9)
    validations.grant(
        actor=cast.steward,
        release=release,
        amount=amount,
        until=NEXT_WEEK,
        analyst=cast.analyst,
    )
    analyst, base = browser(cast.analyst), f"/api/v1/releases/{release.code}/validations/"
    asked = {"figures": FIGURES, "epsilon": "20"}
    started = analyst.post(base, asked, content_type="application/json")
    worker.synthesize(code=started.json()["code"])
    scene.let_ticks_pass()
    (validation,) = analyst.get(base).json()
    assert_true(validation["figures"])
