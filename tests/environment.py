"""The environment of the tests, loaded before Django reads its settings (`-p` in pyproject.toml): a folder of
its own with fresh keys, so that no test touches the real `var/`. Parallel workers inherit the folder of the
one that started them, and have a `var/` of their own in it. With SYNTHWEB_TEST_DATABASE=postgres the database
is a PostgreSQL that is started here instead of SQLite."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from synthweb.local import keys

WORKER = os.environ.get(
    "PYTEST_XDIST_WORKER", "gw0"
)  # for what parallel workers must not share
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

ROOT = Path(__file__).parents[1]
# Tests of the engine need no Django: asked for by themselves, they start in half the time.
ENGINE_FOLDERS = tuple(ROOT / "tests" / name for name in ("engine", "privacy"))


def _engine_alone(arguments: list[str]) -> bool:
    """Whether all files and folders that pytest was asked for are tests of the engine."""
    paths = [Path(argument.split("::")[0]).resolve() for argument in arguments]
    paths = [path for path in paths if path.exists() and path.is_relative_to(ROOT / "tests")]
    return bool(paths) and all(
        any(path.is_relative_to(folder) for folder in ENGINE_FOLDERS) for path in paths
    )


def _make() -> None:
    folder = Path(tempfile.mkdtemp(prefix="synthweb-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    wanted = os.environ.get("SYNTHWEB_TEST_DATABASE", "sqlite")
    for name in [
        name
        for name in os.environ
        if name.startswith("SYNTHWEB_") and name != "SYNTHWEB_SHARED"
    ]:
        del os.environ[name]  # somebody's own settings must not steer the tests
    os.environ.pop("DATABASE_URL", None)
    if extras := os.environ.get("TESTS_EXTRAS"):  # those that are on; without it, all
        os.environ["SYNTHWEB_EXTRAS"] = extras
    os.environ["TESTS_FOLDER"] = str(folder)
    # Parallel workers, which have no arguments of their own, inherit both.
    if _engine_alone(sys.argv[1:]):
        os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    else:
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["SYNTHWEB_VAR"] = str(folder / "var")
    os.environ["SYNTHWEB_REST_PER_MINUTE"] = "0"  # a test run asks faster than people do
    keys.make(folder / "var" / "keys")
    if wanted == "postgres":
        from tests import services

        running = contextlib.ExitStack()
        os.environ["DATABASE_URL"] = running.enter_context(services.start_postgres())
        atexit.register(running.close)


if "TESTS_FOLDER" not in os.environ:
    _make()
FOLDER = Path(os.environ["TESTS_FOLDER"])
ENGINE_ALONE = "DJANGO_SETTINGS_MODULE" not in os.environ
ON_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")


def _own_var() -> None:
    """Each parallel worker has a `var/` of its own, as it has a database of its own: what one sweeps is never
    another's."""
    var = FOLDER / f"var-{WORKER}"
    keys.make(var / "keys")
    os.environ["SYNTHWEB_VAR"] = str(var)


if "PYTEST_XDIST_WORKER" in os.environ:
    _own_var()
