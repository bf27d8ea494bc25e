"""Commutes in a report: numbers to read, and both tallies packed, so that a page can show any place and distance of them.

Like the rest of a report on real data it is not private; the tally of the real table is as fine as the public points.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from synth_engine.codec.commutes import Commute, commutes
from synth_engine.domain import Domain
from synth_engine.evaluation.commutes import SHORT_KM, Entry, Flows, compared, error_rows
from synth_engine.evaluation.tallies import Table, Tallies

MOST_CELLS = (
    2_000_000  # different pairs of points of a table: with more, a report has the numbers alone
)


def entries(real: Tallies, synthetic: Tallies, domain: Domain) -> list[Entry]:
    """One for every two ends that both sides have counted."""
    known = [
        each
        for each in commutes(domain)
        if each.pair in real.commutes and each.pair in synthetic.commutes
    ]
    return [
        _entry(
            each, {"real": real.commutes[each.pair], "synthetic": synthetic.commutes[each.pair]}
        )
        for each in known
    ]


def curves(real: Tallies, synthetic: Tallies, domain: Domain) -> list[Entry]:
    """Distances between ends of which one at least is a column with points, in the form of those between two places."""
    found = []
    for each in commutes(domain):
        if (
            not each.by_places
            and each.pair in real.commutes
            and each.pair in synthetic.commutes
        ):
            tables = {
                "real": real.commutes[each.pair],
                "synthetic": synthetic.commutes[each.pair],
            }
            found.append(
                compared({side: Flows.of(each, table) for side, table in tables.items()})
            )
    return found


def tables(entry: Mapping[str, Any], commute: Commute) -> dict[str, Table] | None:
    """The tallies of an entry, by side; None where there were too many cells."""
    if not entry["cells"]:
        return None
    return {side: _unpacked(packed, commute) for side, packed in entry["cells"].items()}


def _entry(commute: Commute, found: dict[str, Table]) -> Entry:
    sides = {side: Flows.of(commute, table) for side, table in found.items()}
    few = all(table.cells.size <= MOST_CELLS for table in found.values())
    return {
        "ends": list(commute.pair),
        "records": {side: flows.total for side, flows in sides.items()},
        "lacking": {side: flows.lacking for side, flows in sides.items()},
        "mean_km": {side: flows.mean_km for side, flows in sides.items()},
        "short_km": SHORT_KM,
        "errors_km": error_rows(sides["real"], sides["synthetic"], short_km=SHORT_KM),
        "cells": {side: _packed(table) for side, table in found.items()} if few else {},
    }


def _packed(table: Table) -> dict[str, str]:
    """Steps between the cells, and their counts: 64-bit numbers, least byte first, zlib, base64."""
    steps = np.diff(table.cells, prepend=0)
    return {
        name: _text(values) for name, values in (("steps", steps), ("counts", table.counts))
    }


def _text(values: Any) -> str:
    return b64encode(zlib.compress(values.astype("<i8").tobytes(), 6)).decode()


def _unpacked(packed: Mapping[str, str], commute: Commute) -> Table:
    steps, counts = (
        np.frombuffer(zlib.decompress(b64decode(packed[name])), dtype="<i8")
        for name in ("steps", "counts")
    )
    return Table(commute.shape, np.cumsum(steps).astype(np.int64), counts.astype(np.int64))
