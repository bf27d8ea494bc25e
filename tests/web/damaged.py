"""A made-up table of sales and a description that damages it in every way that the comparison names."""

from __future__ import annotations

from typing import Any

from synth_engine.formats import Dialect

ROWS = 1_200

REPAIRS = {
    "price": "write the cells without currency and units: that reads all of them",
    "sold": "declare the format %m/%d/%y: that reads all of them",
    "area": "widen the bounds by a public source or learn them privately",
    "tax": "give 0 a bin of its own",
    "zip": "describe the column as categories",
}
"""By column, the repair that the comparison has to propose."""
HONEST = "floors"
DOCUMENT: dict[str, Any] = {
    "attributes": [
        {"name": "price", "kind": "integer", "low": 0, "high": 2_000_000},
        {"name": "sold", "kind": "date", "low": "2020-01-01", "high": "2021-12-31"},
        {"name": "area", "kind": "integer", "low": 0, "high": 100},
        {
            "name": "tax",
            "kind": "integer",
            "low": 0,
            "high": 100_000,
            "edges": [0, 90_000, 100_000],
        },
        {"name": "zip", "kind": "integer", "low": 10_000, "high": 10_300},
        {"name": HONEST, "kind": "integer", "low": 1, "high": 6},
    ]
}
for _attribute in DOCUMENT["attributes"]:
    _attribute["provenance"] = "declared"


def _row(index: int) -> str:
    price = f"{1_000_000 + 731 * index} EUR"
    sold = f"{1 + index % 12}/{1 + index % 28}/21"
    area = 20 + index % 200
    tax = 0 if index % 5 else 100 + index
    return f"{price},{sold},{area},{tax},{10_001 + 7 * (index % 40)},{1 + index % 6}"


TABLE = "\n".join(
    [
        ",".join(attribute["name"] for attribute in DOCUMENT["attributes"]),
        *map(_row, range(ROWS)),
        "",
    ]
)


# More columns, damaged in ways that are seen in the released table alone, or by what its file is said to be.
MORE_REPAIRS = REPAIRS | {
    "sales": "declare a comma between thousands: that reads all of them",
    "balance": "describe the column in finer bins there, or declare none and let them be learned",
    "pdays": "give -1 a bin of its own",
}
DIALECT = Dialect(delimiter=",", quote='"', header=True, marks_confirmed=True)
"""The steward confirmed that no sign stands between thousands."""
MORE: list[dict[str, Any]] = [
    {"name": "sales", "kind": "integer", "low": 0, "high": 4_000_000},
    # Equal bins, between bounds far beyond the values.
    {"name": "balance", "kind": "integer", "low": -10_000, "high": 110_000, "width": 3_750},
    {"name": "pdays", "kind": "integer", "low": -1, "high": 871, "width": 28},
]
MORE_DOCUMENT: dict[str, Any] = {
    "attributes": [
        *DOCUMENT["attributes"],
        *(attribute | {"provenance": "declared"} for attribute in MORE),
    ]
}


def _more(index: int) -> str:
    sales = f"{1_000_000 + 1_931 * index:,}"
    balance = (index * index) % 997
    pdays = -1 if index % 5 else 28 + index % 800
    return f'"{sales}",{balance},{pdays}'


MORE_TABLE = "\n".join(
    [
        ",".join(attribute["name"] for attribute in MORE_DOCUMENT["attributes"]),
        *(f"{_row(index)},{_more(index)}" for index in range(ROWS)),
        "",
    ]
)
