"""The ledger's tests once more, on a real PostgreSQL started for them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

import pytest
from django.conf import settings

from tests import services

FILES = [
    "tests/web/test_append_only.py",
    "tests/web/test_ledger_services.py",
    "tests/web/test_ledger_chain.py",
    "tests/web/test_ledger_pages.py",
    "tests/web/test_ledger_hammer.py",
    "tests/web/ledger_on_postgresql.py",
]


@pytest.mark.slow
@pytest.mark.services
def test_ledger_and_audit_hold_on_postgresql():
    with contextlib.ExitStack() as stack:
        address = services.require(lambda: stack.enter_context(services.start_postgres()))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *FILES]
        done = subprocess.run(
            command,
            cwd=settings.BASE_DIR,
            env={**os.environ, "DATABASE_URL": address},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 100 and "skipped" not in done.stdout
