"""The cast: five people, each signed in with a browser of their own.

Organisation "Statistics Office": steward, custodian, analyst, auditor, and staff who manages people (and
audits). Organisation "Elsewhere": stranger, a steward there, to whom everything here must look as if it did
not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings
from selenium import webdriver

from synthweb.accounts import services
from synthweb.accounts.models import Membership, Organisation, Role, User
from synthweb.audit.models import AuditEntry, ChainHead
from tests import environment
from tests import services as started
from tests.e2e.themes import prefer
from tests.flush import flush_empties_append_only_tables  # noqa: F401  (a fixture for every test)
from tests.remembered import Remembered
from tests.web.html import Reader

if TYPE_CHECKING:
    from tests.web.scene import Scene

Started = TypeVar("Started")
PASSWORD = "correct horse battery staple"  # of everybody in the cast


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everybody of a play."""

    organisation: Organisation
    elsewhere: Organisation
    steward: User
    custodian: User
    analyst: User
    auditor: User
    staff: User
    stranger: User

    def by_name(self) -> dict[str, User]:
        """Role in the play → user."""
        names = ("steward", "custodian", "analyst", "auditor", "staff", "stranger")
        return {name: getattr(self, name) for name in names}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """SQLite in a file, as in production: WAL and locks between connections do not exist in memory. It does
    not wait for the disk: that matters when the power is cut."""
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(
            environment.FOLDER / f"test-{worker}.sqlite3"
        )
        options = database["OPTIONS"]
        options["init_command"] = options["init_command"].replace(
            "synchronous=FULL", "synchronous=OFF"
        )
    else:
        database.setdefault("TEST", {})["NAME"] = f"test_synthweb_{worker}"


@pytest.fixture(autouse=True)
def _quick(settings: Settings) -> None:
    """Argon2 is slow on purpose, and a server looks for its static files at every start: a test pays for
    neither, but for their own tests. Live servers of tests serve static files by themselves."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_USE_FINDERS = False


@pytest.fixture
def cast(db: None) -> Cast:
    return CAST.again()


def assemble() -> Cast:
    """Everybody, by the services that make organisations and people."""
    here = services.create_organisation(actor="system", name="Statistics Office")
    there = services.create_organisation(actor="system", name="Elsewhere")

    def user(
        name: str, role: Role, *, organisation: Organisation = here, is_staff: bool = False
    ) -> User:
        return services.create_user(
            actor="system",
            organisation=organisation,
            person=services.NewPerson(username=name, is_staff=is_staff),
            roles=[role],
            password=PASSWORD,
            must_change_password=False,
        )

    return Cast(
        organisation=here,
        elsewhere=there,
        steward=user("steward", Role.STEWARD),
        custodian=user("custodian", Role.CUSTODIAN),
        analyst=user("analyst", Role.ANALYST),
        auditor=user("auditor", Role.AUDITOR),
        staff=user("staff", Role.AUDITOR, is_staff=True),
        stranger=user("stranger", Role.STEWARD, organisation=there),
    )


CAST = Remembered(assemble, Organisation, User, Membership, ChainHead, AuditEntry)


@pytest.fixture
def played(cast: Cast) -> Scene:
    """The main job, played through before the test begins."""
    # The worker reads tables: most tests of pages do without the libraries that it imports.
    from tests.web import scene

    return scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )


@pytest.fixture
def organisation(cast: Cast) -> Organisation:
    return cast.organisation


@pytest.fixture
def steward(cast: Cast) -> User:
    return cast.steward


@pytest.fixture
def custodian(cast: Cast) -> User:
    return cast.custodian


@pytest.fixture
def analyst(cast: Cast) -> User:
    return cast.analyst


@pytest.fixture
def auditor(cast: Cast) -> User:
    return cast.auditor


@pytest.fixture
def staff(cast: Cast) -> User:
    return cast.staff


@pytest.fixture
def stranger(cast: Cast) -> User:
    return cast.stranger


@pytest.fixture
def browser(db: None) -> Callable[..., Client]:
    """`browser(user)` is a client signed in as that user; `browser()` is nobody's."""

    def open_browser(user: User | None = None, *, enforce_csrf_checks: bool = False) -> Client:
        client = Reader(enforce_csrf_checks=enforce_csrf_checks)
        if user is not None:
            client.force_login(user)
        return client

    return open_browser


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Celery's address of a Redis that this test run started."""
    yield from _while_it_runs(started.start_redis())


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The DATABASE_URL of a PostgreSQL that this test run started."""
    yield from _while_it_runs(started.start_postgres())


@pytest.fixture(scope="session")
def _chrome() -> Iterator[webdriver.Chrome]:
    yield from _while_it_runs(started.chromium())


@pytest.fixture
def chrome(_chrome: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """A headless Chromium, 1440 wide; its console is `chrome.get_log("browser")`. Nothing stays behind a
    test: a page would go on asking a server that is busy with the next one, and a theme would be the next
    one's."""
    yield _chrome
    _chrome.delete_all_cookies()
    _chrome.execute_script(
        "try { localStorage.clear(); sessionStorage.clear() } catch { /* a page without an address has "
        "none */ }"
    )
    _chrome.get("about:blank")
    prefer(_chrome, "")
    _chrome.set_window_size(*started.WINDOW)
    _chrome.get_log("browser")


def _while_it_runs(service: AbstractContextManager[Started]) -> Iterator[Started]:
    with ExitStack() as stack:
        yield started.require(lambda: stack.enter_context(service))
