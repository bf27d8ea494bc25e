"""Sizes of type have one place: the seven of static/css/tokens.css."""

from __future__ import annotations

import re
from pathlib import Path

CSS = Path(__file__).parents[2] / "static" / "css"
SIZE = re.compile(r"font-size: ([^;!}]+)")
DRAWN = re.compile(r"^\d+(\.\d+)?px$")
"""The text of a drawing, in the units of the drawing."""
ON_PAPER = "10pt"


def _tokens() -> dict[str, str]:
    sheet = (CSS / "tokens.css").read_text("utf-8")
    return dict(re.findall(r"--(type-\w+): ([\d.]+rem);", sheet))


def test_there_are_seven_sizes_of_type() -> None:
    assert len(set(_tokens().values())) == len(_tokens()) == 7


def test_every_sheet_takes_its_sizes_from_the_tokens() -> None:
    tokens = _tokens()
    allowed = {"inherit", *(f"var(--{name})" for name in tokens)}
    others = [
        f"{path.name}: {size}"
        for path in sorted(CSS.glob("*.css"))
        for size in SIZE.findall(path.read_text("utf-8"))
        if size.strip() not in allowed
        and not DRAWN.fullmatch(size.strip())
        # A file of its own, which opens without the other sheets
        and not (path.name == "report.css" and size in {*tokens.values(), ON_PAPER})
    ]
    assert others == []
