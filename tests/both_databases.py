"""Which tests of the web application run on which database, when all run: `make run` has SQLite, an office has PostgreSQL."""

from __future__ import annotations

from pathlib import Path

LEFT_TO_POSTGRES = "TESTS_LEFT_TO_POSTGRES"
"""In the environment of a run on SQLite that one on PostgreSQL follows."""
WEB = Path(__file__).parent / "web"
SAME_ON_EVERY_DATABASE = (
    "amounts",
    "deployment",
    "figures",
    "health_and_logs",
    "local_installation",
    "templates",
    "vault",
    "words",
)
"""Files that touch no database, or bring one of their own: on SQLite alone."""
ON_BOTH = (
    "api",
    "append_only",
    "audit",
    "backup",
    "cities",
    "counters",
    "databases",
    "datasets_lifecycle",
    "datasets_upload",
    "fault_matrix",
    "installation_format",
    "metrics",
    "one_record_per_account",
    "outages",
    "paid_checks",
    "releases",
    "request_log",
    "resumable_uploads",
    "retention",
    "runs",
    "runs_clocks",
    "runs_machine",
    "saved_meanwhile",
    "search",
    "two_on_one_host",
    "uploads_interrupted",
    "yearly_limits",
)
GROUPS_ON_BOTH = ("accounts", "ledger")
"""Files, and groups of files by their first word, that lock, count, search, or keep what was paid for: on SQLite and on PostgreSQL. What
other files ask of a database is left to PostgreSQL."""


def is_left_to_postgres(path: Path) -> bool:
    """Whether SQLite need not have the tests of a file that touch the database, when PostgreSQL has them afterwards."""
    name = path.stem.removeprefix("test_")
    on_sqlite = name in SAME_ON_EVERY_DATABASE + ON_BOTH or name.startswith(GROUPS_ON_BOTH)
    return path.parent == WEB and not on_sqlite
