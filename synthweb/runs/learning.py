"""What it costs to learn what a description leaves open, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass

from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.plans import domain_learning
from synthweb.lib.language import written_number
from synthweb.lib.number_format import grouped


@dataclass(frozen=True, kw_only=True)
class OpenColumn:
    """A column that the run learns. threshold: about how many records must share a value for it to be found;
    None for bounds and bins. sought: among how many values, in words."""

    name: str
    threshold: int | None
    sought: str


@dataclass(frozen=True, kw_only=True)
class Learning:
    """share: of the budget, None where the method learns in its one and only step; most: its share for all
    learning at most, where columns are hard to find."""

    columns: tuple[OpenColumn, ...]
    share: float | None
    most: float


def cost(error: ErrorForecast) -> Learning | None:
    """What the forecast of a plan says of learning; None where everything is declared."""
    forecast = error.learning
    if forecast is None:
        return None
    columns = tuple(
        OpenColumn(name=name, threshold=column.threshold, sought=_in_words(column.cells))
        for name, column in forecast.columns.items()
    )
    return Learning(
        columns=columns,
        share=forecast.share,
        most=float(domain_learning.MAX_LEARNING_SHARE),
    )


def _in_words(count: int) -> str:
    """A number that may have thirty digits."""
    if count < 10**6:
        return grouped(count)
    digits = len(str(count)) - 1
    if digits >= 300:
        return f"10^{digits}"
    return written_number(f"{count / 10**digits:.1f} × 10^{digits}")
