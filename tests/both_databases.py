"""Which tests of the web application run on which database, when all run: `make run` has SQLite, an office has PostgreSQL."""

from __future__ import annotations

from pathlib import Path

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
    "accounts",
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
    "ledger",
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
"""Files, and groups of them by their first word, that lock, count, search, or keep what was paid for: on SQLite and on PostgreSQL. What other
files ask of a database is asked of PostgreSQL, and of SQLite by the browser's journeys and by whoever runs a file by itself."""
GROUPS = ("ledger", "accounts")


def is_on_sqlite(path: Path) -> bool:
    """Whether SQLite has the whole of a file when PostgreSQL is asked afterwards."""
    name = path.stem.removeprefix("test_")
    elsewhere = path.parent != WEB or name in SAME_ON_EVERY_DATABASE
    return elsewhere or name in ON_BOTH or name.startswith(GROUPS)
