"""The version of synthweb stands in one place, `synth_engine/__init__.py`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from packaging.version import Version

from synth_engine import __version__
from synth_engine.privacy import receipt
from tests.cast import Cast

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "synth_engine" / "__init__.py"


def test_it_is_a_version_in_its_normal_form() -> None:
    assert str(Version(__version__)) == __version__


@pytest.mark.parametrize("folder", [ROOT, ROOT / "client", ROOT / "deploy" / "wheel"])
def test_packages_read_it(folder: Path) -> None:
    read = tomllib.loads((folder / "pyproject.toml").read_text())
    assert "version" not in read["project"]
    assert "version" in read["project"]["dynamic"]
    assert (folder / read["tool"]["hatch"]["version"]["path"]).resolve() == PLACE


def test_receipts_rest_and_the_client_go_by_it() -> None:
    assert receipt.versions()["synth_engine"] == __version__
    assert settings.SPECTACULAR_SETTINGS["VERSION"] == settings.REST_VERSION
    interface = Version(__version__).release[:2]
    assert f"{interface[0]}.{interface[1]}" == settings.REST_VERSION
    transport = ROOT / "client" / "src" / "synthweb_client" / "transport.py"
    assert f"\nAPI_VERSION = {interface}\n" in transport.read_text()


@pytest.mark.django_db
def test_pages_say_it_to_people_who_are_signed_in(cast: Cast, client: Client) -> None:
    assert "data-version" not in client.get("/accounts/login/").text
    client.force_login(cast.steward)
    assert f'data-version="{__version__}"' in client.get("/").text
