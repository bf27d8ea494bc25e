"""What it costs to learn what a description leaves open, and what declaring it would save: from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class OpenColumn:
    """A column that the run learns. threshold: about how many records must share a value for it to be found; None for
    bounds and bins. sought: among how many values, in words."""

    name: str
    threshold: int | None
    sought: str


@dataclass(frozen=True, kw_only=True)
class Learning:
    """share: of the budget, None where the method learns in its one and only step; mean, if_declared: expected distance
    of a column with learning, and with the whole budget for the method."""

    columns: tuple[OpenColumn, ...]
    share: float | None
    mean: float
    if_declared: float | None


def cost(error: Mapping[str, Any]) -> Learning | None:
    """What the forecast of a plan says of it; None where everything is known."""
    learning = error.get("learning")
    if not learning:
        return None
    columns = tuple(
        OpenColumn(name=name, threshold=asked["threshold"], sought=_in_words(asked["cells"]))
        for name, asked in learning["columns"].items()
    )
    declared = learning["if_declared"]
    return Learning(
        columns=columns,
        share=learning["share"],
        mean=error["mean"],
        if_declared=declared and declared["mean"],
    )


def _in_words(count: int) -> str:
    """A number that may have thirty digits."""
    if count < 10**6:
        return f"{count:,}".replace(",", "\u202f")
    digits = len(str(count)) - 1
    return f"{count / 10**digits:.1f} × 10^{digits}" if digits < 300 else f"10^{digits}"
