"""How many of the changes of a scenario a pipeline found, and how many of its findings are right."""

from __future__ import annotations

import pandas as pd

from synth_engine.errors import InputError
from synth_engine.strict_json import JsonObject


def score(changes: pd.DataFrame, findings: pd.DataFrame) -> JsonObject:
    """Recall of each step, and precision of all findings.

    changes: as `building.Built.changes`. findings: columns row and column; a finding without a column is
    about its whole row. A change is found by a finding about its cell or its row; one that is about a whole
    row, by any finding in the row. A finding is right if it finds a change. Errors: InputError where a column
    of the tables is absent, or a row is no number.
    """
    _require(changes, {"row", "column", "step", "kind"}, name="changes")
    _require(findings, {"row", "column"}, name="findings")
    flagged = pd.DataFrame(
        {"row": _rows(findings["row"]), "column": findings["column"].fillna("").astype(str)}
    ).drop_duplicates()
    made = pd.DataFrame(
        {
            "row": _rows(changes["row"]),
            "column": changes["column"].fillna("").astype(str),
            "step": changes["step"].astype(int),
            "kind": changes["kind"].astype(str),
        }
    )
    cells = set(zip(flagged["row"], flagged["column"], strict=True))
    any_of_row = set(flagged["row"])
    whole_rows = set(flagged.loc[flagged["column"] == "", "row"])
    is_found = [
        row in whole_rows or (row, column) in cells or (column == "" and row in any_of_row)
        for row, column in zip(made["row"], made["column"], strict=True)
    ]
    made_cells = set(zip(made["row"], made["column"], strict=True))
    made_rows = set(made["row"])
    made_whole = set(made.loc[made["column"] == "", "row"])
    right = sum(
        row in made_whole or (row, column) in made_cells or (column == "" and row in made_rows)
        for row, column in zip(flagged["row"], flagged["column"], strict=True)
    )
    steps = (
        made.assign(is_found=is_found)
        .groupby(["step", "kind"], sort=True)["is_found"]
        .agg(["size", "sum"])
        .reset_index()
    )
    return {
        "steps": [
            {
                "step": int(step),
                "kind": str(kind),
                "changes": int(size),
                "found": int(hits),
                "recall": round(int(hits) / int(size), 6),
            }
            for step, kind, size, hits in steps.itertuples(index=False)
        ],
        "findings": len(flagged),
        "right": int(right),
        "precision": round(int(right) / len(flagged), 6) if len(flagged) else None,
    }


def _require(table: pd.DataFrame, columns: set[str], *, name: str) -> None:
    absent = sorted(columns - set(map(str, table.columns)))
    if absent:
        raise InputError(
            f"the {name} lack a column", repair="add it to the header", column=absent[0]
        )


def _rows(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        raise InputError(
            "a row is no number", repair="count rows from 1, without the header", column="row"
        )
    return numbers.astype("int64")
