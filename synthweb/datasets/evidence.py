"""Real cells of a preview, against which a steward's description is held before it is confirmed.

They come with the preview, for the steward alone, and are handed to no template but that of the describe
page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from synth_engine.errors import TableError
from synth_engine.evaluation import column_check
from synth_engine.evaluation.column_check import ColumnCheck
from synth_engine.formats import Dialect, Marks
from synth_engine.kinds.attribute import Attribute
from synthweb.datasets.kinds.form import Fields
from synthweb.datasets.kinds.typed import CHECKED

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
        """A few cells with their readings: first those that do not fit, then frequent ones and some from all
        over."""
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

    def written(self, *, of_days: bool) -> Fields:
        """How they are written beyond the usual, as it would be typed: a proposal, to be confirmed like any
        other fact."""
        if of_days:
            short = any(
                _SHORT_DAY.search(text) for text in self.texts if "/" in text or "." in text
            )
            return {"unpadded": CHECKED} if short else {}
        numbers = [
            match for text in self.texts if (match := self._number.fullmatch(text.strip()))
        ]
        if not numbers:
            return {}
        signs, wholes = re.escape(self.marks.thousands), [match["whole"] for match in numbers]
        grouped = bool(signs) and any(re.search(signs, whole) for whole in wholes)
        plain = [re.sub(signs, "", whole) if signs else whole for whole in wholes]
        leading = any(len(whole) > 1 and whole.startswith("0") for whole in plain)
        decimals = min(len(match["fraction"] or "") for match in numbers)
        proposed = {
            "grouped": CHECKED if grouped else "",
            "decimals": str(decimals or ""),
            "digits_wide": str(min(map(len, plain))) if leading and not grouped else "",
            "before": _shared([match["before"] for match in numbers]),
            "after": _shared([match["after"] for match in numbers]),
        }
        return {key: text for key, text in proposed.items() if text}

    @property
    def _number(self) -> re.Pattern[str]:
        units = "|".join(map(re.escape, sorted(self.marks.units, key=len, reverse=True)))
        around = f"(?:{units})" if units else "(?!)"
        between = f"{re.escape(self.marks.thousands)}?" if self.marks.thousands else ""
        decimal = re.escape(self.marks.decimal)
        return re.compile(
            rf"(?P<before>{around}\s*)?[+-]?(?P<whole>[0-9](?:{between}[0-9])*)"
            rf"(?:{decimal}(?P<fraction>[0-9]+))?(?P<after>\s*{around})?"
        )


_SHORT_DAY = re.compile(r"(?<![0-9:])[0-9](?![0-9:])")
"""A day, month or hour of one digit."""


def _shared(signs: Sequence[str | None]) -> str:
    """What stands at every number."""
    return signs[0] or "" if len(set(signs)) == 1 else ""


def _is_lost(reading: str) -> bool:
    return any(
        words in reading
        for words in ("cannot be read", "is outside", "not listed", "not in the set")
    )


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
        """The cells of a column; None where there are none."""
        document = (self._payload.get("cells") or {}).get(name)
        if not document:
            return None
        return Cells(texts=document["texts"], counts=document["counts"], marks=self._marks)
