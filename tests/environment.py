"""The environment of the tests, loaded before Django reads its settings (`-p` in pyproject.toml): a folder of its own
with fresh keys, so that no test touches the real `var/`. Parallel workers inherit the folder of the one that started
them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from synthweb.local import keys

if "SYNTHWEB_TEST_FOLDER" not in os.environ:
    folder = Path(tempfile.mkdtemp(prefix="synthweb-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in [name for name in os.environ if name.startswith("SYNTHWEB_")]:
        del os.environ[name]  # somebody's own settings must not steer the tests
    os.environ.pop("DATABASE_URL", None)
    os.environ["SYNTHWEB_TEST_FOLDER"] = str(folder)
    os.environ["SYNTHWEB_VAR"] = str(folder / "var")
    keys.make(folder / "var" / "keys")
FOLDER = Path(os.environ["SYNTHWEB_TEST_FOLDER"])
