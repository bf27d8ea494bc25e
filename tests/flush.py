"""Emptying the test database between tests that commit.

The application has no way to empty an append-only table, on purpose. Tests own their database, so they take
the triggers down just before Django's flush; the flush ends with `post_migrate`, which puts them up again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connections
from django.test import TransactionTestCase

from synthweb.lib import append_only


def take_triggers_down(using: str = "default", *, tables: set[str] | None = None) -> None:
    """What an owner of the database could do with bare SQL."""
    connection = connections[using]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for model in append_only.protected_models():
            table = model._meta.db_table
            if tables is not None and table not in tables:
                continue
            for name in append_only.trigger_names(table, vendor=connection.vendor):
                place = f" ON {quote(table)}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER IF EXISTS {quote(name)}{place}")


@pytest.fixture(scope="session", autouse=True)
def flush_empties_append_only_tables() -> Iterator[None]:
    """Every transactional test, live servers among them, ends with the triggers down, a flush, the triggers
    up."""
    original = TransactionTestCase._fixture_teardown

    def teardown(case: TransactionTestCase) -> None:
        for using in case._databases_names(include_mirrors=False):
            take_triggers_down(using)
        original(case)

    TransactionTestCase._fixture_teardown = teardown
    yield
    TransactionTestCase._fixture_teardown = original
