"""Rules between columns that hold in the data: sums, orders, parts of dates, functions, and where values are
missing.

That a rule holds in some thousand rows is a fact of these rows and no public one. It is told to the steward,
who may know where it is written, and is never taken into a description by itself."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_engine.codec.ladder_cells import read_cells
from synth_engine.domain import MISSING, Attribute, Identifier, Integer, parse_attribute
from synth_engine.errors import DomainError
from synth_engine.formats import Marks
from synth_engine.kinds.date import ORDINAL_OF_1970
from synth_engine.steward import formula_rules
from synth_engine.steward.held_rule import (
    CHANCE,
    DERIVED,
    MIN_ROWS,
    Floats,
    Rules,
    SampledColumn,
    add,
    equal,
    varies,
)

MAX_ROWS = 2_000
MAX_CELLS = 1_000_000
MAX_NUMERIC = 40  # columns that are compared with each other
MAX_GROUPED = 40
MAX_REMARKS = 4  # for one column
_MAX_VALUES = 1_000  # of a column that may decide another one
_MAX_CASES = 50  # of a column that may decide where another one is missing
_LISTED = 5
_FEWEST = 20  # rows on either side of a rule of missing values


class RowSample:
    """Some rows of a table, evenly spread over it, in bounded memory."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.most = max(500, min(MAX_ROWS, MAX_CELLS // max(1, len(self.names))))
        self._step, self._seen, self._rows = 1, 0, 0
        self._pieces: list[dict[str, pa.Array]] = []

    def add(self, block: Mapping[str, pa.Array]) -> None:
        """The next block: every so many rows of it."""
        length = len(next(iter(block.values()))) if block else 0
        first = -self._seen % self._step
        self._seen += length
        if first >= length:
            return
        indices = pa.array(range(first, length, self._step))
        self._pieces.append({name: block[name].take(indices) for name in self.names})
        self._rows += len(indices)
        while self._rows > 2 * self.most:
            whole = {name: texts[::2] for name, texts in self.columns().items()}
            self._pieces, self._step = [whole], 2 * self._step
            self._rows = len(next(iter(whole.values())))

    def columns(self) -> dict[str, pa.Array]:
        """Return the rows, column by column."""
        return {
            name: pc.fill_null(pa.concat_arrays([piece[name] for piece in self._pieces]), "")
            for name in (self.names if self._pieces else ())
        }


def held_rules(
    sample: Mapping[str, pa.Array], drafts: Sequence[Mapping[str, Any]], marks: Marks
) -> Rules:
    """The rules that hold in some rows, by the column that they are about. drafts: the suggestions, in the
    form of a domain's JSON."""
    columns = [
        _column(sample[draft["name"]], draft, marks)
        for draft in drafts
        if draft["name"] in sample
    ]
    rules: Rules = defaultdict(list)
    if not columns or len(columns[0].codes) < MIN_ROWS:
        return {}
    numeric = [each for each in columns if varies(each)][:MAX_NUMERIC]
    related = formula_rules.sums(numeric, rules)
    related |= _shifts(numeric, rules)
    related |= formula_rules.formulas(numeric, related, rules)
    formula_rules.complements(columns, rules)
    _parts_of_dates(columns, rules)
    _orders(numeric, related, rules)
    _functions(columns, rules)
    _missing_rules(columns, rules)
    return {name: several[:MAX_REMARKS] for name, several in rules.items()}


def _column(texts: pa.Array, draft: Mapping[str, Any], marks: Marks) -> SampledColumn:
    encoded = texts.dictionary_encode()
    listed = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    markers = set(draft.get("missing") or ())
    missing = np.array([text in markers for text in listed])[codes]
    attribute = _described(draft)
    size, unit = _unit(attribute)
    trimmed = pc.utf8_trim(encoded.dictionary, " \t")
    values = None if attribute is None else _values(attribute, trimmed, marks)
    return SampledColumn(
        name=str(draft["name"]),
        attribute=attribute,
        numbers=None if values is None else np.where(missing, np.nan, values[codes] / size),
        unit=unit,
        codes=codes,
        missing=missing,
        texts=listed,
    )


def _described(draft: Mapping[str, Any]) -> Attribute | None:
    try:
        return parse_attribute(draft)
    except DomainError:
        return None


def _values(attribute: Attribute, texts: pa.Array, marks: Marks) -> Floats | None:
    """Different texts as numbers of the column's ladder, NaN for one that cannot be read; None for a column
    that has no order."""
    cells = read_cells(attribute, attribute.plain(texts, marks).to_pylist())
    return None if cells is None else cells.values


def _unit(attribute: Attribute | None) -> tuple[float, str]:
    """The largest unit of differences between values, how long on the ladder and its name."""
    units = () if attribute is None else attribute.reader.span_units
    return units[0] if units else (1.0, "")


def _shifts(numeric: Sequence[SampledColumn], rules: Rules) -> set[frozenset[str]]:
    """Columns that differ from another one by the same number in every row, or add up to the same with it."""
    related: set[frozenset[str]] = set()
    for left, right in combinations(numeric, 2):
        if left.numbers is None or right.numbers is None or left.unit != right.unit:
            continue
        both = ~np.isnan(left.numbers) & ~np.isnan(right.numbers)
        if both.sum() < MIN_ROWS:
            continue
        for total, how in ((False, "is always"), (True, "and")):
            result = right.numbers[both] + (1 if total else -1) * left.numbers[both]
            if (total and left.unit) or not equal(result, result[:1]).all():
                continue
            constant = f"{result[0]:.12g}"
            kind = ""
            facts: dict[str, Any] = {}
            if total:
                sentence = f"{left.name} and {right.name} add up to {constant} in every row."
            elif result[0] == 0:
                sentence = f"{right.name} {how} the same as {left.name}."
                kind, facts = DERIVED, {"rule": "copy", "of": [left.name]}
            else:
                sentence = f"{right.name} {how} {left.name} plus {constant}{left.unit and f' {left.unit}'}."
            add(rules, right.name, sentence, kind=kind, facts=facts)
            related.add(frozenset((left.name, right.name)))
    return related


def _parts_of_dates(columns: Sequence[SampledColumn], rules: Rules) -> None:
    """Columns that are the year or the month of a date."""
    days = [each for each in columns if each.unit == "days"][:MAX_NUMERIC]
    whole = [
        each
        for each in columns
        if each.attribute is not None and isinstance(each.attribute.reader, Integer)
    ]
    for day in days:
        if day.numbers is None:
            continue
        known = ~np.isnan(day.numbers)
        since_1970 = np.floor(np.where(known, day.numbers, ORDINAL_OF_1970) - ORDINAL_OF_1970)
        months = since_1970.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        parts = {"year": 1970 + months // 12, "month": months % 12 + 1}
        for column in whole[:MAX_NUMERIC]:
            if column.numbers is None:
                continue
            both = known & ~np.isnan(column.numbers)
            for part, values in parts.items():
                different = len(np.unique(values[both]))
                if (
                    both.sum() >= MIN_ROWS
                    and different > 1
                    and (column.numbers[both] == values[both]).all()
                ):
                    add(
                        rules,
                        column.name,
                        f"{column.name} is the {part} of {day.name} in every row.",
                        kind=DERIVED,
                        facts={"rule": part, "of": [day.name]},
                    )


def _orders(
    numeric: Sequence[SampledColumn],
    related: set[frozenset[str]],
    rules: Rules,
) -> None:
    """Columns that are never above another one, where chance alone would put some rows the other way
    round."""
    for left, right in permutations(numeric, 2):
        if left.numbers is None or right.numbers is None or left.unit != right.unit:
            continue
        if frozenset((left.name, right.name)) in related:
            continue
        both = ~np.isnan(left.numbers) & ~np.isnan(right.numbers)
        low, high = left.numbers[both], right.numbers[both]
        if len(low) < MIN_ROWS or (low > high).any():
            continue
        # If the columns were independent, a row would be in order with this chance.
        share = float(np.searchsorted(np.sort(low), high, side="right").mean() / len(low))
        if len(low) * math.log(min(1.0, share)) < math.log(CHANCE):
            verb = "after" if left.unit else "above"
            add(
                rules,
                left.name,
                f"{left.name} is never {verb} {right.name}.",
                kind="order",
                facts={"first": left.name, "second": right.name},
            )


def _functions(columns: Sequence[SampledColumn], rules: Rules) -> None:
    """Columns that another one decides: each of its values occurs with one value alone."""
    grouped = [
        each
        for each in columns
        if each.attribute is not None
        and (each.attribute.lists_values or isinstance(each.attribute, Identifier))
        and 2 <= len(each.texts) <= _MAX_VALUES
    ][:MAX_GROUPED]
    for left, right in permutations(grouped, 2):
        if len(right.texts) > len(left.texts) or len(left.texts) < 3:
            continue
        pairs = len(np.unique(left.codes * len(right.texts) + right.codes))
        if pairs != len(left.texts):
            continue
        shares = np.bincount(right.codes) / len(right.codes)
        repeated = len(left.codes) - len(left.texts)
        if repeated * math.log(float((shares**2).sum())) < math.log(CHANCE):
            add(
                rules,
                right.name,
                f"{left.name} decides {right.name}: each value occurs with one alone.",
                kind="dependency",
                facts={"from": left.name, "to": right.name},
            )


def _missing_rules(columns: Sequence[SampledColumn], rules: Rules) -> None:
    """Columns that are missing exactly where another one has some values, or is missing itself."""
    gaps = [
        each for each in columns if _FEWEST <= each.missing.sum() <= len(each.missing) - _FEWEST
    ][:MAX_GROUPED]
    for column in gaps:
        for other in columns[: 2 * MAX_GROUPED]:
            if other is column:
                continue
            if (rule := _missing_rule(column.missing, other)) is not None:
                facts: dict[str, Any] = {"column": column.name, "when": other.name}
                if np.array_equal(column.missing, other.missing):
                    facts["values"] = MISSING
                add(
                    rules,
                    column.name,
                    f"{column.name} is missing exactly where {rule}.",
                    kind="missing-iff",
                    facts=facts,
                )
                break


def _missing_rule(missing: NDArray[np.bool_], other: SampledColumn) -> str | None:
    """Where a column is missing, in words about another one; None if that one does not decide it."""
    if np.array_equal(missing, other.missing):
        return f"{other.name} is missing"
    if (
        other.numbers is not None
        and not other.missing.any()
        and not np.isnan(other.numbers).any()
    ):
        inside, outside = other.numbers[missing], other.numbers[~missing]
        if inside.max() < outside.min():
            return f"{other.name} is below {_written(other, outside.min())}"
        if inside.min() > outside.max():
            return f"{other.name} is above {_written(other, outside.max())}"
    if not 2 <= len(other.texts) <= _MAX_CASES:
        return None
    totals = np.bincount(other.codes, minlength=len(other.texts))
    gaps = np.bincount(other.codes[missing], minlength=len(other.texts))
    if ((gaps != 0) & (gaps != totals)).any():
        return None
    cases = [f"“{text}”" for text, gap in zip(other.texts, gaps.tolist(), strict=True) if gap]
    more = f" or {len(cases) - _LISTED} others" if len(cases) > _LISTED else ""
    return f"{other.name} is {', '.join(cases[:_LISTED])}{more}"


def _written(column: SampledColumn, value: float) -> str:
    """The text that stands for a number of a column."""
    if column.numbers is None:
        raise TypeError("the column has no numbers")
    return column.texts[int(column.codes[int(np.flatnonzero(column.numbers == value)[0])])]
