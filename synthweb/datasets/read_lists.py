"""Lists of values that were read from a table. A description publishes a list, so one that was only read is
confirmed with a statement of its own, and never together with other columns."""

from __future__ import annotations

from synth_engine.values import is_public_list
from synthweb.datasets.draft import Column
from synthweb.datasets.list_fields import split

_INPUTS = {"categorical": "values", "weak": "set_values"}
"""The input of each kind that lists values."""


def values_read(column: Column, suggested: Column | None) -> list[str]:
    """The values that a column lists, if all of them stand in what was read from its table; none if somebody
    wrote down others as well, or if the list is public whatever the table holds."""
    if suggested is None:
        return []
    values = _listed(column)
    hint = suggested.get("hint") or {}
    readings = [suggested, *hint.get("choices", ())]
    if "first" in hint:
        readings.append(hint["first"])
    known = {value for reading in readings for value in _listed(reading)}
    return values if values and known.issuperset(values) and not is_public_list(values) else []


def _listed(column: Column) -> list[str]:
    key = _INPUTS.get(str(column.get("kind")), "")
    return split(str((column.get("fields") or {}).get(key) or "")) if key else []


def needs_statement(column: Column, suggested: Column | None) -> bool:
    """Whether a column is confirmed with a list that was read, and nobody said of this column alone where it
    is written."""
    return bool(
        column.get("confirmed") and not column.get("vouched") and values_read(column, suggested)
    )
