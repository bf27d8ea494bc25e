"""From the version before to this one: the database of then, migrated, keeps its proofs and its locks."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from synthweb.local.paths import REPOSITORY
from tests.environment import WORKER
from tests.web import old_database_rows as rows

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[str]:
    """The address of an empty database beside that of the tests, on the same kind of server, and of this worker alone."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'old.sqlite3'}"
        return
    name = f"upgraded_{WORKER}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    finally:
        with contextlib.suppress(Exception), connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def upgraded(address: str, *, rows_file: Path | None = None) -> dict[str, Any]:
    environment = {
        **os.environ,
        "DATABASE_URL": address,
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
    }
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.web.old_database",
        *([str(rows_file)] if rows_file else []),
    ]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_database_of_the_version_before_keeps_its_chains_its_triggers_and_goes_on(
    empty: str,
) -> None:
    found = upgraded(empty)
    assert found["version"] == (
        "sqlite"
        if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
        else "postgresql"
    )
    assert found["rows"] == {
        "entries": rows.count("ledger.ledgerentry"),
        "deeds": rows.count("audit.auditentry"),
    }
    assert found["faults"] == []
    assert found["heads"] == [
        rows.last_hash("ledger.ledgerentry"),
        rows.last_hash("audit.auditentry"),
    ]
    assert found["refused"] == found["expected"] != []
    assert found["checks"] == []
    assert [Fraction(epsilon) <= 1 for epsilon in found["receipts"]] == [
        True
    ]  # the receipt of then verifies today
    assert found["after_going_on"] == []


def test_an_entry_changed_before_the_upgrade_is_found_after_it(
    empty: str, tmp_path: Path
) -> None:
    changed = tmp_path / "rows.json"
    changed.write_text(
        rows.PATH.read_text().replace('"reason": "Agreed."', '"reason": "Agreed!"')
    )
    assert any("was changed" in fault for fault in upgraded(empty, rows_file=changed)["faults"])
