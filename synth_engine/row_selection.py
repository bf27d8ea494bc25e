"""Which rows a table of a model holds: rows that keep to conditions, and so many rows of each value of one
column.

Post-processing of a model, by rejection: rows are drawn in rounds, each with a seed of its own, and those
that are not asked for are left out. A round is one table that grows until it holds the rows that are asked
for, so that these are as near to the model as the rows of a whole table are. What remains is distributed as
the model has it given the conditions (von Neumann 1951). At most `most_draws` rows are drawn for one table: a
condition that the model hardly meets is refused before, with the number of such records that the model has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_engine import codec, mechanisms
from synth_engine.domain import Attribute, Categorical, Domain, Identifier
from synth_engine.domain import conditions as declared
from synth_engine.domain.conditions import Value, ValueRange
from synth_engine.errors import InputError, SpecError, SynthError
from synth_engine.models import blocks
from synth_engine.models.model import Model, generator
from synth_engine.strict_json import JsonObject

Truth = NDArray[np.bool_]
Places = NDArray[np.int64]

MAX_CONDITIONS = 20
MAX_VALUES = 1_000
"""Values of a condition, and of the column of quotas."""
DRAWS_A_ROW = 100
FEWEST_DRAWS, MOST_DRAWS = 500_000, 5_000_000
"""Rows that are drawn at most for one table: so many for each row that is asked for, within these bounds."""
ROUND = 1 << 16
"""Rows of a round of a model that draws all rows at once; of one with more records, as many as it has,
because a small table is a part of one of that size."""
LARGEST_ROUND = blocks.MANY - 1
"""Rows of the largest round: from one more on fewer rows are refined, of which rare ones would be copied many
times."""
GROWTH = 3
"""A round grows by at most so many times its rows at once, because the share of rare rows is not known well
before."""
PILOT = 1 << 15
"""Rows that are drawn at most to see how many the model has."""
ENOUGH = 50
"""Rows of each kind after which that is known well enough."""
RISK = 1e-7
"""That a model has fewer such records than is taken for granted, when a selection is accepted."""


@dataclass(frozen=True, kw_only=True)
class RowCondition:
    """A row has one of these values in a column: texts as a file has them, ranges of a scale, or None for
    missing."""

    column: str
    values: tuple[Value, ...]

    @property
    def words(self) -> str:
        return f"{self.column} is {declared.words(self.values)}"


@dataclass(frozen=True, kw_only=True)
class Quotas:
    """So many rows of each value of one column, and no others."""

    column: str
    rows: Mapping[str, int]

    @property
    def words(self) -> str:
        texts = [f"{rows} of {value}" for value, rows in self.rows.items()]
        shown = texts if len(texts) <= 6 else [*texts[:5], f"{len(texts) - 5} more values"]
        return f"{', '.join(shown)} by {self.column}"


@dataclass(frozen=True, kw_only=True)
class RowSelection:
    """The rows of a table. All conditions hold for every row; with quotas, there are exactly as many rows of
    each value."""

    where: tuple[RowCondition, ...] = ()
    quotas: Quotas | None = None

    @property
    def rows(self) -> int | None:
        """How many rows the quotas ask for; None without quotas."""
        return None if self.quotas is None else sum(self.quotas.rows.values())

    @property
    def words(self) -> str:
        """As a citation states it."""
        parts = [condition.words for condition in self.where]
        return "; ".join([*parts, *([] if self.quotas is None else [self.quotas.words])])

    def to_json(self) -> JsonObject:
        document: dict[str, Any] = {}
        if self.where:
            document["where"] = [
                {"column": one.column, "values": declared.to_json(one.values)}
                for one in self.where
            ]
        if self.quotas is not None:
            document["quotas"] = {
                "column": self.quotas.column,
                "rows": dict(self.quotas.rows),
            }
        return document

    @classmethod
    def from_json(cls, document: object) -> RowSelection:
        """Errors: InputError where it is malformed; whether it suits a model is checked by `require`."""
        if (
            not isinstance(document, Mapping)
            or not document
            or set(document) - {"where", "quotas"}
        ):
            raise InputError(
                "a selection is an object with where, quotas or both", repair="correct it"
            )
        where = document.get("where", [])
        if not isinstance(where, Sequence) or isinstance(where, str):
            raise InputError("where is no list", repair="list its conditions")
        if len(where) > MAX_CONDITIONS:
            raise InputError(
                f"there are more than {MAX_CONDITIONS} conditions", repair="state fewer"
            )
        quotas = document.get("quotas")
        selection = cls(
            where=tuple(_condition(one) for one in where),
            quotas=None if quotas is None else _quotas(quotas),
        )
        if not selection.where and selection.quotas is None:
            raise InputError("the selection says nothing", repair="state a condition")
        return selection


def _condition(document: object) -> RowCondition:
    if not isinstance(document, Mapping) or set(document) != {"column", "values"}:
        raise InputError(
            "a condition is no object with column and values", repair="give both, no more"
        )
    column = _column_name(document["column"])
    values = declared.parse(document["values"], column=column)
    if len(values) > MAX_VALUES:
        raise InputError(
            f"a condition has more than {MAX_VALUES:,} values",
            repair="give ranges",
            column=column,
        )
    return RowCondition(column=column, values=values)


def _quotas(document: object) -> Quotas:
    if not isinstance(document, Mapping) or set(document) != {"column", "rows"}:
        raise InputError(
            "quotas are no object with column and rows", repair="give both, no more"
        )
    column, rows = _column_name(document["column"]), document["rows"]
    if not isinstance(rows, Mapping) or not 1 <= len(rows) <= MAX_VALUES:
        raise InputError(
            f"the rows of quotas are no object of 1 to {MAX_VALUES:,} values",
            repair='write {"value": 100, …}',
            column=column,
        )
    if any(type(count) is not int or count < 1 for count in rows.values()):
        raise InputError(
            "a quota is no whole number of rows from 1", repair="correct it", column=column
        )
    return Quotas(column=column, rows={str(value): count for value, count in rows.items()})


def _column_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InputError("a column of the selection is no text", repair="name a column")
    return name


def most_draws(rows: int) -> int:
    """How many rows are drawn at most for a table of so many."""
    return min(max(DRAWS_A_ROW * rows, FEWEST_DRAWS), MOST_DRAWS)


def require(model: Model, selection: RowSelection, *, rows: int) -> None:
    """Refuse what the model has no such columns or values for, and what it has too few records of: some rows
    are drawn to see. Errors: InputError, which names the column."""
    from scipy.special import gammaincinv  # slow to import

    if model.groups is not None:
        raise SpecError(
            "people with several records are generated together, so that single rows cannot be chosen",
            repair="draw the whole table and choose whole people from it",
        )
    if selection.rows is not None and selection.rows != rows:
        raise SpecError(
            f"the quotas ask for {selection.rows:,} rows in all, and not for {rows:,}",
            repair="give the sum, or leave the number of rows out",
        )
    matching = _Matching(model.domain, selection)
    wanted = matching.wanted(rows)
    # No more of a large model are drawn than are looked at.
    small = replace(model, rows=min(model.rows, PILOT))
    looked_at, counts = 0, np.zeros(len(wanted), dtype=np.int64)
    for frame in mechanisms.draw_blocks(small, PILOT, "how many rows there are"):
        looked_at += len(frame)
        counts += np.bincount(matching.kinds(frame) + 1, minlength=len(wanted) + 1)[1:]
        if counts.min() >= ENOUGH:
            break
    for place, quota in enumerate(wanted):
        chance = most_draws(rows) / looked_at
        count, records = int(counts[place]), model.rows / looked_at
        # With fewer records than this, so many are seen with probability RISK (Garwood's interval).
        most = int(float(gammaincinv(count, RISK)) * chance) if count else 0
        if quota > most:
            raise _too_few(matching.about(place), most=most, count=count, records=records)


def _too_few(
    about: tuple[str | None, str], *, most: int, count: int, records: float
) -> SpecError:
    """records: of the model, for each row that was looked at."""
    column, words = about
    expected = (
        f"about {count * records:,.0f}" if count else f"fewer than {max(3 * records, 1):,.0f}"
    )
    return SpecError(
        f"the model has {'few' if most else 'hardly any'} records where {words}: {expected} are expected "
        "in a table of the size of the release",
        repair=f"ask for at most {most:,} of them, or take a wider condition"
        if most
        else "take a wider condition",
        column=column,
    )


def draw_blocks(
    model: Model, rows: int, seed: str, *, selection: RowSelection
) -> Iterator[pd.DataFrame]:
    """The table of `mechanisms.draw_blocks`, of the rows that are selected, in the order in which they come.
    Errors: SynthError where they run out before the last one, which `require` excludes but for chance."""
    matching = _Matching(model.domain, selection)
    search = _Search(matching.wanted(rows), most=most_draws(rows))
    waiting: list[pd.DataFrame] = []
    start = 0
    for frame in _generated_rows(model, search, seed=seed):
        waiting.append(search.taken(frame, matching.kinds(frame)))
        ready = sum(len(one) for one in waiting)
        # Not a piece of a few rows for each of many blocks.
        if search.is_done or ready >= blocks.FIRST:
            part = pd.concat(waiting, ignore_index=True)
            waiting = []
            yield _with_identifiers(model.domain, part, start=start, seed=seed)
            start += ready
    if not search.is_done:
        raise SynthError(
            f"{most_draws(rows):,} rows of the model hold too few that are selected; ask for fewer rows"
        )


def _generated_rows(model: Model, search: _Search, *, seed: str) -> Iterator[pd.DataFrame]:
    """Rows of the model, until the search is over."""
    number = 0
    while search.goes_on:
        own = _seed_of(seed, number)
        number += 1
        if model.refines_in_blocks:
            grown = model.sample_growing(search.sizes(), seed=own, most=LARGEST_ROUND)
            yield from mechanisms.draw_blocks(model, LARGEST_ROUND, own, codes=grown)
            continue
        size = min(max(ROUND, model.rows), LARGEST_ROUND)
        for frame in mechanisms.draw_blocks(model, size, own):
            yield frame
            if search.is_done:
                return


class _Search:
    """How many rows of each kind are still wanted, and how many rows of the model probably hold them.

    wanted: rows of each kind. most: rows that are drawn at most.
    """

    def __init__(self, wanted: Sequence[int], *, most: int) -> None:
        self._left, self._most = np.array(wanted), most
        self._matches = np.zeros(len(wanted), dtype=np.int64)
        self._generated = 0

    @property
    def is_done(self) -> bool:
        """Whether all rows were found."""
        return not self._left.any()

    @property
    def goes_on(self) -> bool:
        """Whether rows are lacking and more may be drawn."""
        return not self.is_done and self._generated < self._most

    def sizes(self) -> Iterator[int]:
        """Sizes of the blocks of one round, each by what was found before. A table that ends with the last
        selected row is near to the model, and so are its selected rows; a part of a larger one would be a
        random part."""
        end = self._generated + LARGEST_ROUND
        while self.goes_on and self._generated < end:
            yield min(self._lacking(), end - self._generated)

    def _lacking(self) -> int:
        """About how many more rows hold those that are wanted, as far as that is known: at most `GROWTH`
        times as many as there are."""
        if not self._generated:
            return max(int(self._left.sum()), blocks.FIRST)
        # Half a row of a kind of which there was none yet.
        shares = np.maximum(self._matches, 0.5) / self._generated
        return min(int(np.ceil((self._left / shares).max())), GROWTH * self._generated)

    def taken(self, frame: pd.DataFrame, kinds: Places) -> pd.DataFrame:
        """The rows of a block that are still wanted. kinds: of each row, shape (rows,)."""
        self._generated += len(frame)
        self._matches += np.bincount(kinds + 1, minlength=len(self._left) + 1)[1:]
        return _taken(frame, kinds, self._left)


def _taken(frame: pd.DataFrame, kinds: Places, left: Places) -> pd.DataFrame:
    """The rows that are still wanted; `left` is lowered by them."""
    order = np.argsort(kinds, kind="stable")
    sorted_kinds = kinds[order]
    # The first rows of each kind are taken, in one pass over all kinds: quotas can have thousands.
    turn = np.arange(len(order)) - np.searchsorted(sorted_kinds, sorted_kinds)
    chosen = np.zeros(len(frame), dtype=np.bool_)
    chosen[order] = (sorted_kinds >= 0) & (turn < left[sorted_kinds])
    left -= np.bincount(kinds[chosen], minlength=len(left))
    return frame[chosen]


def _with_identifiers(
    domain: Domain, frame: pd.DataFrame, *, start: int, seed: str
) -> pd.DataFrame:
    """Identifiers are made again: each round counts from its own first row."""
    names = [one.name for one in domain.table_columns if isinstance(one, Identifier)]
    if not names:
        return frame
    again = codec.with_identifiers(
        domain,
        frame,
        start=start,
        generator=lambda name: generator(seed, purpose=("identifier", name)),
    )
    return frame.assign(**{name: again[name] for name in names})


def _seed_of(seed: str, number: int) -> str:
    """The seed of one round."""
    text = f"synth_engine/selection/1\x00{number}\x00{seed}"
    return hashlib.sha256(text.encode()).hexdigest()


class _Matching:
    """Which rows of a table are selected, and to which quota each counts. Errors: InputError for a column or
    a value that the domain does not have."""

    def __init__(self, domain: Domain, selection: RowSelection) -> None:
        self._selection = selection
        self._tests = [
            _Test(_column(domain, one.column), domain, one.values) for one in selection.where
        ]
        quotas = selection.quotas
        self._values = [] if quotas is None else list(quotas.rows)
        self._kinds = (
            []
            if quotas is None
            else [_Test(_column(domain, quotas.column), domain, (v,)) for v in quotas.rows]
        )

    def wanted(self, rows: int) -> list[int]:
        """Rows of each quota; of all in one without quotas."""
        quotas = self._selection.quotas
        return [rows] if quotas is None else list(quotas.rows.values())

    def about(self, place: int) -> tuple[str | None, str]:
        """The column that a quota, or the only condition, is of, and the words for its rows."""
        where, quotas = self._selection.where, self._selection.quotas
        parts = [one.words for one in where]
        if quotas is not None:
            parts.append(f"{quotas.column} is {self._values[place]}")
            return quotas.column, " and ".join(parts)
        return where[0].column if len(where) == 1 else None, " and ".join(parts)

    def kinds(self, frame: pd.DataFrame) -> Places:
        """The place of the quota of each row, -1 for rows that are not selected; shape (rows,)."""
        truth = np.ones(len(frame), dtype=np.bool_)
        for test in self._tests:
            truth &= test.holds(test.cells_of(frame))
        if not self._kinds:
            return np.where(truth, 0, -1)
        # All quotas are of one column, whose cells are read once.
        cells = self._kinds[0].cells_of(frame)
        if not any(test.has_ranges for test in self._kinds):
            places = pd.Index(self._values).get_indexer(pd.Index(cells.written))
            return np.where(truth & ~cells.missing, places, -1).astype(np.int64)
        kinds = np.full(len(frame), -1, dtype=np.int64)
        for place, test in enumerate(self._kinds):
            kinds[test.holds(cells) & truth & (kinds < 0)] = place
        return kinds


def _column(domain: Domain, name: str) -> Attribute:
    """Errors: InputError where a sample has no such column, or one that is generated."""
    for attribute in domain.table_columns:
        if attribute.name == name and not isinstance(attribute, Identifier):
            return attribute
    raise SpecError(
        "the release has no such column to select rows by",
        repair="take a name of its dictionary; identifiers are generated and mean nothing",
        column=name,
    )


class _TestedCells:
    """The cells of a column in the forms by which they are tested, each made once when it is needed."""

    def __init__(self, cells: pd.Series, source: Attribute) -> None:
        self._cells, self._source = cells, source
        self.missing: Truth = cells.isna().to_numpy()

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Comparable values."""
        return self._source.comparable(self._cells)

    @cached_property
    def written(self) -> pd.Series:
        """Texts as a table has them."""
        return pd.Series(self._source.write(self._cells))


class _Test:
    """Whether cells of a column have one of some values."""

    def __init__(self, attribute: Attribute, domain: Domain, values: Sequence[Value]) -> None:
        self._name, self._source = attribute.name, domain.written_like(attribute)
        self._missing = None in values
        self._ranges: list[tuple[float, float]] = []
        self._texts: set[str] = set()
        for place, value in enumerate(values, start=1):
            if isinstance(value, ValueRange):
                self._ranges.append(self._span(value))
            elif value is not None and self._source.is_comparable:
                self._ranges.append(self._point(value, place))
            elif value is not None:
                self._require_label(value, place)
                self._texts.add(value)

    @property
    def has_ranges(self) -> bool:
        """Whether values are compared as numbers, and not as texts."""
        return bool(self._ranges)

    def cells_of(self, frame: pd.DataFrame) -> _TestedCells:
        """The cells that are tested."""
        return _TestedCells(frame[self._name], self._source)

    def holds(self, cells: _TestedCells) -> Truth:
        """For each row; shape (rows,)."""
        missing = cells.missing
        truth = missing if self._missing else np.zeros(len(missing), dtype=np.bool_)
        for low, high in self._ranges:
            truth = truth | ((cells.numbers >= low) & (cells.numbers <= high) & ~missing)
        if self._texts:
            truth = truth | (cells.written.isin(self._texts).to_numpy() & ~missing)
        return truth

    def _span(self, value: ValueRange) -> tuple[float, float]:
        if not self._source.is_comparable:
            raise self._refusal("a range of a column that is no scale", "list its values")
        low = -np.inf if value.low is None else self._end(value.low, last=False)
        high = np.inf if value.high is None else self._end(value.high, last=True)
        if low > high:
            raise self._refusal("a range ends before it begins", "swap its ends")
        return low, high

    def _point(self, text: str, place: int) -> tuple[float, float]:
        try:
            return self._number(text, last=False), self._number(text, last=True)
        except (ValueError, OverflowError):
            raise self._refusal(
                f"value {place} cannot be read", "write it as the column's bounds are"
            ) from None

    def _end(self, end: float | str, *, last: bool) -> float:
        try:
            return self._number(end, last=last)
        except (ValueError, OverflowError):
            raise self._refusal(
                "an end of a range cannot be read", "write it as the column's bounds are"
            ) from None

    def _number(self, end: float | str, *, last: bool) -> float:
        """The number of the scale that a text or a number stands for."""
        try:
            number = self._source.range_end(end, last=last)
        except ValueError:
            if not isinstance(end, str):
                raise
            number = self._source.range_end(float(end), last=last)
        if not np.isfinite(number):
            raise ValueError
        return number

    def _require_label(self, text: str, place: int) -> None:
        if isinstance(self._source, Categorical) and text not in self._source.value_labels:
            raise self._refusal(
                f"value {place} is not among those that the column has",
                "take one of its dictionary, or null for missing",
            )

    def _refusal(self, rule: str, repair: str) -> SpecError:
        return SpecError(rule, repair=repair, column=self._name)
