"""Define what all kinds of attributes share: the frozen base class, and the questions that each kind answers
for itself.

A value of an attribute is stored as a code 0 … size-1. Codes run through the declared values or bins in
order, then "other" where it is declared, then missing. Every value whatever has a code: one outside the
declaration goes where `outside` says (a code of its own, the missing code, or the nearest declared one), so
that no record can cause an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from synth_engine.errors import DomainError
from synth_engine.formats.marks import Marks
from synth_engine.kinds import facts
from synth_engine.kinds.cell_form import USUAL, CellForm, may_lack_zeros, without_zeros
from synth_engine.kinds.facts import Provenance
from synth_engine.kinds.fields import Fields
from synth_engine.kinds.fragments import Schema
from synth_engine.kinds.ladders import Even, Floats, Ladder
from synth_engine.kinds.reading import Codes, Scaled, code_dtype

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAX_CODES = 10_000
OTHER = "(other)"
MISSING = "(missing)"
Outside = Literal["other", "missing", "clamp"]
Units = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class TableSchemaField:
    """A field of a Frictionless Table Schema: its type, further properties, and constraints."""

    type: str
    properties: dict[str, Any] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """What all kinds share. `missing` lists the markers that stand for a missing value in a file, the first
    of them being the one written; None means that the attribute has no missing value. `ordered` tells
    mechanisms that neighbouring codes mean neighbouring values. `written` says how a file writes its cells.
    `separate_markers`: whether a release measures which of several markers a missing value has
    (`kinds/missing_markers.py`). `protected`: whether people must not be treated by it, such as sex or
    origin; no mechanism reads it, and test data offer it first. Class variables: `schema_position` orders the
    kinds in the JSON Schema; nothing of a `bare` kind can be missing, outside or ordered; values of a kind
    that `is_comparable` compare."""

    kind: ClassVar[str]
    schema_position: ClassVar[int]
    bare: ClassVar[bool] = False
    is_comparable: ClassVar[bool] = False
    fact_names: ClassVar[tuple[str, ...]]
    outsides: ClassVar[tuple[Outside, ...]] = ("clamp", "missing")
    most_codes: ClassVar[int] = MAX_CODES
    codes_field: ClassVar[str] = ""
    """The key of the description that decides how many codes there are."""
    lists_values: ClassVar[bool] = False
    """Whether each declared code stands for one text, its label."""
    cell_words: ClassVar[str] = "declared"
    """What its cells are, as the end of the sentence "cannot be read as …"."""
    span_units: ClassVar[Units] = ()
    """Units of differences of its values, the largest first: how long on the ladder, and their name. Plain
    numbers have none."""

    name: str
    provenance: Provenance | Mapping[str, Provenance] = "declared"
    missing: tuple[str, ...] | None = None
    outside: Outside | None = None
    ordered: bool = False
    written: CellForm = USUAL
    separate_markers: bool = False
    protected: bool = False

    def __init_subclass__(cls) -> None:
        # Without a unit, a report would write differences of days or months as bare numbers.
        numbers = cls.holds_numbers is not Attribute.holds_numbers
        if cls.is_comparable and not numbers and not cls.span_units:
            raise TypeError(
                f"{cls.__name__} has values that compare and are no numbers: set span_units"
            )

    def __post_init__(self) -> None:
        self._check_name()
        object.__setattr__(
            self,
            "provenance",
            facts.complete(self.provenance, facts=self.fact_names, name=self.name),
        )
        if self.missing is not None:
            object.__setattr__(self, "missing", tuple(self.missing))
            self._check_texts(self.missing, what="missing marker", field="missing")
        self.check()
        self._check_written()
        self._check_markers()
        if not isinstance(self.protected, bool):
            raise self.error(
                "protected is not true or false",
                repair="write true or false",
                field="protected",
            )
        # The resolved rule is stored, so that the digest of a description does not depend on
        # whether a default was written out.
        object.__setattr__(self, "outside", self._resolved_outside())
        if self.size > self.most_codes:
            raise self.error(
                f"more than {self.most_codes:,} codes",
                repair="use fewer values or wider bins",
                field=self.codes_field,
            )

    # What each kind says for itself.
    def check(self) -> None:
        """Refuses a contradictory description."""

    @property
    def value_labels(self) -> tuple[str, ...]:
        """The text of each code that stands for a declared value or bin."""
        raise NotImplementedError

    def details(self) -> dict[str, object]:
        """The JSON fields of this kind alone."""
        raise NotImplementedError

    @property
    def value_count(self) -> int:
        """Count the codes that stand for declared values or bins."""
        return len(self.value_labels)

    @classmethod
    def json_schema(cls) -> tuple[Schema, tuple[str, ...]]:
        """JSON Schema of the fields of this kind alone, and the names of the required ones."""
        raise NotImplementedError

    @classmethod
    def read_json(cls, fields: Fields) -> dict[str, Any]:
        """The fields of this kind alone from its JSON, None for one that is left out."""
        raise NotImplementedError

    def scaled(self, texts: list[str]) -> Scaled | None:  # noqa: ARG002 - most kinds have a scale
        """Texts of a column as numbers on its scale; None for a kind without one."""
        return None

    def encode(self, texts: list[str]) -> Codes:
        """Codes of texts that are not missing. Entry i is a function of texts[i] alone. What cannot be read
        at all is missing, or the lowest code if nothing can be."""
        # Each code is a function of its own text (docs/proofs/reading.md, Lemma 2): a record
        # more or less changes no code of another record.
        scale = self.scaled(texts)
        if scale is None:
            raise TypeError(f"no codes for {self.kind}")
        missing = np.isnan(scale.values)
        if self.outside == "missing":
            missing |= (scale.values < scale.low) | (scale.values > scale.high)
        # NaN would be sorted behind the last bin: a text that cannot be read is put at the
        # lower bound first, and becomes missing below where the column can be missing.
        values = np.clip(
            np.where(np.isnan(scale.values), scale.low, scale.values), scale.low, scale.high
        )
        bins = (
            np.searchsorted(np.asarray(scale.cuts, dtype=np.float64), values, side="right") - 1
        )
        # The last bin holds its upper end as well, which `searchsorted` puts behind it.
        codes: Codes = np.minimum(bins, self.value_count - 1).astype(code_dtype(self.size))
        if self.missing_code is not None:
            codes[missing] = self.missing_code
        return codes

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> pd.Series:  # noqa: ARG002
        """A value of each code, uniform inside its bin, in the column's natural type; a missing value is
        NA."""
        raise TypeError(f"no values for {self.kind}")

    @property
    def reader(self) -> Attribute:
        """The attribute that reads, writes and compares its values: itself, or that of its lattice."""
        return self

    @property
    def is_moment(self) -> bool:
        """Whether its values are days or times, which have no zero."""
        return self.is_comparable and not self.holds_numbers

    @property
    def value_step(self) -> float:
        """The distance of neighbouring values that the description declares, on the ladder; 0 for decimals
        and for a kind without order."""
        ladder = self.ladder() if self.is_comparable else None
        return float(ladder.step) if isinstance(ladder, Even) else 0.0

    def value_text(self, value: float) -> str:
        """A value of the ladder as people write it, of a kind whose values compare and are no plain
        numbers."""
        return str(self.write(self.natural(np.array([value])))[0])

    def plain(self, cells: pa.Array, marks: Marks | None) -> pa.Array:
        """Cells as this kind reads them: numbers by the usual marks, where the file has others; missing
        markers stay. marks: how the file writes numbers; None for the usual ones."""
        if not self.holds_numbers:
            return cells
        return (marks or Marks()).plain(cells, apart_from=self.missing or ())

    def write(self, column: pd.Series) -> pd.Series:
        """Values as a file has them. Encoding these texts gives the codes back."""
        return column.fillna(self.missing_text).reset_index(drop=True)

    @property
    def holds_numbers(self) -> bool:
        """Whether the cells of a file are numbers, with its marks of decimals and thousands."""
        return False

    @property
    def day_format(self) -> str | None:
        """The format of `strftime` in which a file has days or moments; None for anything else."""
        return None

    @property
    def declared_texts(self) -> tuple[str, ...]:
        """Texts of the description that cells of a file can be."""
        return ()

    def write_as_declared(self, column: pd.Series, marks: Marks) -> pd.Series:
        """Values as `write` has them, in the declared form of the file's cells. Read with these marks, the
        texts give the same codes."""
        import pandas as pd

        texts = self.write(column)
        if self.day_format is not None:
            return without_zeros(texts, self.day_format) if self.written.unpadded else texts
        if not self.holds_numbers or (self.written.usual and marks.usual):
            return texts
        missing = column.isna().to_numpy()
        changed = [
            text if is_missing else self.written.write_number(text, marks)
            for text, is_missing in zip(texts, missing, strict=True)
        ]
        return pd.Series(changed, dtype="str")

    @property
    def missing_text(self) -> str:
        """Return what a file has in the place of a missing value."""
        return self.missing[0] if self.missing else ""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column in a Parquet file."""
        import pyarrow as pa

        return pa.string()

    def ladder(self) -> Ladder:
        """The values of each code as plain numbers that compare. Raises TypeError for a kind without
        order."""
        raise TypeError(f"{self.kind} is no scale")

    def bin_spans(self) -> tuple[Floats, Floats]:
        """First and last value of each bin, as numbers of the ladder."""
        scale = self.ladder()
        return scale.low[: self.value_count], scale.high[: self.value_count]

    def range_end(self, end: float | str, *, last: bool) -> float:  # noqa: ARG002 - moments need it
        """The number of the ladder that an end of a range names. Raises ValueError. last: whether it is the
        upper end."""
        if isinstance(end, str):
            raise ValueError
        return float(end)

    def comparable(self, column: pd.Series) -> Floats:
        """Values as numbers of the ladder; NaN where missing."""
        return column.to_numpy(dtype=np.float64, na_value=np.nan)

    def natural(self, values: Floats) -> pd.Series:  # noqa: ARG002 - scales override it
        """Numbers of the ladder as the column holds them; minus infinity is missing."""
        raise TypeError(f"{self.kind} is no scale")

    def table_schema(self) -> TableSchemaField:
        """The column as a field of a Frictionless Table Schema."""
        return TableSchemaField("string")

    table_schema_type: ClassVar[str] = ""

    @classmethod
    def from_table_schema(cls, field: Mapping[str, object]) -> dict[str, object]:
        """The JSON of a field whose type is `table_schema_type`, without name and missing markers. Raises
        ValueError where the field says too little."""
        raise NotImplementedError

    @classmethod
    # most kinds are suggested by the room
    def suggest(cls, texts: pa.Array) -> dict[str, object] | None:  # noqa: ARG003
        """A draft for a column of these different texts, if they look like this kind. For the steward
        alone."""
        return None

    # What follows from that.
    @property
    def has_other(self) -> bool:
        return False

    @property
    def other_code(self) -> int | None:
        return self.value_count if self.has_other else None

    @property
    def missing_code(self) -> int | None:
        return None if self.missing is None else self.value_count + self.has_other

    @property
    def size(self) -> int:
        """Number of codes, other and missing included."""
        return self.value_count + self.has_other + (self.missing is not None)

    @property
    def is_found(self) -> bool:
        """Whether a run that learned the column found any of its values; true of what was declared."""
        return True

    @property
    def in_table(self) -> bool:
        """Whether a drawn table has this column."""
        return bool(self.size)

    @property
    def parts(self) -> tuple[Attribute, ...]:
        """The attributes that mechanisms see in its place: itself, or nothing, or, of baskets, one for each
        item."""
        return (self,) if self.size else ()

    @property
    def table_columns(self) -> tuple[Attribute, ...]:
        """The columns that a drawn table has of it."""
        return (self,) if self.in_table else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of every code."""
        tail = ((OTHER,) if self.has_other else ()) + (
            (MISSING,) if self.missing is not None else ()
        )
        return self.value_labels + tail

    @property
    def facts(self) -> Mapping[str, Provenance]:
        """The origin of each fact."""
        if isinstance(self.provenance, str):
            raise TypeError("the provenance was not normalised")
        return self.provenance

    def to_json(self) -> dict[str, object]:
        document: dict[str, object] = {"name": self.name, "kind": self.kind, **self.details()}
        if self.size and not self.bare:
            document |= {
                "missing": None if self.missing is None else list(self.missing),
                "outside": self.outside,
                "ordered": self.ordered,
                # Left out where nothing is stated.
                **({} if self.written.usual else {"written": self.written.to_json()}),
                **({"separate_markers": True} if self.separate_markers else {}),
                **({"protected": True} if self.protected else {}),
            }
        return document | {"provenance": facts.shortest(self.facts)}

    def error(self, rule: str, *, repair: str, field: str = "") -> DomainError:
        """A refusal of this column; field: the key of its description that it is about, if it is about
        one."""
        return DomainError(rule, repair=repair, column=self.name, field=field)

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DomainError("a column has no name", repair="give every column a name")
        if len(self.name) > 200 or not self.name.isprintable():
            raise DomainError(
                "a column name is longer than 200 characters or has control characters",
                repair="rename the column",
            )

    def _check_written(self) -> None:
        problem = self.written.problem()
        if problem is not None:
            raise self.error(
                problem.rule, repair=problem.repair, field=f"written/{problem.field}"
            )
        if self.written.of_numbers and not self.holds_numbers:
            raise self.error(
                "marks of numbers for a column without numbers",
                repair='leave them out of "written", or describe the column as numbers',
                field="written",
            )
        style = self.day_format
        if self.written.unpadded and (style is None or not may_lack_zeros(style)):
            raise self.error(
                "days without zeros for a column without days, or of a format that needs the zeros",
                repair='leave "unpadded" out, or declare a format like "%m/%d/%y"',
                field="written/unpadded",
            )

    def _check_markers(self) -> None:
        if not isinstance(self.separate_markers, bool):
            raise self.error(
                "separate_markers is not true or false",
                repair="write true or false",
                field="separate_markers",
            )
        if self.separate_markers and len(self.missing or ()) < 2:
            raise self.error(
                "separate markers of a column with fewer than two",
                repair='list every marker in "missing", or leave "separate_markers" out',
                field="separate_markers",
            )

    def _check_texts(self, texts: tuple[str, ...], *, what: str, field: str) -> None:
        if not texts:
            raise self.error(
                f"an empty list of {what}s",
                repair=f"list at least one {what}, or leave the list out",
                field=field,
            )
        if not all(isinstance(text, str) for text in texts):
            raise self.error(
                f"a {what} that is not text",
                repair="put every one in quotation marks",
                field=field,
            )
        seen: set[str] = set()
        for position, text in enumerate(texts, start=1):
            if text in seen:
                raise self.error(
                    f"{what} {position} is listed twice",
                    repair="list each one once",
                    field=field,
                )
            seen.add(text)

    def _check_apart_from_missing(self, texts: tuple[str, ...]) -> None:
        if set(texts) & set(self.missing or ()):
            raise self.error(
                "a missing marker is also a value",
                repair="take it off one of the two lists",
                field="missing",
            )

    def _resolved_outside(self) -> Outside:
        outside = self.outside or self._default_outside()
        if outside not in self.outsides:
            raise self.error(
                "outside is not usable here",
                repair=f"use one of {', '.join(self.outsides)}",
                field="outside",
            )
        if (outside == "missing" and self.missing is None) or (
            outside == "other" and not self.has_other
        ):
            raise self.error(
                f"outside is {outside!r}, which this column does not have",
                repair=f"declare {outside}",
                field="outside",
            )
        return outside

    def _default_outside(self) -> Outside:
        return "clamp"
