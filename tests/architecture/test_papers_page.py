"""Every row of docs/papers.md names a test that is there, or leads to the reason why it is refused."""

from __future__ import annotations

import re

from tests import papers

ROWS = papers.rows()


def test_the_page_has_every_row_of_the_five_papers_once() -> None:
    counted = {
        letter: [row.number for row in ROWS if row.paper == letter] for letter in "ABCDE"
    }
    assert {letter: len(numbers) for letter, numbers in counted.items()} == {
        "A": 49,
        "B": 35,
        "C": 30,
        "D": 41,
        "E": 22,
    }
    for numbers in counted.values():
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_test_that_a_row_names_is_there() -> None:
    missing = []
    for row in ROWS:
        path, _, name = row.test.partition("::")
        if row.test and not re.search(
            rf"^def {name}\(", (papers.ROOT / path).read_text("utf-8"), re.MULTILINE
        ):
            missing.append(row.name)
    assert missing == []


def test_a_row_without_a_test_is_refused_with_a_reason_on_the_page() -> None:
    refused = [row for row in ROWS if not row.test]
    assert len(refused) == 7
    assert {row.here for row in refused} == {"refused"}
    reasons = papers.PAGE.read_text("utf-8").split("## Not built, and why")[1]
    for paper, number in (("A", 0), ("B", 2), ("C", 4), ("D", 1), ("E", 0)):
        assert len([row for row in refused if row.paper == paper]) == number
        assert len(re.findall(rf"^\*\*[^*]*\({paper}[,)]", reasons, re.MULTILINE)) == number


def test_a_summary_counts_what_holds() -> None:
    lost = {ROWS[0].test}
    assert papers.summary(ROWS, lost, of="") == (
        "169 of 177 rows hold, 7 refused with a reason, 1 NOT CHECKED"
    )
    assert papers.summary(ROWS, set(), of="All: ") == (
        "All: 170 of 177 rows hold, 7 refused with a reason"
    )


def test_an_outcome_is_read_as_pytest_writes_it() -> None:
    line = "tests/engine/test_x.py::test_y[a b-1] PASSED [ 12%]"
    match = papers.OUTCOME.match(line)
    assert match is not None
    assert match.groups() == ("tests/engine/test_x.py::test_y", "PASSED")
