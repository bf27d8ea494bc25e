"""Fixtures of the web for tests of extras, and no tests of extras that are off."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from tests.web.conftest import *  # noqa: F403
from tests.web.conftest import _no_language_of_another_test as _no_language_of_another_test

HERE = Path(__file__).parent
HOME = HERE.parents[1] / "synthweb" / "extras"
collect_ignore = [
    folder.name
    for folder in HERE.iterdir()
    if (HOME / folder.name).is_dir() and f"synthweb.extras.{folder.name}" not in settings.EXTRAS
]
