"""What several tests of the web application begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.cast import Cast
from tests.web.desk import Desk, ready


@pytest.fixture
def places(settings: Settings, tmp_path: Path) -> None:
    """A vault and a store of previews that nobody else has."""
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"


@pytest.fixture
def desk(browser: Callable[..., Client], cast: Cast) -> Desk:
    """The describe page of a table that was read, as its steward works it."""
    return Desk(browser(cast.steward), ready(cast))
