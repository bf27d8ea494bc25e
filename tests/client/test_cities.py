"""Cities by the client, against the real application."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from synthweb_client import ServerRefused

from synthweb.extras.cities import building
from tests.client.conftest import Connect
from tests.extras.cities.test_web import AREAS, HOUSEHOLDS, SIMULATED
from tests.web.scene import Scene


def test_a_city_is_generated_and_saved_for_a_simulation(
    scene: Scene,
    connect: Connect,
    tmp_path: Path,
) -> None:
    with connect(scene.reader) as client:
        city = client.generate_city(
            SIMULATED,
            areas=AREAS,
            releases={"persons": scene.release.code},
            descriptions={"households": HOUSEHOLDS},
            key="town",
        )
        assert city.facts.state == "waiting" and city.facts.exports == ()
        with pytest.raises(ServerRefused):
            city.save_export(tmp_path / "early.zip", "matsim")
        building.compute(code=city.code)
        city = city.again()
        assert city.facts.receipt and city.facts.exports == ("matsim", "populationsim")
        assert [each.code for each in client.cities()] == [client.city(city.code).code]
        for form, name in (
            ("matsim", "facilities.xml.gz"),
            ("populationsim", "geo_cross_walk.csv"),
        ):
            saved = city.save_export(tmp_path / f"{form}.zip", form)
            with zipfile.ZipFile(saved) as archive:
                assert name in archive.namelist()
        with zipfile.ZipFile(city.save_tables(tmp_path / "city.zip")) as archive:
            assert "persons.parquet" in archive.namelist()
        with pytest.raises(ValueError, match=r"\.sqlite"):
            city.save_tables(tmp_path / "city.csv")
