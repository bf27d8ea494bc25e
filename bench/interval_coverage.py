"""How often do the intervals of measured counts hold the counts of the real table, and how wide are they?

    python bench/interval_coverage.py [FOLDER] [--methods auto independent mst] [--runs 50] [--epsilon 1]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Adult is described by the suggestions of
the product, each accepted as it stands, and released with delta = 1e-9 and fresh noise. Of every release all
one-way and two-way cells are taken that answers count and that hold at least three standard deviations of the
noise of the narrowest answer about them in the real table. Printed for each method and number of columns: the
share of intervals that hold the real count, its lowest value of one release, and the mean and the largest
ratio of their width to the plain Gaussian interval of that answer.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.values import described, load
from synth_engine import codec, pipeline
from synth_engine.domain import Domain
from synth_engine.evaluation import marginals
from synth_engine.evaluation.marginals import MarginalQuery, PublishedCounts
from synth_engine.measurement.paid_counts import PaidCounts
from synth_engine.spec import Spec

DELTA = Fraction("1e-9")
GAUSSIAN = 1.959964
DEVIATIONS = 3.0

Codes = Mapping[str, np.ndarray[Any, np.dtype[np.int64]]]


def real_codes(table: pd.DataFrame, domain: Domain) -> Codes:
    """The codes of the real cells of every column."""
    return {
        attribute.name: np.asarray(
            codec.encode_column(
                attribute, pa.array(table[attribute.name].tolist(), type=pa.string())
            ),
            dtype=np.int64,
        )
        for attribute in domain.modelled
    }


def plain_deviation(
    tables: Sequence[PaidCounts], clique: tuple[str, ...], oneway: Mapping[str, float]
) -> float:
    """The standard deviation of one cell in the narrowest answer about it alone; of a contrast with those of
    its margins."""
    best = math.inf
    for table in tables:
        if not set(clique) <= set(table.clique):
            continue
        sizes = dict(zip(table.clique, table.values.shape, strict=True))
        if table.interaction:
            if set(table.clique) != set(clique):
                continue
            cells = math.prod(sizes.values())
            # A cell weighs 1 - 1/n along each axis in its contrast; its margins are the columns' own answers.
            variance = table.variance * math.prod(1 - 1 / n for n in sizes.values()) / cells**2
            variance += sum(oneway[name] ** 2 * (sizes[name] / cells) ** 2 for name in clique)
        else:
            others = math.prod(size for name, size in sizes.items() if name not in clique)
            variance = table.variance * others
        best = min(best, math.sqrt(variance))
    return best


@dataclass
class Found:
    """Cells of one number of columns over all releases."""

    held: int = 0
    cells: int = 0
    ratios: list[float] = field(default_factory=list)
    largest: float = 0.0
    lowest: float = 1.0


def add(
    found: Found, published: PublishedCounts, real: Codes, cliques: Sequence[tuple[str, ...]]
) -> None:
    held = cells = 0
    oneway = {
        name: plain_deviation(published.tables, (name,), {}) for name in published.domain.sizes
    }
    for clique in cliques:
        deviation = plain_deviation(published.tables, clique, oneway)
        if not math.isfinite(deviation):
            continue
        asked = marginals.asked_of(published.domain, MarginalQuery(columns=clique))
        estimated = marginals.table_of(published, asked)
        sizes = [published.domain.sizes[name] for name in clique]
        exact = np.bincount(
            np.ravel_multi_index([real[name] for name in clique], sizes),
            minlength=math.prod(sizes),
        ).reshape(sizes)
        chosen = estimated.measured & (exact >= DEVIATIONS * deviation)
        if not chosen.any():
            continue
        inside = (estimated.lower <= exact) & (exact <= estimated.upper)
        widths = (estimated.upper - estimated.lower)[chosen]
        held, cells = held + int(inside[chosen].sum()), cells + int(chosen.sum())
        ratios = widths / (2 * GAUSSIAN * deviation)
        found.ratios.append(float(ratios.sum()))
        found.largest = max(found.largest, float(ratios.max()))
    found.held, found.cells = found.held + held, found.cells + cells
    if cells:
        found.lowest = min(found.lowest, held / cells)


def report(folder: Path, method: str, *, runs: int, epsilon: str, work: Path) -> bool:
    """Print the figures of one method; whether they are as wanted."""
    table = load(folder, "adult")
    path = work / "adult.csv"
    table.to_csv(path, index=False)
    domain = described(path)
    ways = {1: Found(), 2: Found()}
    started = time.monotonic()
    for number in range(runs):
        spec = Spec(mechanism=method, epsilon=Fraction(epsilon), delta=DELTA, parameters={})
        release = pipeline.synthesize(path, domain=domain, spec=spec)
        published = marginals.publish(release.model, release.plan, release.answers)
        real = real_codes(table, published.domain)
        for way, found in ways.items():
            add(
                found,
                published,
                real,
                list(itertools.combinations(published.domain.names, way)),
            )
        print(
            f"{method}, release {number + 1}: "
            + ", ".join(f"{way}-way {f.held} of {f.cells}" for way, f in ways.items())
            + f"; {time.monotonic() - started:.0f} s",
            flush=True,
        )
    good = True
    for way, found in ways.items():
        if not found.cells:
            print(f"{method}, {way}-way: no measured cells")
            continue
        share, ratio = found.held / found.cells, sum(found.ratios) / found.cells
        good &= share >= 0.93 and ratio <= 1.5
        print(
            f"{method}, {way}-way: {share:.4f} of {found.cells:,} intervals hold the real count (lowest "
            f"release {found.lowest:.3f}); width {ratio:.3f} of the plain interval on average, "
            f"{found.largest:.3f} at most"
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--methods", nargs="+", default=["auto", "independent", "mst"])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    if not given.folder:
        parser.error("name the folder that holds data/")
    with tempfile.TemporaryDirectory() as work:
        good = [
            report(
                Path(given.folder),
                method,
                runs=given.runs,
                epsilon=given.epsilon,
                work=Path(work),
            )
            for method in given.methods
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
