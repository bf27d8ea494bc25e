"""Places beside other columns: how far a release is from the real table, with and without cells that a run learns.

    python bench/places.py [--epsilon 1] [--rows 50000] [--seeds 3] [--methods auto adaptive]

The table is made here: points around twelve towns, twenty columns of three to six values that depend on the town, on the
distance to its centre, or on another column. "place" is the total variation distance of points on a public grid of 20 by 20,
"place × column" the mean one of the grid with each column, "columns" the mean one of all pairs of columns. The real table
is not private, so these figures are for those who build methods, not for those who hold data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.spec import Spec

TOWNS, COLUMNS, BINS, GRID = 12, 20, 256, 20
DELTA = Fraction(1, 10**9)


def table_of(rows: int, *, seed: int) -> pd.DataFrame:
    """Points in a square of one degree, and columns c0, c1, … of small numbers."""
    rng = np.random.default_rng(seed)
    centres = rng.random((TOWNS, 2)) * 0.8 + 0.1
    spread = rng.uniform(0.01, 0.05, TOWNS)
    town = rng.choice(TOWNS, rows, p=rng.dirichlet(np.full(TOWNS, 2.0)))
    offset = rng.normal(size=(rows, 2)) * spread[town, None]
    at = np.clip(centres[town] + offset, 0, 0.99999)
    ring = np.minimum((np.hypot(*offset.T) / spread[town] / 0.7).astype(int), 3)
    columns: dict[str, Any] = {"latitude": 41 + at[:, 0], "longitude": -71 + at[:, 1]}
    for number in range(COLUMNS):
        size = 3 + number % 4
        # Each column goes by the town, by town and ring, or by the column before it.
        by = (town, town * 4 + ring, None)[number % 3]
        if by is None:
            by = columns[f"c{number - 1}"]
        shares = rng.dirichlet(np.full(size, 0.7), int(by.max()) + 1)
        reached = np.cumsum(shares[by], axis=1)
        columns[f"c{number}"] = np.minimum(
            (rng.random(rows)[:, None] > reached).sum(axis=1), size - 1
        )
    return pd.DataFrame(columns)


def domain_of(*, learned: bool) -> Domain:
    degrees = [
        {
            "name": name,
            "kind": "number",
            "low": low,
            "high": low + 1,
            "edges": [round(low + edge / BINS, 8) for edge in range(BINS + 1)],
        }
        for name, low in (("latitude", 41), ("longitude", -71))
    ]
    place = {"name": "place", "latitude": "latitude", "longitude": "longitude"}
    return Domain.from_json(
        {
            "attributes": [
                *degrees,
                *(
                    {"name": f"c{n}", "kind": "integer", "low": 0, "high": 2 + n % 4}
                    for n in range(COLUMNS)
                ),
            ],
            "places": [place | ({"learned": True} if learned else {})],
        }
    )


def coded(table: pd.DataFrame) -> pd.DataFrame:
    """The columns, and the cell of the grid in which each point lies."""
    north, east = (
        np.clip(((table[name].astype(float) - low) * GRID).astype(int), 0, GRID - 1)
        for name, low in (("latitude", 41), ("longitude", -71))
    )
    codes = {f"c{n}": table[f"c{n}"].astype(int) for n in range(COLUMNS)}
    return pd.DataFrame({"place": north * GRID + east, **codes})


def distance(real: pd.DataFrame, synthetic: pd.DataFrame, names: list[str]) -> float:
    first, second = (each.groupby(names).size() / len(each) for each in (real, synthetic))
    return float(first.subtract(second, fill_value=0).abs().sum() / 2)


def figures(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float, float]:
    """The distances of places, of places with columns, and of pairs of columns."""
    names = [name for name in real if name != "place"]
    beside = [distance(real, synthetic, ["place", name]) for name in names]
    pairs = [distance(real, synthetic, list(pair)) for pair in combinations(names, 2)]
    place = distance(real, synthetic, ["place"])
    return place, float(np.mean(beside)), float(np.mean(pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--cells", nargs="+", choices=["none", "learned"], default=["none", "learned"]
    )
    parser.add_argument(
        "--methods", nargs="+", default=["auto", "adaptive", "mst", "independent"]
    )
    options = parser.parse_args()
    print(
        "| method | cells | place | place × column | columns | CPU s |\n|---|---|---|---|---|---|"
    )
    for method in options.methods:
        for cells in options.cells:
            learned = cells == "learned"
            if learned and not mechanisms.traits(method).has_columns:
                continue
            results = []
            for seed in range(options.seeds):
                table = table_of(options.rows, seed=seed)
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "table.csv"
                    table.to_csv(path, index=False)
                    spec = Spec(mechanism=method, epsilon=options.epsilon, delta=DELTA)
                    start = time.process_time()
                    release = pipeline.synthesize(
                        path, domain=domain_of(learned=learned), spec=spec
                    )
                    sample = mechanisms.draw_table(release.model, options.rows, f"{seed}")
                    seconds = time.process_time() - start
                results.append((*figures(coded(table), coded(sample)), seconds))
            means = np.mean(results, axis=0)
            print(
                f"| `{method}` | {cells} | "
                + " | ".join(f"{value:.3f}" for value in means[:3])
                + f" | {means[3]:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
