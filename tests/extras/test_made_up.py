"""An extra that a stranger wrote comes in by its own folder and one line (`made_up`): a job, a card, a REST
resource, a command and a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extras import installation
from tests.extras.installation import ASK_EVERYTHING, PREPARE

MADE_UP = Path(__file__).parent / "made_up"
USE = (
    PREPARE
    + ASK_EVERYTHING
    + """
from synthweb.celery import app
from synthweb.ledger import selectors
from synthweb.releases import tabs
from tests.web import scene
played = scene.play(
    steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
)
asked = client.post("/api/v1/greetings/")
app.loader.import_default_modules()
app.tasks["greetings.write"](asked.json()["code"])
card = tabs.card_of("greeting")
print(json.dumps({
    "asked": asked.status_code,
    "written": [each["words"] for each in client.get("/api/v1/greetings/").json()],
    "openapi": "/api/v1/greetings/" in opened,
    "page": client.get(f"/greetings/{asked.json()['code']}/").text,
    "search": "Good morning, steward" in client.get("/search/", {"q": "morning"}).text,
    "link": "/greetings/" in client.get("/releases/").text,
    "card": client.get(card.address(played.release)).text == f"Good morning, {played.release.name}",
    "offered": card in tabs.offered(cast.steward, played.release),
}))
"""
)


@pytest.mark.slow
def test_a_stranger_s_extra_comes_in_by_its_folder_and_one_line(tmp_path: Path) -> None:
    there = installation.made(tmp_path, path=MADE_UP)
    found = there.answer(USE, extras="greetings")
    assert found == {
        "asked": 202,
        "written": ["Good morning, steward"],
        "openapi": True,
        "page": "Good morning, steward",
        "search": True,
        "link": True,
        "card": True,
        "offered": True,
    }


def test_its_command_is_one_of_the_engine(tmp_path: Path) -> None:
    there = installation.Installation(folder=tmp_path, path=MADE_UP)
    assert there.start(["-m", "synth_engine", "greet"], extras="none") == "Good morning\n"


def test_an_extra_that_is_not_there_is_named(tmp_path: Path) -> None:
    there = installation.Installation(folder=tmp_path)
    with pytest.raises(AssertionError, match=r"SYNTHWEB_EXTRAS: 'greetings' is no package"):
        there.run("", extras="greetings")
