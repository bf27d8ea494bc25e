"""The finish: how near rows come to their targets, and in how many seconds of processor time.

    python bench/finish.py [FOLDER] [--only adult|fire|large]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and the data. Rows start from the tree of
the strongest pairs. Targets are the true pairs ("exact"), or these with Gaussian noise as for epsilon = 1, pulled to
independence by as much as is lost in it ("noisy"). Printed: the mean total variation distance of the rows' pairs from the targets,
before and after, and from the true pairs; then the same mean from the data of `TRIPLES` random groups of three columns, after
the first phase and after the second, and the seconds of both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.inference import cost_tables, tables
from synth_engine.inference.cost_tables import AttributeFacts
from synth_engine.inference.record_refinement import refine
from synth_engine.models import conditional

Codes = npt.NDArray[np.uint16]
Targets = list[tuple[tuple[int, ...], npt.NDArray[np.float64]]]
RHO = 0.0166  # of epsilon 1, delta 1e-9
LARGE = 1_000_000
MOST_CODES = 100
TRIPLES = 100
NAMES = 50  # columns of more values are taken to be in order


def adult(folder: Path) -> tuple[Codes, list[int]]:
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, str(folder / "tools" / "split.py"), name], check=True)
        sizes = json.loads((Path(name) / "domain.json").read_text())
        table = pd.read_csv(Path(name) / "train.csv")[list(sizes)]
    return table.to_numpy().T.astype(np.uint16), list(sizes.values())


def fire(folder: Path) -> tuple[Codes, list[int]]:
    sizes = json.loads((folder / "data" / "fire" / "fire-domain.json").read_text())
    table = pd.read_csv(folder / "data" / "fire" / "fire.zip")[list(sizes)]
    return table.to_numpy().T.astype(np.uint16), list(sizes.values())


def national(folder: Path) -> tuple[Codes, list[int]]:
    """Columns as they are; those of many values in bins of equal mass."""
    table = pd.read_csv(folder / "data" / "nist_acs" / "national2019.csv.gz", dtype=str).fillna(
        "N"
    )
    columns = []
    for name in table.columns:
        codes, values = pd.factorize(table[name], sort=True)
        if len(values) > MOST_CODES:
            numbers = (
                pd.to_numeric(table[name], errors="coerce").fillna(-1e9).rank(method="first")
            )
            codes = pd.qcut(numbers, 50, labels=False).to_numpy()
        columns.append(codes.astype(np.uint16))
    return np.array(columns), [int(column.max()) + 1 for column in columns]


def large(folder: Path) -> tuple[Codes, list[int]]:
    rng = np.random.default_rng(0)
    (first, sizes), (second, more) = adult(folder), national(folder)
    parts = [one[:, rng.integers(0, one.shape[1], LARGE)] for one in (first, second[:16])]
    return np.concatenate(parts), sizes + more[:16]


def counts(codes: Codes, sizes: list[int], axes: tuple[int, ...]) -> npt.NDArray[np.float64]:
    shape = tuple(sizes[axis] for axis in axes)
    flat = np.ravel_multi_index([codes[axis] for axis in axes], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def noisy(exact: Targets, rows: int) -> Targets:
    rng, sigma = np.random.default_rng(0), (len(exact) / (2 * RHO)) ** 0.5
    found: Targets = []
    for axes, table in exact:
        sums = table.sum(axis=1), table.sum(axis=0)
        values = table + rng.normal(size=table.shape) * sigma
        shrunk = tables.shrink_towards(values, np.outer(*sums) / rows, sigma=sigma)
        found.append((axes, tables.fit_margins(shrunk, [((0,), sums[0]), ((1,), sums[1])])))
    return found


def from_tree(targets: Targets, attributes: int, rows: int) -> Codes:
    """Rows of the tree of the strongest pairs."""
    rng, tied, known = (
        np.random.default_rng(3),
        cost_tables.dependence_strengths(targets),
        dict(targets),
    )
    codes: dict[int, Codes] = {}
    first = max(tied, key=lambda pair: tied[pair])[0]
    weights = next(
        table.sum(axis=1 - axes.index(first)) for axes, table in targets if first in axes
    )
    codes[first] = conditional.draw(
        np.floor(weights * 1_000).astype(np.int64), [], rows=rows, rng=rng
    )
    while len(codes) < attributes:
        a, b = max(
            (pair for pair in tied if (pair[0] in codes) != (pair[1] in codes)),
            key=lambda pair: tied[pair],
        )
        table = known[a, b] if a in codes else known[a, b].T
        whole = np.floor(table * 1_000).astype(np.int64)
        old, new = (a, b) if a in codes else (b, a)
        codes[new] = conditional.draw(whole, [codes[old]], rows=rows, rng=rng)
    return np.array([codes[place] for place in range(attributes)])


def distance(codes: Codes, sizes: list[int], targets: Targets) -> float:
    rows = codes.shape[1]
    parts = [
        np.abs(counts(codes, sizes, axes) / rows - table / table.sum()).sum() / 2
        for axes, table in targets
    ]
    return float(np.mean(parts))


def triples(codes: Codes, sizes: list[int]) -> Targets:
    every = list(itertools.combinations(range(len(sizes)), 3))
    chosen = np.random.default_rng(0).choice(
        len(every), min(TRIPLES, len(every)), replace=False
    )
    return [(every[one], counts(codes, sizes, every[one])) for one in sorted(chosen)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="How near the finish brings rows to their targets, and its time."
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--only", choices=["adult", "fire", "large"])
    options = parser.parse_args()
    folder = Path(options.folder or "")
    if not options.folder or not (folder / "data").is_dir():
        print(
            "Skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
        )
        return 0
    for name, read in (("adult", adult), ("fire", fire), ("large", large)):
        if options.only not in (None, name):
            continue
        codes, sizes = read(folder)
        rows = codes.shape[1]
        exact: Targets = [
            (axes, counts(codes, sizes, axes))
            for axes in itertools.combinations(range(len(codes)), 2)
        ]
        for kind, targets in (("exact", exact), ("noisy", noisy(exact, rows))):
            start = from_tree(targets, len(codes), rows)
            refine(start[:, :20], targets=targets, rng=np.random.default_rng(0), proposals=100,
                   facts=AttributeFacts(ordered=[False] * len(sizes)))  # compiles  # fmt: skip
            began = time.process_time()
            found = refine(start, targets=targets, rng=np.random.default_rng(0))
            seconds = time.process_time() - began
            before, after = (distance(one, sizes, targets) for one in (start, found))
            true = [distance(one, sizes, exact) for one in (start, found)]
            began = time.process_time()
            threes = refine(
                start,
                targets=targets,
                rng=np.random.default_rng(0),
                facts=AttributeFacts(ordered=[s > NAMES for s in sizes]),
            )
            both = time.process_time() - began
            of_three = [distance(one, sizes, triples(codes, sizes)) for one in (found, threes)]
            print(f"{name} {rows:,} x {len(codes)}, {kind}: {before:.4f} -> {after:.4f} from the targets, "
                  f"{true[0]:.4f} -> {true[1]:.4f} from the data, {seconds:.1f} s; threes {of_three[0]:.4f} -> "
                  f"{of_three[1]:.4f}, pairs then {distance(threes, sizes, targets):.4f} and "
                  f"{distance(threes, sizes, exact):.4f}, {both:.1f} s", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
