"""Which tests of the web application run on which database, when all run: `make run` has SQLite, an office
has PostgreSQL."""

from __future__ import annotations

from pathlib import Path

LEFT_TO_POSTGRES = "TESTS_LEFT_TO_POSTGRES"
"""In the environment of a run on SQLite that one on PostgreSQL follows."""
WEB = Path(__file__).parent / "web"
EXTRAS = sorted((WEB.parent / "extras").glob("*/test_web*.py"))
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
    "append_only",
    "backup",
    "counters",
    "fault_matrix",
    "installation_format",
    "one_record_per_account",
    "outages",
    "runs",
    "runs_clocks",
    "runs_machine",
    "saved_meanwhile",
    "search",
    "two_on_one_host",
    "yearly_limits",
)
GROUPS_ON_BOTH = ("ledger",)
"""Files, and groups of files by their first word, that lock, count, search, or keep what was paid for: on
SQLite and on PostgreSQL. What other files ask of a database is left to PostgreSQL."""


def is_left_to_postgres(path: Path) -> bool:
    """Whether SQLite need not have the tests of a file that touch the database, when PostgreSQL has them
    afterwards."""
    name = path.stem.removeprefix("test_")
    on_sqlite = name in SAME_ON_EVERY_DATABASE + ON_BOTH or name.startswith(GROUPS_ON_BOTH)
    return (path.parent == WEB and not on_sqlite) or path in EXTRAS


def of_extras() -> list[str]:
    """The files of extras that have the questions of their pages to the database."""
    return [str(path.relative_to(WEB.parents[1])) for path in EXTRAS]
