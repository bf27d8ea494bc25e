"""The tables of docs/security.md: every fault and every item has a line, and every test that is named
exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
LINKED = re.compile(r"\]\(([\w-]*(?:\.md)?)(?:#([\w-]+))?\)")
# Of the sections of ASVS 5.0, how many items of levels 1 and 2 there are; they are numbered without gaps.
ITEMS = {
    "1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2,
    "3.3": 4, "3.4": 6,
    "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3,
    "6.1": 3, "6.2": 12,
    "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4, "7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2,
    "7.6": 2, "8.1": 2,
    "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5,
    "10.6": 2,
    "10.7": 3, "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2,
    "12.3": 4, "13.1": 1,
    "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7,
    "16.1": 1, "16.2": 5,
    "16.3": 4, "16.4": 3, "16.5": 3,
}  # fmt: skip


def rows(heading: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def expanded(text: str) -> list[str]:
    """`1.2.6-1.2.8, 1.3.1` as single items."""
    items = []
    for part in text.split(", "):
        first, _, last = part.partition("-")
        section, _, number = first.rpartition(".")
        end = int(last.rpartition(".")[2]) if last else int(number)
        items += [f"{section}.{one}" for one in range(int(number), end + 1)]
    return items


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED.findall(PAGE)}))
def test_every_test_that_is_named_exists(path: str) -> None:
    code = (ROOT / path).read_text()
    missing = [
        name
        for file, name in NAMED.findall(PAGE)
        if file == path and not re.search(rf"^def {name}\(", code, flags=re.MULTILINE)
    ]
    assert missing == []


def test_every_fault_has_a_line_with_a_test() -> None:
    faults = [(cells[0], bool(NAMED.search(cells[-1]))) for cells in rows("Faults")]
    assert faults == [(f"F{number}", True) for number in range(1, 21)]


def test_every_item_of_the_standard_has_one_verdict() -> None:
    judged = [item for cells in rows("ASVS") for item in expanded(cells[0])]
    assert sorted(judged) == sorted(
        f"{section}.{number + 1}" for section, count in ITEMS.items() for number in range(count)
    )


# The certificate of the operator; passwords of services that do not end by themselves. The page says why.
NOT_REACHED = {"12.2.2", "13.2.1"}


def test_a_verdict_is_one_of_three_and_a_yes_has_a_test_or_a_page() -> None:
    for items, verdict, reason in rows("ASVS"):
        assert verdict in ("test", "page", "no"), items
        assert verdict != "test" or NAMED.search(reason), items
        assert verdict != "page" or LINKED.search(reason), items
    negative = {
        item for cells in rows("ASVS") if cells[1] == "no" for item in expanded(cells[0])
    }
    assert negative == NOT_REACHED


def test_every_section_that_a_verdict_links_is_there() -> None:
    reasons = [cells[2] for cells in rows("ASVS")]
    linked = {place for reason in reasons for place in LINKED.findall(reason)}
    assert linked
    for file, anchor in linked:
        text = (ROOT / "docs" / (file or "security.md")).read_text()
        headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
        anchors = {
            re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
            for heading in headings
        }
        assert not anchor or anchor in anchors, (file, anchor)


def test_what_is_said_of_logs_is_read_from_a_record() -> None:
    """A verdict that argues with logs names a test whose file reads records: lines as the application writes
    them, or entries of the audit log."""
    argued = 0
    for items, verdict, reason in rows("ASVS"):
        words = NAMED.sub("", reason)
        if verdict == "test" and (
            re.search(r"\blogs?\b", words) or items.startswith(("16.2", "16.3"))
        ):
            argued += 1
            texts = [(ROOT / path).read_text() for path, _name in NAMED.findall(reason)]
            readers = r"import log_lines|import AuditEntry|import logs|\bPlain\b|compose-logs"
            assert any(re.search(readers, text) for text in texts), items
    assert argued >= 10


def test_no_password_of_compose_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    names = set(re.findall(r"\$\{(\w*PASSWORD)\b", text))
    assert {"POSTGRES_PASSWORD", "APPLICATION_PASSWORD", "REDIS_PASSWORD"} <= names
    for name in names - {"SYNTHWEB_EMAIL_PASSWORD"}:
        assert set(re.findall(rf"\$\{{{name}(.)", text)) == {":"}
        assert set(re.findall(rf"\$\{{{name}:(.)", text)) == {"?"}, name
