"""Settings of the tests: those of the application, and what tests need otherwise. They come from names of the
environment that the application itself does not read, so that no installation can have them."""

from __future__ import annotations

import os

from synthweb.settings import *  # noqa: F403
from synthweb.settings import CELERY_BEAT_SCHEDULE, SPOOL_DIR
from synthweb.settings import RECONCILE_SECONDS as _RECONCILE
from synthweb.settings import RUN_LEASE_SECONDS as _LEASE

# On a busy machine a browser has asked for the next forecast long before the last one is made.
PREVIEWS_AT_ONCE = PREVIEWS_AT_ONCE_PER_PERSON = 10_000
# A test that does not read a download to its end holds the slot until Python collects the response, perhaps
# in a later test, whose people have the same numbers.
DRAWINGS = DRAWINGS_PER_PERSON = 10_000
# Slots of downloads are locks in a folder: people of one worker's database must not wait for those of
# another's.
SPOOL_DIR = SPOOL_DIR.with_name(f"spool-{os.environ.get('PYTEST_XDIST_WORKER', 'gw0')}")

RUN_LEASE_SECONDS = int(os.environ.get("TESTS_RUN_LEASE_SECONDS", _LEASE))
RECONCILE_SECONDS = int(os.environ.get("TESTS_RECONCILE_SECONDS", _RECONCILE))
for _name, _expires in (
    ("reconcile", 60 + RECONCILE_SECONDS),
    ("notifications", RECONCILE_SECONDS),
):
    CELERY_BEAT_SCHEDULE[_name]["schedule"] = float(RECONCILE_SECONDS)
    CELERY_BEAT_SCHEDULE[_name]["options"]["expires"] = _expires
# synthweb/runs/failpoints.py
DEBUG_FAILPOINTS = os.environ.get("TESTS_FAILPOINTS", "")
FAIL_AT = os.environ.get("TESTS_FAIL_AT", "")
