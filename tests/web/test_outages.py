"""A database that refuses and a disk that is full, met by every address: what time or an operator mends is no
failure of ours."""

from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import Client, RequestFactory
from pytest_django import Settings

from synthweb.api import problems
from tests import extras
from tests.cast import Cast
from tests.nightly import by_day
from tests.web import addresses, doorbell
from tests.web.rest import PROBLEM
from tests.web.scene import Scene
from tests.web.test_authorisation_matrix import PEOPLE, ask, rows, undone

REST = "api/v1/"
FITTING = ("steward", "custodian", "auditor", "staff", "reader", "nobody")
"""Who is asked for first: the first of them for whom an address does something."""


@pytest.fixture(autouse=True)
def _broker_in_memory() -> Iterator[None]:
    with doorbell.queue_at(doorbell.IN_MEMORY):
        yield


@pytest.fixture(autouse=True)
def _sign_ins_stay_recent(settings: Settings) -> None:
    settings.REAUTHENTICATION_MINUTES = settings.IDLE_MINUTES = 24 * 60


def _fitting() -> Iterator[tuple[str, str, str, int]]:
    """Each method and route with somebody for whom it does something, and the status that they get."""
    for (method, route), expected in rows().items():
        if route == "readyz":  # which says that the database is away by a 503 of its own
            continue
        statuses = dict(zip(PEOPLE, expected, strict=True))
        fitting = [
            person
            for person in FITTING
            if statuses[person] < 400 and (statuses[person] != 302 or person != "nobody")
        ] or [person for person in FITTING if statuses[person] in (409, 422)]
        if fitting:
            yield method, route, fitting[0], statuses[fitting[0]]


class MeetingClient(Client):
    """A client whose requests, and nothing else, meet an outage."""

    def __init__(self, outage: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__(raise_request_exception=False)
        self._outage = outage

    def request(self, **request: Any) -> Any:
        with self._outage():
            return super().request(**request)


def _client(
    person: str, cast: Cast, played: Scene, outage: Callable[[], AbstractContextManager[None]]
) -> Client:
    client = MeetingClient(outage)
    users = {**cast.by_name(), "reader": played.reader}
    if person in users:
        client.force_login(users[person])
    return client


def _wrong(answer: Any, route: str, *, expected: int, others: tuple[int, ...]) -> str:
    """What is wrong with an answer; "" where nothing is."""
    if answer.status_code == expected:
        return ""
    if answer.status_code not in others:
        return f"{answer.status_code}, not {expected} or one of {others}"
    kind = answer["Content-Type"]
    if answer.status_code == 503 and answer.get("Retry-After") != str(
        problems.DATABASE_SECONDS
    ):
        return "503 without Retry-After"
    if not route.startswith(REST):
        shown = f'data-status="{answer.status_code}"' in answer.text
        return "" if shown or answer.status_code < 500 else f"{answer.status_code} as {kind}"
    if kind != PROBLEM or answer.json()["status"] != answer.status_code:
        return f"{answer.status_code} as {kind}"
    return ""


# --- a database that refuses --------------------------------------------------------------------------------
def _writes(statement: str) -> bool:
    return not statement.lstrip("( ").upper().startswith("SELECT") or "FOR UPDATE" in statement


def _is_no_sign_in(statement: str) -> bool:
    """All but what says who is asking."""
    return _writes(statement) or not (
        '"accounts_' in statement or '"django_session"' in statement
    )


REFUSALS: dict[str, Callable[[str], bool]] = {
    "everything": lambda _statement: True,
    "writes": _writes,
    "all but sign-in": _is_no_sign_in,
}


@contextlib.contextmanager
def _refusing(refused: Callable[[str], bool]) -> Iterator[None]:
    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if refused(sql):
            raise OperationalError("the database is locked")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("refusal", by_day(("everything", "writes"), REFUSALS))
def test_a_database_that_refuses_is_a_503_at_every_address(
    cast: Cast, played: Scene, refusal: str
) -> None:
    addresses.make_all(played, cast)
    outage = partial(_refusing, REFUSALS[refusal])
    clients = {person: _client(person, cast, played, outage) for person in FITTING}
    wrong, refused = [], 0
    for method, route, person, expected in _fitting():
        answer = ask(clients[person], method, route, played=played, cast=cast)
        refused += answer.status_code == 503
        if fault := _wrong(answer, route, expected=expected, others=(503,)):
            wrong.append(f"{method} {route} as {person}: {fault}")
        if "logout" in route:
            clients[person] = _client(person, cast, played, outage)
    assert not wrong, "\n".join(wrong)
    assert refused > 100


def _answers(error: Exception) -> tuple[Any, Any]:
    """What REST and a page answer to an error, which passed every view."""
    factory, found = RequestFactory(), []
    for address in ("/api/v1/runs/", "/runs/"):
        try:
            raise error
        except type(error):
            found.append(problems.failed(factory.get(address)))
    return found[0], found[1]


def _sqlite(file: Path) -> Any:
    """A connection of Django's to a database of its own, which waits for no lock."""
    options = {
        **connection.settings_dict,
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 0},
    }
    return DatabaseWrapper(options, "another")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[tuple[Any, sqlite3.Connection]]:
    """A database by a connection of Django's, and by somebody else's."""
    ours = _sqlite(tmp_path / "other.sqlite3")
    theirs = sqlite3.connect(tmp_path / "other.sqlite3", isolation_level=None)
    theirs.execute("CREATE TABLE kept (content BLOB)")
    try:
        yield ours, theirs
    finally:
        ours._close()
        theirs.close()


def _error_of(ours: Any, statement: str) -> Exception:
    with pytest.raises(OperationalError) as raised, ours.cursor() as cursor:
        cursor.execute(statement)
    return raised.value


@pytest.mark.django_db
def test_a_lock_of_sqlite_is_a_503(other: tuple[Any, sqlite3.Connection]) -> None:
    ours, theirs = other
    theirs.execute("BEGIN IMMEDIATE")
    for answer in _answers(_error_of(ours, "INSERT INTO kept VALUES (1)")):
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")


@pytest.mark.django_db
def test_a_full_database_is_a_507(other: tuple[Any, sqlite3.Connection]) -> None:
    ours, _theirs = other
    with ours.cursor() as cursor:
        cursor.execute("PRAGMA max_page_count = 2")
    rest, page = _answers(_error_of(ours, "INSERT INTO kept VALUES (zeroblob(100000))"))
    assert (rest.status_code, page.status_code) == (507, 507)
    assert "Retry-After" not in rest


@pytest.mark.django_db
def test_a_mistake_in_a_statement_stays_a_500(other: tuple[Any, sqlite3.Connection]) -> None:
    """SQLite reports it by the same type."""
    rest, page = _answers(_error_of(other[0], "SELECT nothing FROM nowhere"))
    assert (rest.status_code, page.status_code) == (500, 500)
    assert rest["Content-Type"] == PROBLEM
    assert "nowhere" not in rest.content.decode() + page.content.decode()


@pytest.mark.same_on_every_database
@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (psycopg.errors.DiskFull(), 507),
        (psycopg.errors.AdminShutdown(), 503),
        (psycopg.errors.LockNotAvailable(), 503),
        (psycopg.errors.DeadlockDetected(), 503),
    ],
)
def test_what_postgresql_says_is_told_apart_by_its_code(
    cause: psycopg.Error, status: int
) -> None:
    error = OperationalError("refused")
    error.__cause__ = cause
    assert [answer.status_code for answer in _answers(error)] == [status, status]


@pytest.mark.same_on_every_database
def test_a_connection_that_is_closed_is_a_503() -> None:
    assert [answer.status_code for answer in _answers(InterfaceError("closed"))] == [503, 503]


# --- a disk that is full ------------------------------------------------------------------------------------
@contextlib.contextmanager
def _full_disk() -> Iterator[None]:
    """No file of this process can grow: the kernel refuses each byte, as on a disk that is full. The database
    is no file here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def _no_files_of_sqlite(transactional_db: None) -> Iterator[None]:
    """Its database is in memory here, and so are its temporary files."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA temp_store = MEMORY")
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


STORING = {"PATCH api/v1/uploads/<slug:code>/"}.union(*extras.said("STORING"))
"""They write files, and show that the disk was full."""


@pytest.mark.slow
@pytest.mark.usefixtures("_no_files_of_sqlite")
def test_a_full_disk_is_a_507_at_every_address(cast: Cast, played: Scene) -> None:
    addresses.make_all(played, cast)
    clients = {person: _client(person, cast, played, _full_disk) for person in FITTING}
    wrong, refused = [], set()
    for method, route, person, expected in _fitting():
        with undone():
            answer = ask(clients[person], method, route, played=played, cast=cast)
        if answer.status_code == 507:
            refused.add(f"{method} {route}")
        if fault := _wrong(answer, route, expected=expected, others=(507,)):
            wrong.append(f"{method} {route} as {person}: {fault}")
        if "logout" in route:
            clients[person] = _client(person, cast, played, _full_disk)
    assert not wrong, "\n".join(wrong)
    assert refused >= STORING, refused


# --- how long somebody waits --------------------------------------------------------------------------------
@pytest.mark.same_on_every_database
def test_the_web_waits_less_for_a_lock_than_a_worker(tmp_path: Path) -> None:
    """Another process: this one has its settings already."""
    shown = "print(settings.DATABASES['default']['OPTIONS']['timeout'])"
    program = f"from django.conf import settings; {shown}; import synthweb.wsgi; {shown}"
    environment = os.environ | {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'none.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "synthweb.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["30", "10"]
