"""The client, installed from the checkout, against the real application."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from tests import environment

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = environment.FOLDER / "client"
"""Where the package is installed for this run of the tests: what users get, and not the sources beside it."""


def install() -> None:
    """Builds and installs the client as `pip install ./client` does, once a run, without network: its
    libraries are those of the tests."""
    with (environment.FOLDER / "client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel workers share the folder
        if not INSTALLED.exists():
            subprocess.run(
                [
                    *(
                        sys.executable,
                        "-m",
                        "pip",
                        "--disable-pip-version-check",
                        "-q",
                        "install",
                    ),
                    *("--no-deps", "--no-index", "--no-build-isolation"),
                    *("--target", str(INSTALLED), str(ROOT / "client")),
                ],
                check=True,
                timeout=300,
            )
    if str(INSTALLED) not in sys.path:
        sys.path.insert(0, str(INSTALLED))


install()
