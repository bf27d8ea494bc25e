"""What a run needs, as it is said beforehand and as it is measured: from a file to a table in memory.

    python bench/needs.py [MECHANISM …] [--shape adult 20000x40x10 …]

For each mechanism and shape of a table: seconds of processor time and megabytes beyond those of the process,
said and measured, and their ratio. Each run is a process of its own. Trees are for the shapes "points", homes
and places of work in boxes of 256 x 256 bins, and "trades", a home in a box of 64 x 64, a trade in ten groups
of six, and an age.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain, mechanisms, pipeline
from synth_engine.spec import Spec

SHAPES = [(20_000, 10, 20), (200_000, 20, 50), (50_000, 40, 100), (20_000, 40, 10)]
LIKE_ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
"""Sizes of the columns of the discretised Adult: 39,000 records of them are one more shape, "adult"."""
MECHANISMS = (
    "random",
    "independent",
    "bayesian-network",
    "mst",
    "aim",
    "privsyn",
    "dpsyn",
    "auto",
)
TREES = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree", "direct-synthesis")
PLACED = {"points": (200_000, [256] * 4), "trades": (200_000, [64, 64, 60, 6])}
PARAMETERS = {"bayesian-network": {"degree": 2}}
MEGABYTE = 1_000_000


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def document(mechanism: str, sizes: list[int]) -> dict[str, object]:
    """Of trees with coordinates and, of a shape that has it, a column with a partition; else of columns by
    their sizes."""
    if mechanism not in TREES:
        return {f"c{n}": size for n, size in enumerate(sizes)}
    attributes: list[dict[str, object]] = []
    for number, size in enumerate(sizes):
        classes: dict[str, object] = {
            "kind": "categorical",
            "values": [str(n) for n in range(size)],
            "outside": "clamp",
        }
        attributes.append(
            {"name": f"c{number}"}
            | (classes if size < 64 else {"kind": "integer", "low": 0, "high": size - 1})
        )
    found: dict[str, object] = {"schema": "synth_engine/domain/1", "attributes": attributes}
    if 60 in sizes:
        column, groups = f"c{sizes.index(60)}", {str(n): f"g{n // 6}" for n in range(60)}
        found["partitions"] = [{"name": "group", "column": column, "of": groups}]
        found["places"] = [{"name": "home", "latitude": "c0", "longitude": "c1"}]
    return found


def one(mechanism: str, rows: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hidden = rng.random(rows)
        with (folder / "table.csv").open("w") as file:
            for start in range(0, rows, 10_000):
                part = hidden[start : start + 10_000]
                codes = {
                    f"c{n}": ((part + rng.random(part.size)) / 2 * size).astype(int)
                    for n, size in enumerate(sizes)
                }
                pd.DataFrame(codes).to_csv(file, index=False, header=start == 0)
        (folder / "domain.json").write_text(json.dumps(document(mechanism, sizes)))
        described = domain.read(folder / "domain.json")
        spec = Spec(
            mechanism=mechanism,
            epsilon=Fraction(1),
            delta=Fraction(1, 10**9),
            parameters=PARAMETERS.get(mechanism, {}),
        )
        needs = mechanisms.plan(described, spec).needs(rows)
        before, began = peak(), time.process_time()
        release = pipeline.synthesize(folder / "table.csv", domain=described, spec=spec)
        read = time.process_time() - began
        for _ in release.model.sample_blocks(release.rows, seed=release.seed):
            pass
        seconds, memory = time.process_time() - began, peak() - before
        said = needs.memory_bytes / MEGABYTE
        print(f"{mechanism:>17} {rows:>8,} x {len(sizes)} of up to {max(sizes)}: {needs.seconds:6.1f} s "
        f"said, {seconds:6.1f} s measured (drawing {seconds - read:.1f}), {needs.seconds / seconds:4.2f}; "
        f"{said:6.0f} MB said, {memory:6.0f} MB measured, {said / memory:4.2f}", flush=True)  # fmt: skip


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), [int(size) for size in sys.argv[4:]])
        return 0
    parser = argparse.ArgumentParser(
        description="What runs need: said beforehand, and measured."
    )
    parser.add_argument("mechanisms", nargs="*", default=MECHANISMS)
    shapes = {
        f"{rows}x{columns}x{size}": (rows, [size] * columns) for rows, columns, size in SHAPES
    }
    shapes |= {"adult": (39_000, list(LIKE_ADULT))} | PLACED
    parser.add_argument("--shape", nargs="+", choices=list(shapes), default=list(shapes))
    options = parser.parse_args()
    for mechanism, shape in product(options.mechanisms, options.shape):
        rows, sizes = shapes[shape]
        subprocess.run(
            [sys.executable, __file__, "--one", mechanism, str(rows), *map(str, sizes)],
            check=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
