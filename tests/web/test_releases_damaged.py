"""The Compare page of a table that its description damaged: red, with reason and repair, for the steward
alone."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from synthweb.releases import services
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import damaged, scene
from tests.web.html import Reader

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def release(cast: Cast) -> Release:
    made = scene.released(
        cast,
        mechanism="independent",
        epsilon="4",
        name="Sales",
        table=damaged.MORE_TABLE,
        document=damaged.MORE_DOCUMENT,
        dialect=damaged.DIALECT,
    )
    services.share(actor=cast.steward, release=made, analyst=cast.analyst)
    worker.table_job(code=runs.request_report(release=made, actor=cast.steward).code)
    return made


def test_each_damaged_column_is_red_with_its_repair_for_the_steward_alone(
    release: Release, cast: Cast
) -> None:
    steward, analyst = Reader(), Reader()
    steward.force_login(cast.steward)
    analyst.force_login(cast.analyst)
    address = reverse("releases:compare-all", args=[release.code])
    page = steward.get(address).text
    exported = json.loads(
        steward.get(reverse("releases:compare-json", args=[release.code])).content
    )
    assert not exported["private"]
    levels = {entry["name"]: entry["verdict"]["level"] for entry in exported["attributes"]}
    assert levels.pop(damaged.HONEST) in ("same", "small")
    assert set(levels.values()) == {"damaged"} and set(levels) == set(damaged.MORE_REPAIRS)
    verdicts = re.findall(r'<p class="verdict verdict-damaged"[^>]*>(.*?)</p>', page, re.DOTALL)
    assert len(verdicts) == len(damaged.MORE_REPAIRS)
    for name, repair in damaged.MORE_REPAIRS.items():
        assert any(repair in verdict for verdict in verdicts), name
    for name in ("compare", "compare-json"):
        assert analyst.get(reverse(f"releases:{name}", args=[release.code])).status_code in (
            403,
            404,
        )
    overview = analyst.get(reverse("releases:about", args=[release.code]))
    assert overview.status_code == 200 and "verdict-damaged" not in overview.text
