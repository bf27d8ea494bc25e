"""What every test has: no example fails for the time it takes, and long tests run when they are asked for."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import environment

pytest_plugins = [] if environment.ENGINE_ALONE else ["tests.cast"]

# Whether a machine is busy says nothing of the code: no example fails for the time it takes.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


LONGEST_FIELD = csv.field_size_limit()


@pytest.fixture(autouse=True)
def _longest_field() -> Iterator[None]:
    """Readers set the limit of the csv module, which is one for the process, to that of their table: what a test
    reads by itself must not depend on the table of another one."""
    csv.field_size_limit(LONGEST_FIELD)
    yield
    csv.field_size_limit(LONGEST_FIELD)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="run the long tests as well; they take about an hour",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--nightly"):
        long = [item for item in items if item.get_closest_marker("nightly")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
