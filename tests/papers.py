"""`make papers`: each row of docs/papers.md by the test that it names, with a line for each row.

    python -m tests.papers [--list] [A B21 C14]

A letter stands for all rows of its paper. Rows that are refused have their reason on the page. The last lines
say of each paper how many rows hold; the exit code is 1 if one does not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "papers.md"
ROW = re.compile(r"^\| ([A-E])(\d+) \| (.+?) \| (.+) \| (.+?) \|$")
NAMED = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
OUTCOME = re.compile(
    r"^(tests/[\w/]+\.py::test_\w+)(?:\[.*?\])? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)"
)


@dataclass(frozen=True)
class Row:
    """A row of the page. test: what checks it; empty of a row that is refused."""

    paper: str
    number: int
    what: str
    here: str
    test: str

    @property
    def name(self) -> str:
        return f"{self.paper}{self.number}"


def rows() -> list[Row]:
    """All rows of the page, in their order."""
    found = [
        match for line in PAGE.read_text("utf-8").splitlines() if (match := ROW.match(line))
    ]
    return [
        Row(match[1], int(match[2]), match[3], match[4], "".join(NAMED.findall(match[5])))
        for match in found
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--list", action="store_true", help="say what would be run, and run nothing"
    )
    parser.add_argument("rows", nargs="*", metavar="A or B21", help="all of them by default")
    options = parser.parse_args()
    known = rows()
    names = {row.name for row in known} | {row.paper for row in known}
    if unknown := set(options.rows) - names:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    wanted = [
        row for row in known if not options.rows or {row.name, row.paper} & set(options.rows)
    ]
    if options.list:
        for row in wanted:
            _say(f"{row.name} {row.what}: {row.test or 'refused'}")
        return 0
    lost = _lost({row.test for row in wanted if row.test})
    for row in wanted:
        verdict = "refused" if not row.test else "NOT CHECKED" if row.test in lost else "holds"
        _say(f"{row.name} {row.what}: {verdict}{' ' + row.test if row.test in lost else ''}")
    for paper in sorted({row.paper for row in wanted}):
        _say(summary([row for row in wanted if row.paper == paper], lost, of=f"{paper}: "))
    _say(summary(wanted, lost, of=""))
    return int(bool(lost))


def summary(wanted: Collection[Row], lost: Collection[str], *, of: str) -> str:
    """How many rows hold, are refused and are not checked."""
    refused = sum(not row.test for row in wanted)
    failed = sum(row.test in lost for row in wanted)
    return (
        f"{of}{len(wanted) - refused - failed} of {len(wanted)} rows hold, {refused} refused with a reason"
        f"{f', {failed} NOT CHECKED' if failed else ''}"
    )


def _lost(tests: Collection[str]) -> set[str]:
    """The tests that did not pass in all their cases; one that was left out, because data or a service is
    missing, counts among them. Says how far it is."""
    passed: set[str] = set()
    failed: set[str] = set()
    for test, verdict in _outcomes(sorted(tests)):
        before = len(passed)
        (passed if verdict == "PASSED" else failed).add(test)
        if len(passed) > before:
            _say(f"{len(passed)} of {len(tests)} tests begun well: {test}")
    return set(tests) - passed | failed


def _outcomes(tests: list[str]) -> Iterator[tuple[str, str]]:
    """Each test with its outcome, as it ends."""
    if not tests:
        return
    command = [sys.executable, "-u", "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    command += ["--nightly", *tests]  # in all their cases
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            if match := OUTCOME.match(line):
                yield match[1], match[2]


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
