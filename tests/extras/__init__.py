"""Tests of extras. The module `addresses` of each, where it has any, says of them what the tests of all
addresses ask; each of these names may be missing:

- CODES: what stands before a code in an address → the code of an object of the scene;
- MATRIX, SCOPES: rows for `test_authorisation_matrix` and `test_api_scopes`;
- BODIES, PAST_THE_SCOPE: entries of the tables there;
- STORING: those that write files (`test_outages`);
- DERIVED: models whose receipts name releases (`test_marks_of_receipts`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings


def said(name: str) -> list[Any]:
    """What the extras that are on say by this name, if they say anything."""
    modules = [
        import_module(f"tests.extras.{package.rpartition('.')[2]}.addresses")
        for package in settings.EXTRAS
    ]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def merged(name: str) -> dict[Any, Any]:
    """Their tables of this name as one."""
    return {key: value for table in said(name) for key, value in table.items()}
