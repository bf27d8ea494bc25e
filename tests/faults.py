"""`make faults`: the tests of every fault that docs/security.md names, one fault after another, as often as
is asked for.

    python -m tests.faults [--times 3] [F16 F20]

The last line is `20 of 20 faults, 3 times in a row`. Faults that are named alone are played alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (F\d+) \| (.+?) \|")
NAMED = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")


def faults() -> dict[str, tuple[str, list[str]]]:
    """Of each fault of the table, by its number: what it is, and the tests that play it."""
    lines = (ROOT / "docs" / "security.md").read_text().splitlines()
    rows = [(match, line) for line in lines if (match := ROW.match(line))]
    return {match[1]: (match[2], NAMED.findall(line)) for match, line in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    known = faults()
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("faults", nargs="*", metavar="F1", help="all of them by default")
    options = parser.parse_args()
    if unknown := set(options.faults) - set(known):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    wanted = options.faults or list(known)
    tests = list(dict.fromkeys(test for name in wanted for test in known[name][1]))
    survived = set(wanted)
    for time in range(1, options.times + 1):
        failed = _failed(tests)
        for name in wanted:
            lost = sorted(failed & set(known[name][1]))
            _say(
                f"{time}: {name} {known[name][0]}: {'failed, ' + ', '.join(lost) if lost else 'ok'}"
            )
            survived -= {name} if lost else set()
    _say(f"{len(survived)} of {len(wanted)} faults, {options.times} times in a row")
    return int(len(survived) != len(wanted))


def _failed(tests: list[str]) -> set[str]:
    """The tests that did not pass; one that was left out, because a service is missing, counts among them."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider"]
    command += ["--nightly", *tests]  # in all their cases
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    said = [line.split(" - ")[0].split("[")[0].split() for line in lines if "::test_" in line]
    verdicts = [(words[0], words[1]) for words in said if len(words) > 1]
    passed = {test for verdict, test in verdicts if verdict == "PASSED"}
    return set(tests) - passed | {test for verdict, test in verdicts if verdict != "PASSED"}


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
