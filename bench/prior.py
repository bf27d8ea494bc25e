"""What a public prior changes of `auto`: one half of a survey, and the survey of another state, beside the other half.

    python bench/prior.py [FOLDER] [--epsilon 0.1 1 10] [--runs 3]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/nist_acs/. The protected table is one half of
national2019; its columns of very many numbers are cut into bins of about equal counts. Each run measures once; the same
answers are read without a prior, beside the other half, and beside ma2019, whose columns of places have other codes.
Prints for each epsilon the mean total variation distance of all pairs, and the ratio to that without a prior.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain as domains
from synth_engine import mechanisms, pipeline
from synth_engine.references import load_public_table
from synth_engine.spec import Spec

DELTA = Fraction("1e-9")
BINS = 100
PLACES = ("PUMA", "INDP")
"""Columns of codes that look like numbers."""
Matrix = npt.NDArray[np.int64]


def read(folder: Path) -> tuple[Matrix, Matrix, dict[str, int]]:
    """National and state records by the codes of the national ones, -1 for others, and the number of codes of each column."""
    frames = [
        pd.read_csv(folder / f"data/nist_acs/{name}.csv.gz", dtype=str, keep_default_na=False)
        for name in ("national2019", "ma2019")
    ]
    cut = len(frames[0])
    both = pd.concat(frames, ignore_index=True)
    codes, sizes = [], {}
    for column in both.columns:
        numbers = pd.to_numeric(both[column], errors="coerce")
        known = numbers[:cut].dropna()
        if column not in PLACES and both[column][:cut].nunique() > BINS and len(known):
            edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS)))
            placed = 1 + np.searchsorted(edges, numbers.fillna(0), side="right")
            texts = np.where(numbers.isna(), 0, placed)
        else:
            texts = pd.factorize(both[column], sort=True)[0]
        values = np.unique(texts[:cut])
        at = np.searchsorted(values, texts).clip(max=len(values) - 1)
        codes.append(np.where(values[at] == texts, at, -1))
        sizes[str(column)] = len(values)
    matrix = np.stack(codes, axis=1).astype(np.int64)
    return matrix[:cut], matrix[cut:], sizes


def distance(real: Matrix, made: Matrix, sizes: dict[str, int]) -> float:
    """The mean total variation distance over all pairs of columns."""
    widths = list(sizes.values())
    distances = []
    for a, b in itertools.combinations(range(len(widths)), 2):
        shares = [
            np.bincount(rows[:, a] * widths[b] + rows[:, b], minlength=widths[a] * widths[b])
            / len(rows)
            for rows in (real, made)
        ]
        distances.append(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
    return fmean(distances)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if not options.folder:
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    national, state, sizes = read(Path(options.folder).resolve())
    order = np.random.default_rng(5).permutation(len(national))
    half, other = np.array_split(national[order], 2)
    print(f"the two halves: tvd2 {distance(other, half, sizes):.4f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        files = {"table": other, "half": half, "ma2019": state}
        for file, rows in files.items():
            pd.DataFrame(rows, columns=list(sizes)).to_csv(scratch / f"{file}.csv", index=False)
        (scratch / "domain.json").write_text(json.dumps(sizes))
        domain = domains.read(scratch / "domain.json")
        priors = {
            file: load_public_table(scratch / f"{file}.csv", published="bench/prior.py")
            for file in ("half", "ma2019")
        }
        for epsilon in options.epsilon:
            distances: dict[str, list[float]] = {"none": [], **{file: [] for file in priors}}
            for _ in range(options.runs):
                spec = Spec(mechanism="auto", epsilon=Fraction(epsilon), delta=DELTA)
                plan = mechanisms.plan(domain, spec)
                answers = pipeline.measure(scratch / "table.csv", plan=plan)
                for file in distances:
                    reading = plan.with_prior(priors[file]) if file in priors else plan
                    model = reading.fit(answers)
                    codes = model.sample(model.rows, seed="bench")
                    made = np.stack([codes[column] for column in sizes], axis=1)
                    distances[file].append(distance(other, made.astype(np.int64), sizes))
            plain = fmean(distances["none"])
            shown = "  ".join(
                f"{file} {fmean(found):.4f} ({fmean(found) / plain:.3f})"
                for file, found in distances.items()
            )
            print(f"epsilon {epsilon:>4}: tvd2 (ratio)  {shown}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
