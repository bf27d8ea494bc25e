"""What drafts of columns are made of: their facts, answers and sentences, and the texts that they are read
off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synth_engine.codec import RawCounter, numbers
from synth_engine.domain import parse_attribute, public_ranges, rounding
from synth_engine.formats import Marks
from synth_engine.kinds.fragments import MAX_EXACT
from synth_engine.steward import value_lists
from synth_engine.steward.cell_sample import MAX_CELLS
from synth_engine.steward.hints import Hint, ReadingChoice
from synth_engine.steward.summary import Column, Wide
from synth_engine.steward.value_lists import FOUND

CODES = (
    10**9
)  # whole numbers from here on that have equally many digits are codes more often than amounts
LEARNED = "Where they lie is learned within the budget, unless bounds are written somewhere."
MAX_DECIMALS = 6
_MOST_BEYOND = (
    0.01  # share of the rows beyond a public range, of a column that it still describes
)
_FEW_BEYOND = 2  # rows beyond it, that say nothing in a small table
MADE_OUT = ReadingChoice(
    key="found", label="Texts, of which each release finds the frequent ones", facts=FOUND
)
LEAVE_OUT = ReadingChoice(
    key="leave-out", label="Leave the column out", facts={"kind": "identifier"}
)
OCCURRING = (
    "The list was read from this table. If it is written nowhere, each release can find the frequent texts "
    "within its budget."
)
FINDING = (
    "Each release finds the frequent ones within its budget, "
    "unless a list of them is written somewhere."
)


@dataclass(frozen=True, kw_only=True)
class DistinctTexts:
    """The different texts of a column. texts: shape (n,). counts: shape (n,), rows of each. has_missing:
    whether markers of missing values were taken off. holders: different persons of each text; None where rows
    stand for persons."""

    name: str
    texts: pa.Array
    counts: NDArray[np.int64]
    marks: Marks
    has_missing: bool
    holders: Mapping[str, int] | None = None

    def listed(self) -> list[str] | None:
        """Returns the texts that may be listed; None if none may."""
        times = dict(zip(self.texts.to_pylist(), self.counts.tolist(), strict=True))
        return value_lists.listed(times, self.holders)

    @property
    def unique(self) -> bool:
        """Returns whether no two rows share a text."""
        return int(self.counts.sum()) == len(self.counts)


def facts_of(draft: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a draft alone."""
    return {
        key: value
        for key, value in draft.items()
        if key not in ("why", "hint", "odd", "sentinels")
    }


def as_number(draft: Mapping[str, Any]) -> ReadingChoice:
    label = "A number that measures something"
    return ReadingChoice(key="number", label=label, facts=facts_of(draft))


def listed_facts(values: Iterable[str], *, other: bool = False) -> dict[str, Any]:
    """The facts of a list of texts."""
    facts: dict[str, Any] = {"kind": "categorical", "values": sorted(values), "other": other}
    return facts if other else facts | {"outside": "clamp"}


def days() -> dict[str, Any]:
    return {"kind": "scale", "of": "date", "why": f"All values are dates. {LEARNED}"}


def span(span: numbers.Times | Wide, common: int) -> dict[str, Any]:
    """Moments in the coarsest unit on which all stand, spelled as in the file where all are spelled in one
    way."""
    why = (
        "All values are dates with a time; the step is the coarsest unit that fits. No zone is kept. "
        f"{LEARNED}"
    )
    return {
        "kind": "scale",
        **rounding.moments(common=common, spellings=span.spellings),
        "why": why,
    }


def whole(least: int, most: int) -> dict[str, Any]:
    why = f"All values are whole numbers. {LEARNED}"
    if least >= CODES and len(str(least)) == len(str(most)):
        why = (
            f"All have {len(str(least))} digits: if they are codes, such as census blocks, make them "
            f"categories. {why}"
        )
    return {"kind": "scale", "of": "integer", "why": why}


def number(values: Any) -> dict[str, Any]:
    # Beyond 2^53 floats skip whole numbers, so bounds would not be those that are shown.
    if np.abs(values).max() > MAX_EXACT:
        return {
            "kind": "identifier",
            "why": "Numbers beyond 2^53, which no bounds hold: left out.",
        }
    step = _smallest_step(values)
    why = f"All values are numbers, in steps of {step:g}. {LEARNED}"
    return {"kind": "scale", "of": "number", "step": step, "why": why}


def _smallest_step(values: Any) -> float:
    """The power of ten of which all values are multiples, 0.000001 at the least."""
    for decimals in range(MAX_DECIMALS):
        scaled = values * 10.0**decimals
        # Doubles are near decimals, but not on them.
        if np.abs(scaled - np.rint(scaled)).max() <= 1e-6:
            return float(f"1e-{decimals}")
    return float(f"1e-{MAX_DECIMALS}")


def bounded(name: str, draft: Mapping[str, Any], column: Column) -> dict[str, Any]:
    """The draft of numbers with the public range of which the column's name speaks. Without one, where more
    than a few rows lie beyond it or a marker of missing values within, the draft as it is: bounds are never
    fitted to values."""
    known = public_ranges.of_name(name)
    numbered = draft["kind"] == "scale" and draft["of"] in ("integer", "number")
    if known is None or not numbered or "low" in draft:
        return dict(draft)
    bounds = {"low": known.low, "high": known.high}
    if any(
        numbers.within(marker, known.low, known.high) for marker in draft.get("missing") or ()
    ):
        return dict(draft)
    attribute = parse_attribute({"name": name, **facts_of(draft), **bounds})
    cells = column.cells(MAX_CELLS)
    counter = RawCounter(attribute, marks=column.marks)
    counts = np.array(cells["counts"], dtype=np.int64)
    counter.add(pa.array(cells["texts"], type=pa.string()), times=counts)
    fit = counter.finish().fit
    if fit is not None and fit.outside > max(_FEW_BEYOND, _MOST_BEYOND * counts.sum()):
        return dict(draft)
    public = f"By its name, from {known.low} to {known.high}: {known.reason}"
    whole = draft["why"].replace(LEARNED, "").strip()
    return {**draft, **bounds, "why": f"{public} {whole}"}


def left_out(why: str, choices: Sequence[ReadingChoice]) -> dict[str, Any]:
    hint = Hint(certainty="probable", choices=list(choices))
    return {"kind": "identifier", "why": f"{why} Left out.", "hint": hint}


def opened(question: str, choices: Sequence[ReadingChoice]) -> dict[str, Any]:
    """The draft of a column that waits for an answer."""
    hint = Hint(certainty="open", question=question, choices=list(choices))
    return {
        "kind": "identifier",
        "why": f"Left out until the question is answered. {question}",
        "hint": hint,
    }
