"""An installation of another format is refused at each door, in one sentence, and nothing of it changes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyrage
import pytest
from django.core.checks import Error
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from synthweb.lib import installation_format
from synthweb.lib.installation_format import FORMAT, OtherFormat
from synthweb.local import keys
from synthweb.local.paths import REPOSITORY, Places

OTHER = FORMAT + 1
SENTENCE = (
    f"This installation has format {OTHER}, and this version of synthweb opens format {FORMAT} alone: run "
    "the version"
)
CELERY = ["-m", "celery", "-A", "synthweb.celery"]
DOORS = {
    "run": ["-m", "synthweb.local", "run"],
    "migrate": ["manage.py", "migrate", "--no-input"],
    "migrate without checks": ["manage.py", "migrate", "--no-input", "--skip-checks"],
    "check": ["manage.py", "check", "--database", "default"],
    "backup": ["manage.py", "backup", "{scratch}/copy.age", "--to", "{recipient}"],
    "worker": [*CELERY, "worker", "-c", "1", "-Q", "confidential"],
    "beat": [*CELERY, "beat", "-s", "{scratch}/beat", "--pidfile", ""],
    "web": ["-m", "gunicorn", "--config", "python:synthweb.server.configuration"],
}


def installed(var: Path, name: str | None) -> Path:
    """A folder with keys and a database that notes a format; None for one that notes none."""
    keys.make(var / "keys")
    rows = [("contenttypes", "0001_initial"), *([("synthweb", name)] if name else [])]
    with closing(sqlite3.connect(Places(var).database)) as database, database:
        database.execute("PRAGMA journal_mode=WAL")  # as the application has it
        database.execute(
            "CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied text)"
        )
        database.executemany(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-01-01')",
            rows,
        )
    return var


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_each_door_refuses_another_format_and_changes_nothing(
    door: str, tmp_path: Path
) -> None:
    var, scratch = installed(tmp_path / "var", str(OTHER)), tmp_path / "scratch"
    scratch.mkdir()
    before = everything(var)
    recipient = pyrage.x25519.Identity.generate().to_public()
    command = [part.format(scratch=scratch, recipient=recipient) for part in DOORS[door]]
    if door == "web":
        command += ["--bind", f"unix:{scratch}/socket", "synthweb.wsgi"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    own = {
        name: text
        for name, text in os.environ.items()
        if name != "DATABASE_URL" and not name.startswith("SYNTHWEB_")
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=REPOSITORY,
        env=own
        | {"SYNTHWEB_VAR": str(var), "DJANGO_SETTINGS_MODULE": "synthweb.settings"}
        | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode not in (0, None), done.stdout
    assert SENTENCE in done.stderr
    assert "Traceback" not in done.stderr
    assert everything(var) == before
    assert not (scratch / "copy.age").exists()
    assert not list(temporary.glob("synthweb-*"))


@pytest.mark.parametrize(("name", "found"), [("0", "format 0,"), (None, "without a number,")])
def test_a_file_of_another_format_or_of_none_is_refused(
    name: str | None, found: str, tmp_path: Path
) -> None:
    var = installed(tmp_path, name)
    with pytest.raises(OtherFormat, match=found):
        installation_format.require_file(Places(var).database)


def test_a_file_of_this_format_is_opened_and_one_that_is_not_there_is_not_made(
    tmp_path: Path,
) -> None:
    installation_format.require_file(Places(installed(tmp_path, str(FORMAT))).database)
    installation_format.require_file(tmp_path / "none.sqlite3")
    assert not (tmp_path / "none.sqlite3").exists()
    (tmp_path / "empty.sqlite3").touch()
    installation_format.require_file(tmp_path / "empty.sqlite3")


@pytest.mark.django_db
def test_the_database_of_the_server_says_its_format_and_another_one_is_refused() -> None:
    installation_format.require()
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app="synthweb").update(name=str(OTHER))
    with pytest.raises(OtherFormat, match=f"format {OTHER},"):
        installation_format.require()
    problems = installation_format.check_format(databases=["default"])
    assert [(type(problem), problem.id) for problem in problems] == [(Error, "synthweb.E006")]
    with pytest.raises(CommandError, match=f"format {OTHER},"):
        call_command("migrate", verbosity=0, skip_checks=True)
    assert recorder.applied_migrations().keys() >= {("synthweb", str(OTHER))}
    with pytest.raises(SystemExit) as ended:
        installation_format.stop_if_other()
    assert f"format {OTHER}," in str(ended.value.code)
