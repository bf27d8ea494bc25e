"""Cities are taken out of an installation that used them, and put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extras import installation
from tests.extras.installation import ASK_EVERYTHING, PREPARE

pytestmark = pytest.mark.slow
USE = """
from synthweb.extras.cities.models import CityBuild
from synthweb.runs import queue
from synthweb.audit import services as audit
build = CityBuild.objects.create(
    organisation=cast.organisation, created_by=cast.steward, name="A small town",
    specification="", areas=b"", seed="0" * 32, state="waiting",
)
queue.enqueue(CityBuild.TASK, build.code, queue.DEFAULT)
audit.record(
    actor=cast.steward, action="city.requested", target=("city", build.code),
    organisation=cast.organisation,
)
"""
LOOK = (
    ASK_EVERYTHING
    + """
from synthweb.runs import reconcile
from synthweb.runs.models import OutboxMessage
reconcile.reconcile()
from django.db import connection
print(json.dumps({
    "addresses": [
        route for route in every if "cities/" in route and not route.startswith("admin/")
    ],
    "openapi": "/cities/" in opened,
    "search": "A small town" in client.get("/search/", {"q": "small town"}).text,
    "link": "Synthetic cities" in client.get("/releases/").text,
    "log": "had a synthetic city generated" in signed_in("auditor").get("/ledger/audit/").text,
    "recorded": "city.requested" in signed_in("auditor").get("/ledger/audit/").text,
    "waits": OutboxMessage.objects.count(),
    "rows": "cities_citybuild" in connection.introspection.table_names(),
}))
"""
)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> installation.Installation:
    there = installation.made(tmp_path_factory.mktemp("installation"))
    there.run(PREPARE + USE, extras="cities")
    return there


def test_nothing_of_the_core_misses_them(used: installation.Installation) -> None:
    without = used.answer(LOOK, extras="none")
    assert without == {
        "addresses": [],
        "openapi": False,
        "search": False,
        "link": False,
        "log": False,
        "recorded": True,  # in the audit log, as it was recorded
        "waits": 1,
        "rows": True,
    }


def test_they_are_as_they_were_when_they_are_back(used: installation.Installation) -> None:
    again = used.answer(LOOK, extras="cities")
    assert len(again.pop("addresses")) == 13
    assert again == {
        "openapi": True,
        "search": True,
        "link": True,
        "log": True,
        "recorded": True,
        "waits": 1,
        "rows": True,
    }


def test_commands_of_the_engine_do_without_their_package(tmp_path: Path) -> None:
    """The command line names what is there, and asks nobody for it by name."""
    there = installation.made(tmp_path)
    program = (
        "import pkgutil; pkgutil.iter_modules = lambda path: []\n"
        "from synth_engine import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
    )
    assert " city " not in there.start(["-c", program], extras="none")
