"""Links to a database and a broker on another machine are encrypted and go to the right one, or are not
made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from synthweb.backups import database
from synthweb.lib import env
from tests import services
from tests.tls_link import HOST, Certificate, agree, certificate, forwarding

ROOT = Path(__file__).resolve().parents[2]
# What each way to the two services says, in a process that has settings of its own.
LOOK = """
import json, django
django.setup()
from django.core.cache import caches
from django.db import connection
from synthweb.celery import app

def database():
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return [cursor.fetchone()[0], connection.connection.pgconn.ssl_in_use]

def broker():
    with app.connection_for_write() as link:
        link.ensure_connection(max_retries=1, interval_start=0)
        return link.connected

def cache():
    caches["default"].set("a", 1)
    return caches["default"].get("a")

answers = {}
for each in (database, broker, cache):
    try:
        answers[each.__name__] = each()
    except Exception as error:
        answers[each.__name__] = type(error).__name__
print(json.dumps(answers))
"""


class Links:
    """A PostgreSQL and a Redis behind TLS, whose certificate is of one authority; there is another one,
    too."""

    def __init__(self, folder: Path, database: int, broker: int, address: str) -> None:
        self._folder, self._database, self._broker = folder, database, broker
        self._given = urlsplit(address)

    def look(self, authority: str, **other: str) -> dict[str, object]:
        """What a process sees that trusts an authority."""
        trusted = quote(str(self._folder / f"{authority}.pem"))
        at = self._given
        environment = {
            "DATABASE_URL": f"postgres://{at.username}:{at.password}@{HOST}:{self._database}{at.path}"
            f"?sslmode=verify-full&sslrootcert={trusted}",
            "SYNTHWEB_BROKER": f"rediss://{HOST}:{self._broker}/0?ssl_cert_reqs=required&ssl_ca_certs="
            f"{trusted}",
            "SYNTHWEB_SECRET_KEY": "k" * 60,
            "DJANGO_SETTINGS_MODULE": "synthweb.settings",
        }
        done = subprocess.run(
            [sys.executable, "-c", LOOK],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder), **environment, **other},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return answers


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Links]:
    folder = tmp_path_factory.mktemp("authorities")
    ours: Certificate = certificate(folder, "ours")
    certificate(folder, "another")
    with ExitStack() as stack:
        address = services.require(lambda: stack.enter_context(services.start_postgres()))
        broker = services.require(lambda: stack.enter_context(services.start_redis()))
        port = urlsplit(address).port
        assert port is not None
        database = stack.enter_context(forwarding(("127.0.0.1", port), of=ours, greet=agree))
        behind = stack.enter_context(
            forwarding(broker.removeprefix("redis+socket://"), of=ours)
        )
        yield Links(folder, database, behind, address)


@pytest.mark.slow
@pytest.mark.services
def test_links_to_other_machines_are_encrypted_and_keep_their_time_outs(links: Links) -> None:
    assert links.look("ours") == {"database": ["20s", True], "broker": True, "cache": 1}


@pytest.mark.slow
@pytest.mark.services
def test_a_certificate_of_another_authority_is_no_link(links: Links) -> None:
    answers = links.look("another")
    assert answers["database"] == "OperationalError"
    assert answers["broker"] == "OperationalError"
    assert answers["cache"] == "ConnectionError"


def test_backups_take_the_same_link(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    def run(*_: object, env: dict[str, str], **__: object) -> subprocess.CompletedProcess[str]:
        seen.update(env)
        return subprocess.CompletedProcess([], 0)

    address = (
        "postgres://ada:secret@db.example.org/name?sslmode=verify-full&sslrootcert=/ca.pem"
    )
    given = environ.Env.db_url_config(address)
    monkeypatch.setattr(database.subprocess, "run", run)
    monkeypatch.setattr(database, "connection", SimpleNamespace(settings_dict=given))
    database._run("pg_dump")
    assert (seen["PGHOST"], seen["PGSSLMODE"]) == ("db.example.org", "verify-full")
    assert seen["PGSSLROOTCERT"] == "/ca.pem"
    assert "PGSSLCERT" not in seen or seen["PGSSLCERT"] == os.environ.get("PGSSLCERT")


# --- secrets ------------------------------------------------------------------------------------------------
def test_a_secret_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "credential"
    file.write_text("postgres://ada:secret@db.example.org/synthweb\n")
    monkeypatch.delenv("A_SECRET", raising=False)
    monkeypatch.setenv("A_SECRET_FILE", str(file))
    assert env.secret("A_SECRET", default="none") == file.read_text().strip()
    monkeypatch.setenv("A_SECRET", "said")
    assert env.secret("A_SECRET") == "said"


def test_a_file_of_a_secret_that_cannot_be_read_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("A_SECRET", raising=False)
    monkeypatch.delenv("A_SECRET_FILE", raising=False)
    assert env.secret("A_SECRET", default="none") == "none"
    monkeypatch.setenv("A_SECRET_FILE", str(tmp_path / "nothing"))
    with pytest.raises(ImproperlyConfigured, match="correct the path"):
        env.secret("A_SECRET", default="none")
