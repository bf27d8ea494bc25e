"""Real cells of a preview, against which a steward's description is held before it is confirmed.

They come with the preview, for the steward alone, and are handed to no template but that of the describe page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from synth_engine.errors import TableError
from synth_engine.evaluation import column_check
from synth_engine.evaluation.column_check import ColumnCheck
from synth_engine.formats import Dialect, Marks
from synth_engine.kinds.attribute import Attribute

SHOWN_CELLS = 8


@dataclass(frozen=True, kw_only=True)
class ReadCell:
    """A cell as it is written, and what becomes of it."""

    text: str
    reading: str
    rows: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Cells:
    """Different cells of one column with their rows. marks: how the file writes numbers."""

    texts: list[str]
    counts: list[int]
    marks: Marks = field(default_factory=Marks)

    def check(self, attribute: Attribute, *, draws: bool = False) -> ColumnCheck:
        """How they fit a description. draws: whether with a histogram."""
        return column_check.check_column(
            attribute, self.texts, self.counts, marks=self.marks, draws=draws
        )

    def shown(self, attribute: Attribute) -> list[ReadCell]:
        """A few cells with their readings: first those that do not fit, then frequent ones and some from all over."""
        if not self.texts:
            return []
        readings = column_check.readings(attribute, self.texts, marks=self.marks)
        order = sorted(
            range(len(self.texts)),
            key=lambda index: (not _is_lost(readings[index]), -self.counts[index], index),
        )
        lost = [index for index in order if _is_lost(readings[index])][: SHOWN_CELLS // 2]
        others = [index for index in order if index not in lost]
        frequent = others[: SHOWN_CELLS // 4]
        left = SHOWN_CELLS - len(lost) - len(frequent)
        rest = sorted(set(others) - set(frequent))
        spread = rest[:: max(1, len(rest) // max(left, 1))][:left]
        return [
            ReadCell(text=self.texts[index], reading=readings[index], rows=self.counts[index])
            for index in [*lost, *frequent, *spread]
        ]


def _is_lost(reading: str) -> bool:
    return any(words in reading for words in ("cannot be read", "is outside", "not listed"))


class Evidence:
    """The cells of all columns of a preview."""

    def __init__(self, payload: Mapping[str, Any] | None) -> None:
        self._payload = payload or {}

    @cached_property
    def _marks(self) -> Marks:
        document = self._payload.get("dialect")
        try:
            return Dialect.from_json(document).marks if document else Marks()
        except TableError:
            return Marks()

    def of(self, name: str) -> Cells | None:
        """The cells of a column; None where there are none, as in a preview of an earlier version."""
        document = (self._payload.get("cells") or {}).get(name)
        if not document:
            return None
        return Cells(texts=document["texts"], counts=document["counts"], marks=self._marks)
