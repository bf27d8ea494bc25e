"""Repair of rows that a model generated: public totals from a document, what meets them, and the receipt of
the table.

Post-processing of a released model and of public numbers (`raking`). The receipt names that of the release by
its digest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import pandas as pd

from synth_engine import codec, strict_json
from synth_engine.domain import Attribute, Derived, Domain
from synth_engine.errors import InputError, SpecError
from synth_engine.mixing import of_release, raking
from synth_engine.mixing.raking import COUNT, WEIGHT, PublicTotals
from synth_engine.privacy import receipt as receipts
from synth_engine.strict_json import JsonObject

SCHEMA = "synth_engine/repair-receipt/1"
STATEMENT = (
    "This table is post-processing: its rows were generated from the model of the release below and "
    "weighted, or repeated and left out, until they meet totals that a person gave as public. No table was "
    "read, so that it costs no privacy beyond the release, whose receipt proves its guarantee. Nothing "
    "proves that the totals are public: what is not public in them is not protected."
)
MAX_LABELS = 100_000
"""Values and bins of a column that totals can name as the description does."""
MET = 1e-6
"""The largest share of all records by which a total may be missed and still be called met: raking ends long
before."""
Way = Literal["weights", "rows"]
"""weights: a column of weights meets the totals. rows: rows are repeated and left out."""
WAYS: tuple[Way, ...] = get_args(Way)


# --- totals -------------------------------------------------------------------------------------------------
def totals_of_document(document: object) -> tuple[PublicTotals, ...]:
    """Totals from a JSON document `{"totals": [{"name": …, "columns": [column], "counts": [{"values": [text],
    "count": number}]}]}`. Errors: SpecError by name and rule."""
    listed = document.get("totals") if isinstance(document, Mapping) else None
    if (
        not isinstance(document, Mapping)
        or set(document) != {"totals"}
        or not isinstance(listed, list)
        or not 1 <= len(listed) <= raking.MAX_TOTALS
    ):
        raise SpecError(
            f"the document of totals is no object with a list of 1 to {raking.MAX_TOTALS} totals",
            repair='write {"totals": [{"name": …, "columns": […], "counts": [{"values": […], "count": …}]}]}',
        )
    totals = tuple(_totals(each, number) for number, each in enumerate(listed, start=1))
    if len({each.name for each in totals}) < len(totals):
        raise SpecError("two totals have one name", repair="name each once")
    return totals


def _totals(given: object, number: int) -> PublicTotals:
    if not isinstance(given, Mapping) or set(given) != {"name", "columns", "counts"}:
        raise SpecError(
            f"totals {number}: they are no object with name, columns and counts",
            repair="write these three fields",
        )
    name, columns, counts = given["name"], given["columns"], given["counts"]
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= 200:
        raise SpecError(
            f"totals {number}: their name is no text of 1 to 200 printable characters",
            repair="give a short name",
        )
    if not _texts(columns) or len(set(columns)) != len(columns):
        raise SpecError(
            f"the totals {name!r} name no columns, or one twice",
            repair="list the columns that they are by",
        )
    if not isinstance(counts, list) or not 1 <= len(counts) <= raking.MAX_CELLS:
        raise SpecError(
            f"the totals {name!r} have no counts", repair="list values with their count"
        )
    made: dict[tuple[str, ...], int] = {}
    for line in counts:
        values = line.get("values") if isinstance(line, Mapping) else None
        count = line.get("count") if isinstance(line, Mapping) else None
        if not isinstance(line, Mapping) or set(line) != {"values", "count"}:
            raise SpecError(
                f"the totals {name!r} have a line that is no object with values and count",
                repair="write these two fields",
            )
        if not _texts(values) or len(values) != len(columns):
            raise SpecError(
                f"the totals {name!r} have a line with another number of values than columns",
                repair="give a text for each column",
            )
        # Not isinstance(), because True is an int.
        if type(count) is not int or not 0 <= count <= raking.MAX_TOTAL:
            raise SpecError(
                f"a count of the totals {name!r} is not a whole number of 0 or more",
                repair="write digits alone",
            )
        if tuple(values) in made:
            raise SpecError(
                f"the totals {name!r} have a combination of values twice",
                repair="add both counts",
            )
        made[tuple(values)] = count
    return PublicTotals(name=name, columns=tuple(columns), counts=made)


def _texts(given: object) -> TypeGuard[list[str]]:
    return isinstance(given, list) and bool(given) and all(isinstance(e, str) for e in given)


def totals_of_text(text: str) -> tuple[PublicTotals, ...]:
    """Totals from a text: a JSON document, or tables as CSV, an empty line between two. A table is called by
    its columns. Errors: InputError."""
    if text.lstrip().startswith("{"):
        try:
            document = strict_json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(
                "the document of totals is no JSON", repair="check brackets and commas"
            ) from None
        return totals_of_document(document)
    tables = list(_tables_of_csv(text))
    if not 1 <= len(tables) <= raking.MAX_TOTALS:
        raise InputError(
            f"the text has {len(tables)} tables of totals",
            repair=f"give 1 to {raking.MAX_TOTALS}, with an empty line between two",
        )
    return totals_of_document({"totals": tables})


def _tables_of_csv(text: str) -> Iterator[JsonObject]:
    """The tables of a text of CSV as documents. Errors: InputError."""
    lines: list[list[str]] = []
    try:
        # An empty line ends the last table, too.
        for line in [*csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True), []]:
            if line:
                lines.append(line)
            elif lines:
                yield _table_of_csv(lines)
                lines = []
    except csv.Error:
        raise InputError("the totals are no CSV", repair="check its quotes") from None


def _table_of_csv(lines: list[list[str]]) -> JsonObject:
    header = [name.strip() for name in lines[0]]
    columns = [name for name in header if name != COUNT]
    name = ", ".join(columns) or COUNT
    if header.count(COUNT) != 1 or not columns:
        raise InputError(
            f"the totals {name!r} have no column {COUNT!r} beside columns of the table",
            repair="begin each table with a line that names its columns",
        )
    place = header.index(COUNT)
    counts: list[Any] = []
    for line in lines[1:]:
        digits = line[place].strip() if len(line) == len(header) else ""
        if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
            raise InputError(
                f"a line of the totals {name!r} is no values with a whole number of 0 or more",
                repair=f"give {len(header)} fields, and digits alone as the count",
            )
        counts.append({"values": [*line[:place], *line[place + 1 :]], "count": int(digits)})
    return {"name": name, "columns": list(columns), "counts": counts}


def document_of(totals: Sequence[PublicTotals]) -> JsonObject:
    """Totals as the document that `totals_of_document` reads."""
    return {
        "totals": [
            {
                "name": each.name,
                "columns": list(each.columns),
                "counts": [
                    {"values": list(values), "count": count}
                    for values, count in each.counts.items()
                ],
            }
            for each in totals
        ]
    }


# --- repair -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class RepairedRows:
    """Rows that meet totals. frame: values, texts: the same as files write them; with the column `weight` if
    rows are weighted. met: a line for each of the totals. effective_rows: how many rows of equal weights are
    as precise (Kish 1965)."""

    frame: pd.DataFrame
    texts: pd.DataFrame
    met: tuple[JsonObject, ...]
    effective_rows: int


def require_way(totals: Sequence[PublicTotals], way: Way) -> None:
    """Errors: SpecError where rows are to be repeated for more than one table of totals."""
    if way == "rows" and len(totals) > 1:
        raise SpecError(
            "rows are repeated for one table of totals",
            repair="ask for weights, or give one table of all its columns",
        )


def repair(
    domain: Domain, frame: pd.DataFrame, totals: Sequence[PublicTotals], *, way: Way
) -> RepairedRows:
    """Weigh generated rows, or repeat and leave out some, until they meet public totals. frame: values, shape
    (rows, columns). Errors: SpecError naming the totals that cannot be met."""
    require_way(totals, way)
    if WEIGHT in {column.name for column in domain.table_columns}:
        raise SpecError(
            "the table has a column of weights already",
            repair="use totals of a release without it",
            column=WEIGHT,
        )
    texts = codec.as_text(domain, frame)
    frame = codec.without_markers(domain, frame)
    compared = _compared(domain, texts, totals)
    if way == "rows":
        times = raking.repetitions(compared, totals[0])
        chosen = np.repeat(np.arange(len(texts)), times)
        return RepairedRows(
            frame=frame.iloc[chosen].reset_index(drop=True),
            texts=texts.iloc[chosen].reset_index(drop=True),
            met=_met(compared, times, totals),
            effective_rows=_effective(times),
        )
    weights = raking.weights(compared, totals)
    return RepairedRows(
        frame=frame.assign(**{WEIGHT: weights}),
        # Every digit, so that sums of the file meet the totals as well.
        texts=texts.assign(**{WEIGHT: [repr(float(each)) for each in weights]}),
        met=_met(compared, weights, totals),
        effective_rows=_effective(weights),
    )


def labels_of(attribute: Attribute) -> tuple[str, ...]:
    """The values and bins of a column as totals name them; none where they are not listed, or more than
    `MAX_LABELS`."""
    if isinstance(attribute, Derived) or not 0 < attribute.size <= MAX_LABELS:
        return ()
    return attribute.labels


def _compared(
    domain: Domain, texts: pd.DataFrame, totals: Sequence[PublicTotals]
) -> pd.DataFrame:
    """The columns that totals are by: bins by their names where totals name bins alone, such as `20 to 29`,
    else the texts of the file."""
    columns = {str(name): texts[name] for name in texts}
    for attribute in domain.table_columns:
        named = {
            values[each.columns.index(attribute.name)]
            for each in totals
            if attribute.name in each.columns
            for values in each.counts
        }
        labels = labels_of(attribute)
        if named and named <= set(labels):
            codes = codec.encode_column(attribute, texts[attribute.name].to_numpy(dtype=object))
            columns[attribute.name] = pd.Series(np.array(labels, dtype=object)[codes])
    return pd.DataFrame(columns)


def _met(
    texts: pd.DataFrame, weights: np.ndarray, totals: Sequence[PublicTotals]
) -> tuple[JsonObject, ...]:
    """What the weighted rows say of each of the totals, counted anew."""
    lines: list[JsonObject] = []
    for each in totals:
        keys = zip(*(texts[column] for column in each.columns), strict=True)
        sums = pd.Series(weights).groupby(pd.Series(list(keys), dtype=object)).sum().to_dict()
        off = max(abs(sums.get(key, 0) - count) for key, count in each.counts.items())
        lines.append(
            {
                "name": each.name,
                "columns": list(each.columns),
                "records": each.sum,
                "combinations": len(each.counts),
                "counts_sha256": receipts.digest(document_of([each])),
                "largest_difference": float(off),
                "met": bool(off <= MET * each.sum),
            }
        )
    return tuple(lines)


def _effective(weights: np.ndarray) -> int:
    squares = float((weights.astype(np.float64) ** 2).sum())
    return round(float(weights.sum()) ** 2 / squares) if squares else 0


# --- receipt ------------------------------------------------------------------------------------------------
def receipt(
    release: Mapping[str, Any], *, model: Mapping[str, Any], made: Mapping[str, Any]
) -> JsonObject:
    """The receipt of a repaired table; arguments and errors as of `of_release.receipt`."""
    return of_release.receipt(
        release, model=model, schema=SCHEMA, statement=STATEMENT, made=made
    )
