"""Links and test data by the client, against the real application."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from synthweb_client import Client, ServerRefused

from synthweb.accounts.services import create_token
from synthweb.runs.models import Link
from tests.cast import Cast
from tests.client.conftest import Connect
from tests.web.addresses import link_of
from tests.web.scene import DOMAIN, Scene


def test_links_are_read_proposed_and_withdrawn(
    cast: Cast, scene: Scene, server: str, connect: Connect
) -> None:
    there = link_of(scene)
    with connect(cast.steward) as reading:
        (link,) = reading.links()
        assert (link.code, link.facts.side, link.facts.other) == (there.code, "left", None)
        assert reading.link(there.code).facts == link.facts
        assert link.document("agreement") == link.facts.agreement
        with pytest.raises(ServerRefused):
            link.document("estimate")
        with pytest.raises(ServerRefused):
            link.withdraw()
    _, token = create_token(user=cast.steward, name="spends", scopes=["read", "spend"], days=1)
    terms = {
        "dataset": scene.dataset.code,
        "texts": ["region"],
        "epsilon": "0.1",
        "other_epsilon": "0.1",
        "rows": 300,
    }
    with Client(server, token=token) as client:
        made = client.propose_link(terms, key="once")
        assert made.facts.invitation and made.facts.state == "proposed"
        # A repeated request is the same link, and its invitation is given once.
        again = client.propose_link(terms, key="once")
        assert again.code == made.code and again.facts.invitation == ""
        assert Link.objects.count() == 2
        with pytest.raises(ServerRefused):
            client.link_offer(
                made.facts.invitation, dataset=scene.dataset.code, texts=["region"]
            )
        assert made.withdraw().facts.state == made.again().facts.state == "withdrawn"
        with pytest.raises(ServerRefused):
            made.start("0" * 64)


def test_test_data_are_written_with_their_faults(
    scene: Scene, connect: Connect, tmp_path: Path
) -> None:
    with connect(scene.reader) as client:
        kinds = {each["id"] for each in client.scenarios()}
        assert "near-duplicates" in kinds
        path = client.release(scene.release.code).save_test_data(
            tmp_path / "wrong.zip",
            {
                "schema": "synth_engine/scenario/1",
                "steps": [{"kind": "near-duplicates", "copies": 3}],
            },
            rows=20,
            seed="public",
        )
    with zipfile.ZipFile(path) as archive:
        (record,) = [name for name in archive.namelist() if "record" in name]
        assert json.loads(archive.read(record))


def test_test_data_of_a_description_are_written(
    cast: Cast, scene: Scene, connect: Connect, tmp_path: Path
) -> None:
    scenario = {
        "schema": "synth_engine/scenario/1",
        "steps": [{"kind": "near-duplicates", "copies": 3}],
    }
    with connect(cast.steward) as client:
        first, second = (
            client.save_test_data(
                tmp_path / name, scenario, rows=20, seed="public", **source
            ).read_bytes()
            for name, source in (
                ("of-dataset.zip", {"dataset": scene.dataset.code}),
                ("brought.zip", {"description": DOMAIN}),
            )
        )
        assert first == second
        with pytest.raises(ServerRefused):
            client.save_test_data(tmp_path / "none.zip", scenario, rows=20)
    assert not (tmp_path / "none.zip").exists()
