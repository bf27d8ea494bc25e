"""Rows that many tests begin with: the application's services make them once in each process, and they are
written again as they were for each further test."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db.models import Model

Made = TypeVar("Made")


class Remembered(Generic[Made]):
    """What `make` writes into tables that are empty."""

    def __init__(self, make: Callable[[], Made], *tables: type[Model]) -> None:
        """tables: all that `make` writes into, each after those that it refers to."""
        self._make, self._tables = make, tables
        self._made: Made | None = None
        self._rows: dict[type[Model], list[Model]] = {}

    def again(self) -> Made:
        """What `make` returns, with its rows in the database."""
        if any(table._base_manager.exists() for table in self._tables):
            return self._make()
        if self._made is None:
            made = self._make()
            self._rows = {table: list(table._base_manager.all()) for table in self._tables}
            self._made = copy.deepcopy(made)
            return made
        for table, rows in self._rows.items():
            table._base_manager.bulk_create(copy.deepcopy(rows))
        return copy.deepcopy(self._made)
