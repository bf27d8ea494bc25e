"""How many rows persons have: real beside synthetic, as one entry of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from synth_engine.evaluation import wording
from synth_engine.evaluation.distances import chance_distance, shares, total_variation
from synth_engine.evaluation.tallies import Tallies

DIGITS = 9
NAME = "rows of a person"


def entry(real: Tallies, synthetic: Tallies) -> dict[str, Any] | None:
    """In the form of an entry of an attribute, with persons counted instead of records; None where persons are not made
    anew. Real persons have no more rows than the privacy unit allows, as in everything that is compared."""
    if real.group_sizes is None or synthetic.group_sizes is None:
        return None
    sides = {"real": real.group_sizes, "synthetic": synthetic.group_sizes}
    last = max(
        2, *(int(np.flatnonzero(counts)[-1]) + 1 for counts in sides.values() if counts.any())
    )
    counts = {side: counted[:last] for side, counted in sides.items()}
    share = {side: np.round(shares(counted), DIGITS) for side, counted in counts.items()}
    value = total_variation(shares(counts["real"]), shares(counts["synthetic"]))
    chance = chance_distance(counts["real"], counts["synthetic"])
    gap = int(np.argmax(np.abs(share["real"] - share["synthetic"])))
    labels = [str(size) for size in range(1, last + 1)]
    return {
        "name": NAME,
        "kind": "integer",
        "ordered": True,
        "labels": labels,
        "cuts": list(range(1, last + 2)),
        "counts": {side: counted.tolist() for side, counted in counts.items()},
        "shares": {side: values.tolist() for side, values in share.items()},
        "persons": {side: int(counted.sum()) for side, counted in counts.items()},
        "cells": last,
        "tvd": value,
        "tvd_by_chance": chance,
        "verdict": wording.distance_verdict(value, chance=chance, of="persons"),
        "largest_gap": {
            "label": labels[gap],
            **{side: float(values[gap]) for side, values in share.items()},
        },
        "missing": None,
    }
