"""How well a synthetic database keeps the counts of a real one: of columns, of pairs within a table, and over
joins.

Every error is the total variation distance of two tables of counts, each divided by its sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synth_engine.domain.database import MARK, Database, own_attributes
from synth_engine.domain.views import DatabaseView, column_above, earlier
from synth_engine.strict_json import JsonObject

MAX_CELLS = 1_000_000
Kind = Literal["column", "pair", "children", "parent-child", "siblings"]
KINDS: dict[Kind, str] = {
    "column": "columns",
    "pair": "pairs of columns within a table",
    "children": "numbers of children",
    "parent-child": "column of a row above × column of a row",
    "siblings": "column of a row × column of the sibling before it",
}


@dataclass(frozen=True, kw_only=True)
class JoinClique:
    """Columns of a view whose counts are compared."""

    table: str
    kind: Kind
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class JoinError:
    """The distance of the synthetic counts of some columns from the real ones, from 0 to 1."""

    clique: JoinClique
    distance: float

    @classmethod
    def of(
        cls,
        clique: JoinClique,
        real: npt.NDArray[np.int64],
        synthetic: npt.NDArray[np.int64],
    ) -> JoinError:
        first = real / max(1, int(real.sum()))
        second = synthetic / max(1, int(synthetic.sum()))
        distance = float(np.abs(first - second).sum()) / 2
        return cls(clique=clique, distance=distance)


def cliques(database: Database, view: DatabaseView) -> Iterator[JoinClique]:
    """The columns of a view whose counts are compared: own columns, pairs of them, numbers of children, and
    joins."""
    table = database.table(view.table)
    sizes = view.domain.sizes
    own = [attribute.name for attribute in own_attributes(table)]
    named: list[tuple[Kind, tuple[str, ...]]] = []
    if view.kind == "pairs":
        named += [("siblings", (earlier(one), other)) for one in own for other in own]
    else:
        above = [
            column_above(ancestor, attribute.name)
            for ancestor in database.ancestors(table)
            for attribute in own_attributes(ancestor)
        ]
        named += [("column", (name,)) for name in own]
        named += [("pair", pair) for pair in combinations(own, 2)]
        named += [("children", (name,)) for name in view.own if name.startswith(MARK)]
        named += [("parent-child", (one, other)) for one in above for other in own]
    for kind, columns in named:
        if prod(sizes[name] for name in columns) <= MAX_CELLS:
            yield JoinClique(table=table.name, kind=kind, columns=columns)


def report(errors: Sequence[JoinError]) -> JsonObject:
    """Mean and largest errors by table and kind, and every single one. Not private."""
    groups: dict[tuple[str, Kind], list[JoinError]] = {}
    for error in errors:
        groups.setdefault((error.clique.table, error.clique.kind), []).append(error)
    summary: list[Any] = [
        {
            "table": table,
            "kind": kind,
            "counts": KINDS[kind],
            "tables": len(group),
            "mean_error": round(float(np.mean([one.distance for one in group])), 6),
            "largest_error": round(max(one.distance for one in group), 6),
        }
        for (table, kind), group in groups.items()
    ]
    return {
        "schema": "synth_engine/database-comparison/1",
        "private": False,
        "summary": summary,
        "errors": [
            {
                "table": error.clique.table,
                "kind": error.clique.kind,
                "columns": list(error.clique.columns),
                "error": round(error.distance, 6),
            }
            for error in errors
        ],
    }
