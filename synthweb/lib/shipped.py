"""Where the application's files lie besides its code: templates, static files, pages, examples. In a checkout
they are at its top; a wheel has them in the package."""

from __future__ import annotations

import os
from pathlib import Path

_IN_PACKAGE = Path(__file__).resolve().parents[1] / "files"
IS_INSTALLED = _IN_PACKAGE.is_dir()
ROOT = _IN_PACKAGE if IS_INSTALLED else Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """Where an installation of one machine keeps its data: in the checkout, or in the home of its user."""
    if not IS_INSTALLED:
        return ROOT / "var"
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "synthweb"


def command(verb: str) -> str:
    """How a person calls what the installation of one machine does: run, stop, reset, demo-logins."""
    return f"synthweb {verb}" if IS_INSTALLED else f"make {verb}"
