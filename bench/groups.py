"""How far groups of three and of four columns are from what smaller groups say of them, in real tables without any noise.

    python bench/groups.py [FOLDER] [--data adult bank …] [--groups 300]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/ and data/. Values of each column are merged into at most eight
bins of about equal counts. For a random choice of groups of k columns prints the total variation distance from the table of most
entropy that has the same tables of k - 1 columns, less that of as many records that are drawn from it: the mean and the largest. Around
zero there is nothing beyond chance, and a release cannot gain from groups of k columns what is not there.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import auto
from synth_engine.inference import bins as binning
from synth_engine.inference.tables import fit_margins

DATA = ("gate", "clusters", "adult", "bank", "national2019", "ma2019", "retail")
BINS, ROUNDS = 8, 60
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def merged(data: auto.Data) -> Codes:
    """Codes of bins, shape (columns, rows), of the columns with more than one value."""
    columns = []
    for axis, size in enumerate(data.sizes.values()):
        codes = data.codes[:, axis]
        histogram = np.bincount(codes, minlength=size).astype(np.float64)
        (bins,) = binning.nested_bins(histogram, ordered=False, levels=(BINS,))
        if bins.max() > 0:
            columns.append(bins[codes])
    return np.stack(columns)


def beyond_chance(codes: Codes, *, rng: np.random.Generator) -> float:
    """Of one group: the distance from what groups with one column less imply, less that by chance, as a share of the records."""
    shape = tuple(int(column.max()) + 1 for column in codes)
    cells = np.ravel_multi_index(tuple(codes), shape)
    table = np.bincount(cells, minlength=math.prod(shape)).astype(np.float64).reshape(shape)
    implied = implied_by_smaller(table)
    rows = codes.shape[1]
    drawn = rng.multinomial(rows, (implied / implied.sum()).ravel()).reshape(shape)
    by_chance = np.abs(drawn - implied_by_smaller(drawn.astype(np.float64))).sum()
    return float(np.abs(table - implied).sum() - by_chance) / 2 / rows


def implied_by_smaller(table: Floats) -> Floats:
    """The table of most entropy with the sums of this one over each of its axes."""
    smaller = [
        (
            tuple(axis for axis in range(table.ndim) if axis != left_out),
            table.sum(axis=left_out),
        )
        for left_out in range(table.ndim)
    ]
    return fit_margins(np.full(table.shape, table.mean()), smaller, rounds=ROUNDS)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--data", nargs="+", choices=auto.DATA, default=list(DATA))
    parser.add_argument("--groups", type=int, default=300)
    options = parser.parse_args()
    if not options.folder:
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    with tempfile.TemporaryDirectory() as scratch:
        for name, columns in itertools.product(options.data, (3, 4)):
            codes = merged(auto.read(Path(options.folder), name, Path(scratch)))
            groups = list(itertools.combinations(range(len(codes)), columns))
            rng = np.random.default_rng(0)
            some = rng.choice(len(groups), min(options.groups, len(groups)), replace=False)
            found = np.array([beyond_chance(codes[list(groups[at])], rng=rng) for at in some])
            print(
                f"{name:13} groups of {columns}: {len(found)} of {len(groups)}, beyond chance: mean {found.mean():7.4f}, "
                f"largest {found.max():7.4f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
