"""The room is small enough to be read: what a session imports that holds or counts records."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 3_000
HOLD_RECORDS = ("room", "sources", "steward", "trials", "codec", "readers")
COUNTS = ("synth_engine.indexing.contingency", "synth_engine.indexing.count_loops")
"""The loop that counts is shared with comparisons, and is a part of what the proof needs."""
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "synth_engine").rglob("*.py")
}


def imported(name: str) -> Iterator[str]:
    """Modules that a module imports anywhere in it, and the packages above them."""
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        for each in found:
            parts = each.split(".")
            yield from (
                above
                for length in range(1, len(parts) + 1)
                if (above := ".".join(parts[:length])) in FILES
            )


def closure(name: str) -> set[str]:
    """All modules that a module needs, itself included."""
    known, open_ = {name}, [name]
    while open_:
        for other in imported(open_.pop()):
            if other not in known:
                known.add(other)
                open_.append(other)
    return known


def lines(names: set[str]) -> int:
    return sum(len(FILES[name].read_text().splitlines()) for name in names)


def test_what_a_session_needs_that_holds_or_counts_records_is_small() -> None:
    needed = closure("synth_engine.room.session")
    holding = {
        name for name in needed if name.split(".")[1:2] and name.split(".")[1] in HOLD_RECORDS
    }
    assert {name.split(".")[1] for name in holding} == {"room"}
    assert set(COUNTS) <= needed
    assert lines(holding | set(COUNTS)) <= MOST_LINES


def test_nothing_else_is_in_the_room() -> None:
    """A module of the room that no session needs has no business in it."""
    room = {name for name in FILES if name.startswith("synth_engine.room")}
    assert room == {
        name
        for name in closure("synth_engine.room.session")
        if name.startswith("synth_engine.room")
    }
