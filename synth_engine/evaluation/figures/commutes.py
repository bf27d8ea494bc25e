"""Commutes in a report: numbers to read, and both tallies packed, so that a page can show any place and
distance of them.

Like the rest of a report on real data it is not private; the tally of the real table is as fine as the public
points.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from synth_engine.evaluation.commutes import SHORT_KM, Flows, error_rows
from synth_engine.evaluation.figure import DISTANCES, ComparisonFigure, Sides
from synth_engine.evaluation.tallies import ContingencyTable, Pair, TallySource
from synth_engine.evaluation.wording import Json
from synth_engine.indexing.commutes import Commute, commutes

MAX_PACKED_CELLS = 2_000_000
"""Pairs of points of one table that a report stores; with more it has the numbers alone."""


class Commutes(ComparisonFigure):
    """Both tallies of every commute, packed, for the pages of maps; the comparison itself has no card of
    them."""

    field = "commutes"
    position = 60
    section = DISTANCES

    def tally(self, source: TallySource) -> dict[Pair, ContingencyTable]:
        return {
            commute.pair: ContingencyTable(commute.shape, *source.commutes(commute))
            for commute in commutes(source.domain)
        }

    def entry(self, sides: Sides) -> list[Json]:
        if (counted := sides.counted(self.field)) is None:
            return []
        return [
            _entry(commute, {side: tally[commute.pair] for side, tally in counted.items()})
            for commute in commutes(sides.domain)
        ]


def unpack_tables(
    entry: Mapping[str, Any], commute: Commute
) -> dict[str, ContingencyTable] | None:
    """The tallies of an entry, by side; None where there were too many cells."""
    if not entry["cells"]:
        return None
    return {side: _unpacked(packed, commute) for side, packed in entry["cells"].items()}


def _entry(commute: Commute, tables: dict[str, ContingencyTable]) -> Json:
    sides = {side: Flows.of(commute, table) for side, table in tables.items()}
    # Both sides or none: a page cannot compare one tally with nothing.
    few = all(table.cells.size <= MAX_PACKED_CELLS for table in tables.values())
    return {
        "ends": list(commute.pair),
        "records": {side: flows.total for side, flows in sides.items()},
        "lacking": {side: flows.missing for side, flows in sides.items()},
        "mean_km": {side: flows.mean_km for side, flows in sides.items()},
        "short_km": SHORT_KM,
        "errors_km": error_rows(sides["real"], sides["synthetic"], short_km=SHORT_KM),
        "cells": {side: _packed(table) for side, table in tables.items()} if few else {},
    }


def _packed(table: ContingencyTable) -> dict[str, str]:
    """Steps between the cells, and their counts: 64-bit numbers, least byte first, zlib, base64."""
    # Cells increase, and steps between them are small numbers that compress well.
    steps = np.diff(table.cells, prepend=0)
    return {
        name: _text(values) for name, values in (("steps", steps), ("counts", table.counts))
    }


def _text(values: Any) -> str:
    return b64encode(zlib.compress(values.astype("<i8").tobytes(), 6)).decode()


def _unpacked(packed: Mapping[str, str], commute: Commute) -> ContingencyTable:
    steps, counts = (
        np.frombuffer(zlib.decompress(b64decode(packed[name])), dtype="<i8")
        for name in ("steps", "counts")
    )
    return ContingencyTable(
        commute.shape, np.cumsum(steps).astype(np.int64), counts.astype(np.int64)
    )


FIGURE = Commutes()
