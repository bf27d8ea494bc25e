"""What several tests of the web application begin with."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone, translation
from pytest_django import Settings

from synthweb.lib import logs
from tests.environment import WORKER

if TYPE_CHECKING:
    from tests.cast import Cast
    from tests.web.describe_page import DescribePage


@pytest.fixture(autouse=True)
def _no_language_of_another_test() -> Iterator[None]:
    """A request that a test client makes leaves its language active in the thread, as the middleware does for
    the next request."""
    translation.deactivate()
    yield
    translation.deactivate()


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this process goes on from noon: no day and no year ends during the test."""
    real = timezone.now
    begun = real()
    shift = begun.replace(hour=12, minute=0, second=0, microsecond=0) - begun
    monkeypatch.setattr(timezone, "now", lambda: real() + shift)


@pytest.fixture
def places(settings: Settings, tmp_path: Path) -> None:
    """A vault and a store of previews that nobody else has."""
    settings.VAULT_DIR, settings.PREVIEW_DIR = tmp_path / "vault", tmp_path / "previews"


@pytest.fixture
def describe_page(browser: Callable[..., Client], cast: Cast) -> DescribePage:
    """The describe page of a table that was read, as its steward works it."""
    from tests.web.describe_page import DescribePage, ready  # it loads the engine

    return DescribePage(browser(cast.steward), ready(cast))


@pytest.fixture
def empty_database(tmp_path: Path) -> Iterator[str]:
    """The address of an empty database beside that of the tests, on the same kind of server, and of this
    worker alone."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.sqlite3'}"
        return
    name = f"empty_{WORKER}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    finally:
        with contextlib.suppress(Exception), connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def everything_logged(tmp_path: Path, db: None) -> Iterator[Path]:
    """A file with every record of every logger, as the application formats it."""
    file = tmp_path / "log"
    handler = logging.FileHandler(file)
    handler.setFormatter(logs.Plain())
    names = [None, *logging.root.manager.loggerDict]
    levels = {name: logging.getLogger(name).level for name in names}
    logging.getLogger().addHandler(handler)
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    connection.force_debug_cursor = True  # every statement with its values
    yield file
    connection.force_debug_cursor = False
    logging.getLogger().removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
