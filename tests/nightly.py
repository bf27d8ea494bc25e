"""Cases of a test that run in every run, beside those that run with `--nightly` alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def by_day(day: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """All cases as parameters of a test: those in `day` are in every run, and the others nightly."""
    return [
        case if case in day else pytest.param(case, marks=pytest.mark.nightly) for case in cases
    ]
