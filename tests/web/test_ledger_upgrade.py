"""From the version before to this one: the database of then, migrated, keeps its proofs and its locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from synthweb.local.paths import REPOSITORY
from tests.web import old_database_rows as rows

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


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
    empty_database: str,
) -> None:
    found = upgraded(empty_database)
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
    empty_database: str, tmp_path: Path
) -> None:
    changed = tmp_path / "rows.json"
    changed.write_text(
        rows.PATH.read_text().replace('"reason": "Agreed."', '"reason": "Agreed!"')
    )
    assert any(
        "was changed" in fault
        for fault in upgraded(empty_database, rows_file=changed)["faults"]
    )
