"""The public benchmark data beside the checkout, for the tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SYNTHWEB_SHARED", Path(__file__).parents[2] / "shared"))


def needs(name: str) -> Path:
    """The file, or a skipped test where it is not there."""
    if not (ROOT / name).exists():
        pytest.skip(
            "the public benchmark data is not beside this checkout; set SYNTHWEB_SHARED"
        )
    return ROOT / name
