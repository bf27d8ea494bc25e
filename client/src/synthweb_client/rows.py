"""Which rows a sample has, for `Release.sample`."""

from __future__ import annotations

from collections.abc import Mapping


def where(
    column: str, *values: str | tuple[int | str, int | str] | None
) -> Mapping[str, object]:
    """A condition that every row keeps to: the column has one of these values. A pair is a range with both
    ends, None a missing value."""
    written = [
        {"from": value[0], "to": value[1]} if isinstance(value, tuple) else value
        for value in values
    ]
    return {"column": column, "values": written}


def quotas(column: str, rows: Mapping[str, int]) -> Mapping[str, object]:
    """So many rows of each value of one column."""
    return {"column": column, "rows": dict(rows)}
