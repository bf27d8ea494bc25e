"""`make check`: format, lint, types, architecture, Django's own checks and the fast tests, side by side. Says
what failed at the end, with its output. Files in `tests/slow_files.txt` and tests marked `slow` or `services`
are left out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import environment

ROOT = Path(__file__).parents[1]
SLOW_FILES = ROOT / "tests" / "slow_files.txt"
LONGEST_FILES = ROOT / "tests" / "longest_files.txt"


def slow_files() -> list[str]:
    """Returns the paths of the test files that `make check` leaves out, from the root of the project."""
    return _listed(SLOW_FILES)


def longest_files() -> list[str]:
    """Returns the paths of the test files that `make test` begins with, the longest first."""
    return _listed(LONGEST_FILES)


def _listed(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if not line.startswith("#")]


MANAGE = [sys.executable, "manage.py"]
QUICK = [
    ["ruff", "format", "--check", "."],
    ["ruff", "check", "."],
    ["djangofmt", "--check", "templates"],
    ["djangofmt", "check", "templates"],
    ["lint-imports", "--no-cache"],
    [*MANAGE, "migrate", "--no-input", "-v", "0"],
    [*MANAGE, "check", "--fail-level", "WARNING", "--database", "default"],
    [*MANAGE, "makemigrations", "--check", "--dry-run"],
]
MYPY = ["mypy", "synth_engine", "synthweb", "bench"]
TESTS = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-m",
    "not slow and not services",
    "-n",
    "2",
    "--timeout",
    "60",
    # Not even collected: that alone would take half a minute.
    *(f"--ignore={path}" for path in slow_files()),
]


def main() -> int:
    """Run everything; 0 if all is well."""
    failed = failing(TESTS)
    if failed:
        _say(f"\nNot well: {', '.join(failed)}")
    return 1 if failed else 0


def failing(*more: list[str]) -> list[str]:
    """Run all checks, and more commands after the quick ones. Says of each at once how it ended, and returns
    the names of those that failed."""
    with ThreadPoolExecutor(
        max_workers=2
    ) as pool:  # mypy thinks for long on one core; the rest has the other
        types = pool.submit(_run, MYPY)
        others = pool.submit(lambda: [_run(command) for command in [*QUICK, *more]])
        return [name for name, fine in [types.result(), *others.result()] if not fine]


def _run(command: list[str]) -> tuple[str, bool]:
    shown = [part for part in command if not part.startswith("--ignore=")]
    name = " ".join(part for part in shown if part != sys.executable)
    begun = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment(command)
    )
    fine = done.returncode == 0
    output = "" if fine and command is not TESTS else f"\n{done.stdout}{done.stderr}"
    if fine and command is TESTS:
        output = f"  {done.stdout.strip().splitlines()[-1]}"
    _say(f"{'ok    ' if fine else 'FAILED'} {time.monotonic() - begun:6.1f} s  {name}{output}")
    return name, fine


def _environment(command: list[str]) -> dict[str, str]:
    """The commands use the keys of the tests, so that `make check` works before the first `make run`."""
    if command is TESTS:  # which makes a folder of its own
        return {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SYNTHWEB_", "TESTS_"))
        }
    return {**os.environ, "SYNTHWEB_VAR": str(environment.FOLDER / "var")}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
