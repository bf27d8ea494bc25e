"""A table of which not everything is known, from its description to what an analyst downloads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synth_engine.spec import Spec
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.ledger import services as ledger
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.planning import ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STRINGS = {
    "set": "strings",
    "alphabet": "abcdefghijklmnopqrstuvwxyz",
    "min_length": 1,
    "max_length": 10,
}
DOMAIN: dict[str, Any] = {
    "attributes": [
        {"name": "region", "kind": "weak", "values": STRINGS},
        {"name": "age", "kind": "range", "of": "integer", "low": 0, "high": 100_000, "bins": 6},
        {"name": "works", "kind": "boolean", "true": "yes", "false": "no", "missing": [""]},
    ]
}
TABLE = "region,age,works\n" + "".join(
    f"{'north' if row % 3 else 'south'},{row % 90},{'yes' if row % 2 else 'no'}\n"
    for row in range(3_000)
)


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    made = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=TABLE)
    )
    datasets.declare_domain(actor=cast.steward, dataset=made, document=DOMAIN)
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=made, epsilon=400),
        reason="Agreed.",
    )
    return made


def released(dataset: Dataset, cast: Cast, *, mechanism: str, delta: str = "0") -> Release:
    """With an ε for which no noise looks like a record at the far end of a range."""
    spec = Spec.from_json({"mechanism": mechanism, "epsilon": "80", "delta": delta})
    run = runs.submit(
        ReleaseRequest(dataset=dataset, spec=spec), steward=cast.steward, name="Learned"
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    return run.release


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [("independent", "0"), ("bayesian-network", "1e-9"), ("weak-domain", "0")],
)
def test_what_was_learned_is_on_every_page_and_in_every_file(
    mechanism: str, delta: str, dataset: Dataset, cast: Cast, browser: Callable[..., Client]
) -> None:
    release = released(dataset, cast, mechanism=mechanism, delta=delta)
    verifier.verify(release.receipt)
    assert release.receipt["domain_sha256"] == dataset.domain_versions.get().digest
    assert "discover" in {call["query"]["verb"] for call in release.receipt["calls"]}
    known = {one["name"]: one for one in release.model["domain"]["attributes"]}
    assert {"north", "south"} <= set(known["region"]["values"])
    assert known["age"]["high"] < 1_000
    worker.table_job(code=runs.request_report(release=release, actor=cast.steward).code)
    steward = browser(cast.steward)
    for name in ("releases:about", "releases:receipt", "releases:compare"):
        page = steward.get(reverse(name, args=[release.code]))
        assert page.status_code == 200, name
        assert ("Learned from the table" in html_of(page)) == (name == "releases:about")
    sample = releases.draw_sample(user=cast.steward, release=release, rows=40, seed="1")
    lines = (
        b"".join(steward.get(reverse("releases:sample-csv", args=[release.code, sample.code])))
        .decode()
        .splitlines()
    )
    assert len(lines) == 41
    drawn = Counter(line.split(",")[0] for line in lines[1:])
    assert set(drawn) <= {
        *known["region"]["values"],
        "(other)",
    }  # a text that nobody has is found in a tenth of releases,
    assert drawn["north"] + drawn["south"] >= 30  # and has few records


def test_the_price_of_learning_is_shown_before_it_is_paid(
    dataset: Dataset, cast: Cast, browser: Callable[..., Client]
) -> None:
    page = html_of(browser(cast.steward).get(reverse("runs:new", args=[dataset.code])))
    assert "Learned first" in page
    assert "takes 15% of this run" in page
    assert "weak-domain" in page


def test_methods_for_open_columns_are_not_offered_where_all_is_known(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    page = html_of(
        browser(cast.steward).get(reverse("runs:new", args=[scene.funded(cast).code]))
    )
    assert "weak-domain" not in page
    assert "Learned first" not in page


@pytest.mark.parametrize(
    "change",
    [
        {"values": {"set": "pattern", "pattern": "a+"}},
        {"values": {"set": "integers", "low": 0, "high": 10**78}},
        {"values": {"set": "list", "values": ["a", "a"]}},
        {"rho": 1},
    ],
)
def test_a_set_that_cannot_be_is_refused_by_rest_with_column_rule_and_repair(
    change: dict[str, Any], dataset: Dataset, cast: Cast, browser: Callable[..., Client]
) -> None:
    document = {"attributes": [DOMAIN["attributes"][0] | change, *DOMAIN["attributes"][1:]]}
    answer = browser(cast.steward).put(
        f"/api/v1/datasets/{dataset.code}/domain/?because=law",
        json.dumps(document),
        content_type="application/json",
    )
    assert answer.status_code in (400, 422), answer.content
    assert "region" in json.dumps(answer.json())
    assert "repair" in json.dumps(answer.json())
    assert dataset.domain_versions.count() == 1
