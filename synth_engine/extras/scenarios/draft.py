"""A drawn table that steps alter, and the log of what they altered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec
from synth_engine.domain import Attribute, Derived, Domain, Identifier
from synth_engine.errors import InputError
from synth_engine.kinds.reading import Scaled

Rows = NDArray[np.int64]
Truth = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Texts = NDArray[np.object_]
_DECIMAL = r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?"
_RANGE = re.compile(rf"(?P<low>{_DECIMAL})\.\.(?P<high>{_DECIMAL})")


def span_of(label: str) -> tuple[float, float] | None:
    """The ends of a range such as 20..39, which both belong to it; None for another text."""
    match = _RANGE.fullmatch(label)
    return None if match is None else (float(match["low"]), float(match["high"]))


@dataclass(frozen=True, kw_only=True)
class Change:
    """Cells of one column, or whole rows, that one step altered.

    rows: their places, from 0. column: empty where the step is about whole rows. before, after: the texts of
    the cells. groups: which rows belong together, a text for each."""

    step: int
    kind: str
    column: str
    rows: Rows
    before: Texts | None = None
    after: Texts | None = None
    groups: Texts | None = None


@dataclass(frozen=True)
class Faults:
    """Cells of a column that hold what no drawn record has. rows: their places; texts: what they hold."""

    rows: Rows
    texts: Texts


@dataclass(frozen=True)
class DrawnColumn:
    """A column as it was drawn. texts: as a file has them; missing: which of them stand for a missing
    value."""

    attribute: Attribute
    texts: Texts
    missing: Truth

    @property
    def name(self) -> str:
        return self.attribute.name

    @cached_property
    def values(self) -> Numbers | None:
        """The texts as numbers on the column's scale, NaN where missing; None where values have no order."""
        if self.attribute.ordered and self.attribute.lists_values:
            places = {
                text: float(place) for place, text in enumerate(self.attribute.value_labels)
            }
            ordered: Numbers = np.asarray(pd.Series(self.texts).map(places), dtype=np.float64)
            return ordered
        scaled = self._scaled
        if scaled is None:
            return None
        distinct_of, _ = self.distinct
        values: Numbers = np.asarray(scaled.values, dtype=np.float64)[distinct_of]
        values[self.missing] = np.nan
        return values

    @property
    def numbers(self) -> Numbers:
        """The texts as numbers. Errors: InputError where the column has none."""
        self.require_numbers()
        assert self.values is not None  # noqa: S101  # columns of numbers have a scale
        return self.values

    def require_numbers(self) -> None:
        """Errors: InputError where the column has none."""
        if self.values is None or not self.attribute.holds_numbers:
            raise InputError(
                "the column has no numbers",
                repair="choose a column of whole numbers or decimals",
                column=self.name,
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """The declared bounds of a column of numbers."""
        if self._scaled is None:
            raise TypeError(f"no scale for {self.attribute.kind}")
        return self._scaled.low, self._scaled.high

    @cached_property
    def distinct(self) -> tuple[Rows, list[str]]:
        """The place of each text among the distinct ones, and these."""
        places, texts = pd.factorize(self.texts)
        return places.astype(np.int64), list(texts)

    @cached_property
    def _scaled(self) -> Scaled | None:
        return self.attribute.scaled(self.distinct[1])

    def labelled(self, label: str, *, parameter: str) -> Truth:
        """Which drawn cells are this text. Errors: InputError where none is."""
        matches: Truth = self.texts == label
        self._require_any(matches, parameter=parameter)
        return matches

    def matching(self, label: str, *, parameter: str = "") -> Truth:
        """Which drawn cells are this text, or, of a column of numbers, lie in a range such as 20..39. Errors:
        InputError where none does and a parameter names the text."""
        span = span_of(label) if self.attribute.holds_numbers else None
        matches: Truth
        if span is None:
            matches = self.texts == label
        else:
            # Missing values are in no range: a comparison with NaN is false.
            matches = (self.numbers >= span[0]) & (self.numbers <= span[1])
        if parameter:
            self._require_any(matches, parameter=parameter)
        return matches

    def _require_any(self, matches: Truth, *, parameter: str) -> None:
        if not matches.any():
            raise InputError(
                f"no drawn record has the value that {parameter!r} names",
                repair="name a value that the release has, or draw more rows",
                column=self.name,
            )


@dataclass
class Draft:
    """A table on the way. Each cell is that of some drawn record: `source[name][row]` says which. Identifiers
    stay where they are, so that they are unique whatever a step copies.

    own: rows that were drawn; spare: the others, which steps fill with copies. A later step leaves those
    copies alone."""

    domain: Domain
    columns: dict[str, DrawnColumn]
    source: dict[str, Rows]
    own: Rows
    spare: Rows
    changes: list[Change] = field(default_factory=list)
    faults: dict[str, Faults] = field(default_factory=dict)

    @classmethod
    def of(cls, domain: Domain, frame: pd.DataFrame, *, spare: Rows) -> Draft:
        """frame: as `codec.decode` has it. spare: places of rows that will hold copies."""
        texts = codec.as_text(domain, frame)
        columns = {
            a.name: DrawnColumn(
                a, texts[a.name].to_numpy(dtype=object), frame[a.name].isna().to_numpy()
            )
            for a in domain.table_columns
        }
        every = np.arange(len(frame), dtype=np.int64)
        return cls(
            domain,
            columns,
            {name: every.copy() for name in columns},
            np.setdiff1d(every, spare),
            spare,
        )

    @property
    def rows(self) -> int:
        return len(next(iter(self.source.values())))

    def take_spare(self, count: int) -> Rows:
        """The next rows that a step may fill."""
        taken, self.spare = self.spare[:count], self.spare[count:]
        return taken

    @property
    def copied(self) -> list[str]:
        """Columns that are copied with a row: all but identifiers."""
        return [
            name
            for name, column in self.columns.items()
            if not isinstance(column.attribute, Identifier)
        ]

    @property
    def free(self) -> list[str]:
        """Columns whose cells may vary by themselves: no identifiers, and nothing that follows from other
        columns."""
        return [
            name
            for name in self.copied
            if not isinstance(self.columns[name].attribute, Derived)
        ]

    def column(self, name: str, *, parameter: str) -> DrawnColumn:
        """Errors: InputError where there is none of that name."""
        if name not in self.columns:
            raise InputError(
                f"{parameter!r} names no column of the table",
                repair="take a name from its header",
            )
        return self.columns[name]

    def scale(self, name: str, *, parameter: str) -> tuple[DrawnColumn, Numbers]:
        """A column with its values now, as numbers in order. Errors: InputError where they have no order."""
        column = self.column(name, parameter=parameter)
        if column.values is None:
            raise InputError(
                "the values have no order",
                repair="choose a column of numbers or dates, or one that is declared as ordered",
                column=name,
            )
        return column, column.values[self.source[name]]

    def now(self, name: str) -> Texts:
        """The texts of a column as they are now."""
        texts: Texts = self.columns[name].texts[self.source[name]]
        if name in self.faults:
            texts[self.faults[name].rows] = self.faults[name].texts
        return texts

    def set_faults(self, name: str, rows: Rows, texts: Texts, *, step: int, kind: str) -> None:
        """Puts texts of any kind in cells that have none yet, and logs them."""
        before = self.now(name)[rows]
        earlier = self.faults.get(name)
        self.faults[name] = (
            Faults(rows, texts)
            if earlier is None
            else Faults(
                np.concatenate([earlier.rows, rows]), np.concatenate([earlier.texts, texts])
            )
        )
        self.changes.append(
            Change(step=step, kind=kind, column=name, rows=rows, before=before, after=texts)
        )

    def set_cells(self, name: str, rows: Rows, source: Rows, *, step: int, kind: str) -> None:
        """Gives cells the values of other drawn records, and logs those whose text changes."""
        before = self.columns[name].texts[self.source[name][rows]]
        self.source[name][rows] = source
        after = self.columns[name].texts[source]
        changed = before != after
        self.changes.append(
            Change(
                step=step,
                kind=kind,
                column=name,
                rows=rows[changed],
                before=before[changed],
                after=after[changed],
            )
        )
