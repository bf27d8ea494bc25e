"""What every test has: no example fails for the time it takes, long tests run when they are asked for, and
long files begin first."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import both_databases, checks, environment

pytest_plugins = [] if environment.ENGINE_ALONE else ["tests.cast"]

# Whether a machine is busy says nothing of the code: no example fails for the time it takes.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """What a process wrote outlives the process without `fsync`, and no test cuts the power: many tests would
    wait for the disk for as long as they work. A descriptor that is not open is an error as before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        patch.setattr(os, "fdatasync", os.fstat)
        yield


LONGEST_FIELD = csv.field_size_limit()


@pytest.fixture(autouse=True)
def _longest_field() -> Iterator[None]:
    """Readers set the limit of the csv module, which is one for the process, to that of their table: what a
    test reads by itself must not depend on the table of another one."""
    csv.field_size_limit(LONGEST_FIELD)
    yield
    csv.field_size_limit(LONGEST_FIELD)


@pytest.fixture
def nothing_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise alone is taken for something that the table holds in less than one of 10⁹ runs, and not in one of
    20,000."""
    from synth_engine.inference import scale_tree
    from synth_engine.plans import domain_learning

    monkeypatch.setattr(scale_tree, "FALSE_FIND", 1e-10)
    monkeypatch.setattr(domain_learning, "FALSE_ITEMS", 1e-10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="run long audits, and further cases of long tests, as well; they take hours",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if _is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not _is_left_out(item)]
    _longest_first(items)


def _is_left_out(item: pytest.Item) -> bool:
    """Whether this run leaves a test to another one: to that of the long tests, or of the other database."""
    if item.get_closest_marker("nightly") and not item.config.getoption("--nightly"):
        return True
    same = _is_the_same_on_every_database(item)
    if environment.ON_POSTGRES:
        return same
    followed = both_databases.LEFT_TO_POSTGRES in os.environ
    return followed and not same and both_databases.is_left_to_postgres(item.path)


OPENS_THE_DATABASE = {"db", "transactional_db", "live_server"}


def _is_the_same_on_every_database(item: pytest.Item) -> bool:
    """Whether a test is marked so, or cannot touch the database: pytest-django refuses it to a test that has
    neither its mark nor one of its fixtures, and what runs on SQLite shows that this test asks for
    nothing."""
    if item.get_closest_marker("same_on_every_database"):
        return True
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return not item.get_closest_marker("django_db") and OPENS_THE_DATABASE.isdisjoint(fixtures)


def _longest_first(items: list[pytest.Item]) -> None:
    """Parallel workers take file after file in this order: the last ones are short, so that both end
    together."""
    longest = {checks.ROOT / path: place for place, path in enumerate(checks.longest_files())}
    slow = {checks.ROOT / path for path in checks.slow_files()}
    slow |= {item.path for item in items if item.get_closest_marker("slow")}
    # The order of tests within a file stays, because sorting is stable and a file has one key.
    items.sort(key=lambda item: (longest.get(item.path, len(longest)), item.path not in slow))
