"""`make test`: all checks of `make check` but its tests, then all tests on SQLite, then those of the web
application that touch the database on PostgreSQL. Of these, SQLite has what `tests/both_databases.py` names,
and all where no PostgreSQL can be started. Arguments go to pytest: then tests alone run, unless CI=true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

from tests import both_databases, checks, keeper, services
from tests.both_databases import LEFT_TO_POSTGRES, SAME_ON_EVERY_DATABASE

# Ends a test that hangs. The slowest take three minutes on two quiet cores, and a busy machine must fail none
# of them.
HUNG = "1500"  # seconds
PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-n",
    "auto",
    "--timeout",
    HUNG,
    # A file is for one worker, which makes what the file's tests share, and remembers it, once. `conftest`
    # puts files into an order in which the last ones are short.
    "--dist",
    "loadfile",
    "--no-loadscope-reorder",
    "-p",
    "tests.running_now",
]
ON_POSTGRES = ["tests/web", "tests/web/on_postgresql.py", *both_databases.of_extras()]
COMPLETE = (0, 1)  # pytest's exit codes when all tests ran, well or not
NO_TESTS = 5  # pytest's exit code when nothing was selected


def main(arguments: list[str]) -> int:
    """Install what tests need, then run everything; 0 if all is well."""
    _install("chromium", services.find_chromium, packages=["chromium", "chromium-driver"])
    _install("nginx", services.find_nginx, packages=["nginx-light"])
    _install("Java", services.find_java, packages=["default-jre-headless"])
    return run(arguments)


def run(arguments: list[str]) -> int:
    """Run the checks and the tests. A check that fails is said at once and once more at the end; the tests
    run all the same."""
    begun = time.monotonic()
    failed = checks.failing() if _in_ci() or not arguments else []
    on_postgres = not arguments and _has_postgres()
    codes = [_pytest(arguments, database="sqlite", followed=on_postgres)]
    if not arguments and codes[0] in COMPLETE:
        # Elsewhere it may be missing: then SQLite had all.
        codes.append(_postgres_pass() if on_postgres else int(_in_ci()))
    if failed:
        _say(f"\nChecks that failed, see above: {', '.join(failed)}")
        codes.append(1)
    _say(
        f"\n{'All is well' if not any(codes) else 'Not well'} after {time.monotonic() - begun:.0f} s."
    )
    return max(codes)


def _in_ci() -> bool:
    return os.environ.get("CI") == "true"


def _has_postgres() -> bool:
    try:
        with services.start_postgres():
            return True
    except services.Missing as missing:
        _say(f"\nLeft out: the web tests on PostgreSQL. {missing}")
        return False


def _postgres_pass() -> int:
    _say("\nOn PostgreSQL:")
    left_out = [f"--ignore=tests/web/test_{name}.py" for name in SAME_ON_EVERY_DATABASE]
    return _pytest([*ON_POSTGRES, *left_out], database="postgres")


def _pytest(arguments: list[str], *, database: str, followed: bool = False) -> int:
    """followed: whether PostgreSQL has afterwards what SQLite need not have."""
    environment = {
        name: value
        for name, value in os.environ.items()
        # pytest makes an environment of its own.
        if not name.startswith(("SYNTHWEB_", "TESTS_"))
    }
    # Tests start hundreds of processes, and each would compile the source of every module again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # Tests share the processors already: threads of linear algebra would only wait for each other.
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")
    command = [*PYTEST, "--durations", "12", *arguments]
    if followed:
        environment[LEFT_TO_POSTGRES] = "1"
    code = keeper.run(command, {**environment, "SYNTHWEB_TEST_DATABASE": database})
    return 0 if code == NO_TESTS else code


def _install(name: str, find: Callable[[], object], *, packages: list[str]) -> None:
    """Debian's packages, where something is missing and we may; what fails is named by the skipped tests."""
    try:
        find()
    except services.Missing:
        if os.getuid() == 0 and shutil.which("apt-get"):
            _say(f"Installing {name} (once) …")
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
            install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
            subprocess.run(install, env=environment, check=False)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
