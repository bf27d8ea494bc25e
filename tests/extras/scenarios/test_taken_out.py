"""Test data are taken out of an installation that used them, and put back."""

from __future__ import annotations

import pytest

from tests.extras import installation
from tests.extras.installation import ASK_EVERYTHING, PREPARE

pytestmark = pytest.mark.slow
USE = """
from synthweb.audit import services as audit
audit.record(actor=cast.steward, action="testdata.made", organisation=cast.organisation)
"""
LOOK = (
    ASK_EVERYTHING
    + """
from synthweb.releases import tabs
log = signed_in("auditor").get("/ledger/audit/").text
print(json.dumps({
    "addresses": [route for route in every if "test-data" in route or "scenarios/" in route],
    "openapi": "/test-data/" in opened,
    "search": 'href="/releases/test-data/"' in client.get("/search/", {"q": "test data"}).text,
    "link": 'href="/releases/test-data/"' in client.get("/datasets/", {"q": "a"}).text,
    "card": "test-data" in [card.key for card in tabs.registered()],
    "log": "made test data from a description" in log,
    "recorded": "testdata.made" in log,
}))
"""
)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> installation.Installation:
    there = installation.made(tmp_path_factory.mktemp("installation"))
    there.run(PREPARE + USE, extras="scenarios")
    return there


def test_nothing_of_the_core_misses_them(used: installation.Installation) -> None:
    without = used.answer(LOOK, extras="none")
    recorded = without.pop("recorded")
    assert recorded and not any(without.values()), without


def test_they_are_as_they_were_when_they_are_back(used: installation.Installation) -> None:
    again = used.answer(LOOK, extras="scenarios")
    assert len(again["addresses"]) == 5
    assert all(again[key] for key in ("openapi", "search", "link", "card", "log")), again
