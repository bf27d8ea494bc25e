"""A file of SPSS or Stata as blocks of text columns, and what its codebook says about them.

Cells are the codes of the file, not their labels: labels and codes of missing values become suggestions. What
Stata calls .a to .z is written so; a system-missing value is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from synth_engine import formats
from synth_engine.errors import TableError
from synth_engine.formats import Kind
from synth_engine.readers import cell_text, sandbox
from synth_engine.readers.source import (
    BLOCK_CELLS,
    Block,
    Limits,
    Mode,
    ReadOptions,
    Shape,
)

MOST_MISSING = 100  # codes of a range of missing ones that are listed


def columns(path: Path, *, kind: Kind, limits: Limits) -> tuple[str, ...]:
    """The names in the file's own list of variables."""
    _try_out(path, kind, at_once=0)
    return formats.checked_names(
        _read(path, kind, metadataonly=True)[1].column_names, most=limits.columns
    )


def blocks(
    path: Path,
    *,
    kind: Kind,
    shape: Shape,
    options: ReadOptions,
) -> Iterator[Block]:
    """Columns as text, block by block."""
    limits, wanted = options.limits, options.wanted
    progress, mode = options.progress, options.mode
    _try_out(path, kind, at_once=BLOCK_CELLS)
    about = _read(path, kind, metadataonly=True)[1]
    shape.columns = formats.checked_names(about.column_names, most=limits.columns)
    names_read = {
        stored: name
        for stored, name in zip(about.column_names, shape.columns, strict=True)
        if wanted is None or name in wanted
    }
    shape.facts = {
        name: values for stored, name in names_read.items() if (values := _facts(about, stored))
    }
    at_once = limits.rows_at_once(len(about.column_names))
    # One column at least: it is what tells the number of rows.
    used = list(names_read) or about.column_names[:1]
    while True:
        read = _read if mode == "checked" else _read_dates_or_nothing
        values = read(path, kind, row_offset=shape.rows, row_limit=at_once, usecols=used)[0]
        count = len(values[used[0]])
        shape.rows += count
        if shape.rows > limits.rows:
            raise TableError("more rows than are allowed", repair="use a smaller table")
        progress("read", min(1.0, shape.rows / max(1, about.number_rows or shape.rows)))
        if count:
            yield {
                name: _column(about, values[stored], stored, name, limits=limits, mode=mode)
                for stored, name in names_read.items()
            }
        if count < at_once:
            break
    shape.notes.append("Cells are the codes of the file; its labels stand in the suggestions.")


def _try_out(path: Path, kind: Kind, *, at_once: int) -> None:
    if sandbox.is_deadly(path, kind=kind, cells=at_once):
        _refuse(kind)


def _read(path: Path, kind: Kind, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    try:
        return _read_raw(path, kind, **options)
    except OverflowError:
        _refuse(kind)


def _read_raw(path: Path, kind: Kind, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    """Raises OverflowError for a day or time that the library cannot express."""
    import pyreadstat  # slow to import

    read = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[kind]
    try:
        with path.open("rb") as file:
            formats.check_kind(kind, file.read(formats.HEAD))
        result: tuple[dict[str, list[Any]], Any] = read(
            # Codes that the codebook declares as missing stay codes: the domain decides what
            # they mean.
            str(path),
            user_missing=True,
            output_format="dict",
            **options,
        )
    except (TableError, OverflowError):
        raise  # a day that no calendar has is a cell, not damage
    except Exception:  # noqa: BLE001
        # Of a damaged file the library says this or that, and never in our words
        _refuse(kind)
    return result


def _read_dates_or_nothing(
    path: Path, kind: Kind, **options: Any
) -> tuple[dict[str, list[Any]], Any]:
    """Read like `_read_raw`, with missing for a day or time that the library cannot express. No other cell
    changes: rows are read by halves until that row is alone, and then its columns one by one."""
    start, count, columns = (
        options["row_offset"],
        options["row_limit"],
        list(options["usecols"]),
    )
    try:
        return _read_raw(path, kind, **options)
    except OverflowError:
        pass
    if count > 1:
        first = _read_dates_or_nothing(path, kind, **options | {"row_limit": count // 2})
        second = _read_dates_or_nothing(
            path,
            kind,
            **options | {"row_offset": start + count // 2, "row_limit": count - count // 2},
        )
        return {name: [*first[0][name], *second[0][name]] for name in columns}, first[1]
    values: dict[str, list[Any]] = {}
    about = None
    for name in columns:
        try:
            one, about = _read_raw(path, kind, **options | {"usecols": [name]})
            values[name] = one[name]
        except OverflowError:
            values[name] = [None]
    return values, about


def _refuse(kind: Kind) -> NoReturn:
    raise TableError(
        f"not a file of {formats.KIND_NAMES[kind]} that can be read",
        repair="save it again, or use CSV",
    ) from None


_COUNTED = {"%tq": "quarters", "%tm": "months", "%tw": "weeks", "%th": "half years"}


def _column(
    about: Any, values: list[Any], stored: str, name: str, *, limits: Limits, mode: Mode
) -> Any:
    if about.readstat_variable_types.get(stored) != "string":
        values = [f".{value}" if isinstance(value, str) else value for value in values]
    return cell_text.column(name, values, limits=limits, mode=mode)


def _facts(about: Any, stored: str) -> dict[str, Any]:
    """Return the codebook's facts about a variable: a label, the label of each code, the codes that mean
    missing."""
    tagged = about.readstat_variable_types.get(stored) != "string"
    labels = {
        _code(code, tagged): str(label)
        for code, label in about.variable_value_labels.get(stored, {}).items()
    }
    missing = [_code(code, tagged) for code in about.missing_user_values.get(stored, [])]
    for part in about.missing_ranges.get(stored, []):
        missing += _range(part, labels)
    if tagged:
        missing += [code for code in labels if code.startswith(".") and code[1:].isalpha()]
    label = about.column_names_to_labels.get(stored)
    # Such counts come as the numbers that they are stored as; days and moments are dates already.
    counted = _COUNTED.get(str(about.original_variable_types.get(stored, ""))[:3])
    if counted:
        label = f"{label or stored} ({counted} counted from 1960)"
    facts = {
        "label": label,
        "values": labels,
        "missing": list(dict.fromkeys(missing)),
    }
    return {key: value for key, value in facts.items() if value}


def _code(code: object, tagged: bool) -> str:
    return f".{code}" if tagged and isinstance(code, str) else cell_text.text(code) or ""


def _range(part: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """The codes of a range: all whole ones while they are few, else those with a label."""
    low, high = part["lo"], part["hi"]
    if isinstance(low, str) or isinstance(high, str):
        return [str(low)]
    if low == high:
        return [cell_text.text(low) or ""]
    if high - low <= MOST_MISSING:
        return [str(code) for code in range(int(low), int(high) + 1) if low <= code <= high]
    return [
        code
        for code in labels
        if code.lstrip("+-").replace(".", "", 1).isdigit() and low <= float(code) <= high
    ]
