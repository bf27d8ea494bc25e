"""k-marginal scores of `auto` on national2019 beside those published, made the way SDNist makes them.

    python bench/kmarginal.py [FOLDER] [--runs 3] [--method auto …] [--verify]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/nist_acs. A score is 1000 times 1 less the mean total
variation distance of tables: of all pairs of columns; where PUMA is among the columns, of PUMA with all pairs of others.
Ages, incomes, poverty ratios and weights go into twenty bins of about equal counts of the real table first, densities
into thirteen public ones. `since` is the version of SDNist that a figure was made with: before 2.4 the column INDP had no
part in scores, and bins went by mean ranks, later by percentiles. `--verify` scores subsamples of the real table, of
which the same files have what SDNist found.

The description of the table is public: the dictionary that comes with the excerpts, and codes of industries (Census).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import codec, dictionaries, pipeline
from synth_engine.domain import Domain, Integer, Number
from synth_engine.evaluation import distances
from synth_engine.spec import Spec

Codes = npt.NDArray[np.int64]
BINNED = ("AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP")
BINS = 20
PLACE, ABSENT = "PUMA", "N"
TOP_OF_POVERTY = 501
DENSEST = 52864.7
DENSITIES = (0.0, 150.0, *np.logspace(1, np.log10(DENSEST + 500), 21)[8:])
"""Upper ends of the bins of densities, but the first: public, of the report's own making."""
INDUSTRIES = (
    "170 370 570 770 1070 4070 4670 6070 6470 6870 7270 7860 7970 8370 8560 8770 9370 9670 9920"
)
"""The first code of every group of industries (ACS 2019, PUMS data dictionary)."""


@dataclass(frozen=True)
class Published:
    """A row of the files beside the data."""

    system: str
    columns: tuple[str, ...]
    which: str
    epsilon: str
    delta: str
    since: str
    score: int
    subsamples: dict[int, int]


def published(folder: Path) -> list[Published]:
    """Those on national2019 with a promise and a delta that is known: the default of the library where not stated."""
    sets = json.loads((folder / "feature_sets.json").read_text())
    found = []
    for name, since in (
        ("crc_v1.1_kmarginal_scores.csv", "2.3"),
        ("sdnist_sample_reports_kmarginal.csv", "2.5"),
    ):
        with (folder / name).open(newline="") as file:
            for row in csv.DictReader(file):
                if row["target"] != "national2019" or not row["epsilon"]:
                    continue
                listed = row.get("features_list", "")
                columns = (
                    listed.replace(" ", "").split(",") if listed else sets[row["feature_set"]]
                )
                shares = {
                    int(key.split("%")[0].rsplit("_", 1)[-1].removeprefix("sub")): value
                    for key, value in row.items()
                    if "%" in key
                }
                found.append(
                    Published(
                        system=f"{row['algorithm']}, {row['library']}",
                        columns=tuple(columns),
                        which=row["feature_set"],
                        epsilon=row["epsilon"],
                        delta="1e-5" if row["delta"] == "1e-5" else "1e-9",
                        since=since,
                        score=int(row["k_marginal"]),
                        subsamples={
                            share: int(value)
                            for share, value in shares.items()
                            if value.isdigit()
                        },
                    )
                )
    return found


class Scorer:
    """Scores tables against a real one, in the columns of the real one."""

    def __init__(self, real: pd.DataFrame, *, since: str) -> None:
        self.since = since
        self.real = real
        grouped = PLACE in real.columns
        left_out = {PLACE, "INDP"} if since < "2.4" else ({PLACE} if grouped else set())
        pairs = list(itertools.combinations(sorted(set(real.columns) - left_out), 2))
        self.cliques = [(PLACE, *pair) for pair in pairs] if grouped else pairs

    def __call__(self, table: pd.DataFrame) -> float:
        both = {name: self._codes(name, table[name]) for name in self.real.columns}
        return distances.k_marginal_score(
            self._distance([both[name] for name in clique]) for clique in self.cliques
        )

    def _codes(self, name: str, column: pd.Series) -> tuple[Codes, Codes, int]:
        """Codes of the real column and of the other one, and how many there are."""
        real, other = self.real[name], column
        if name in BINNED:
            ends = self._ends(name)
            halves = [_placed(one, ends) for one in (real, other)]
        elif name == "DENSITY":
            halves = [
                np.searchsorted(DENSITIES[1:-1], one.astype(float)) for one in (real, other)
            ]
        else:
            codes = pd.factorize(pd.concat([real, other]).astype(str))[0]
            halves = [codes[: len(real)], codes[len(real) :]]
        return halves[0], halves[1], 1 + int(max(half.max() for half in halves))

    def _ends(self, name: str) -> npt.NDArray[np.float64]:
        """The largest real value of each bin."""
        values = pd.to_numeric(self.real[name][self.real[name] != ABSENT]).astype(float)
        if self.since < "2.4":
            below = values[values != TOP_OF_POVERTY] if name == "POVPIP" else values
            bins = np.minimum((BINS * below.rank(pct=True)).astype(int), BINS - 1)
            ends = below.groupby(bins).max().to_list()
            return np.array([*ends, TOP_OF_POVERTY] if len(below) < len(values) else ends)
        parts = BINS - int((self.real[name] == ABSENT).any())
        cuts = np.percentile(
            values, [100 * part / parts for part in range(1, parts)], method="higher"
        )
        return np.unique([*cuts, values.max()])

    @staticmethod
    def _distance(columns: list[tuple[Codes, Codes, int]]) -> float:
        cells: list[Any] = [0, 0]
        size = 1
        for *halves, values in columns:
            cells = [so_far * values + half for so_far, half in zip(cells, halves, strict=True)]
            size *= values
        shares = [np.bincount(one, minlength=size) / len(one) for one in cells]
        return distances.total_variation(shares[0], shares[1])


def _placed(column: pd.Series, ends: npt.NDArray[np.float64]) -> Codes:
    """The first bin whose end is not below the value; beyond all, the last one; what is absent has one of its own."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    found = np.minimum(np.searchsorted(ends, values), len(ends) - 1)
    return np.where(np.isnan(values), len(ends), found).astype(np.int64)


def described(folder: Path, columns: tuple[str, ...]) -> Domain:
    """From the published dictionary. Densities go into the bins that reports use, and industries into their groups."""
    document = json.loads((folder / "data_dictionary.json").read_text())
    read = {a.name: a for a in dictionaries.nist.read(document).attributes}
    groups = tuple(map(int, INDUSTRIES.split()))
    read["INDP"] = Integer(
        name="INDP",
        low=groups[0],
        high=9999,
        edges=(*groups, 9999),
        missing=(ABSENT,),
        ordered=False,
    )
    read["DENSITY"] = Number(name="DENSITY", low=0.0, high=DENSITIES[-1], edges=DENSITIES)
    return Domain(attributes=tuple(read[name] for name in columns))


def synthetic(
    real: pd.DataFrame, scratch: Path, *, domain: Domain, method: str, epsilon: str, delta: str
) -> tuple[pd.DataFrame, float]:
    """One table, as a file would hold it, and seconds of processor time for fit and rows."""
    path = scratch / "table.csv"
    real.to_csv(path, index=False)
    spec = Spec(mechanism=method, epsilon=Fraction(epsilon), delta=Fraction(delta))
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    begun = time.process_time()
    model = release.plan.fit(release.answers)
    codes = model.sample(release.rows, seed=release.seed)
    seconds = time.process_time() - begun
    frame = codec.decode(model.domain, codes, np.random.default_rng(0))
    return codec.as_text(model.domain, frame), seconds


def verify(table: pd.DataFrame, rows: list[Published]) -> None:
    for columns, since in dict.fromkeys((row.columns, row.since) for row in rows):
        real = table[list(columns)]
        scorer = Scorer(real, since=since)
        same = [row for row in rows if (row.columns, row.since) == (columns, since)]
        print(
            f"{same[0].which}, {len(columns)} columns, SDNist {since}; the real table itself: {scorer(real):.0f}"
        )
        for share in sorted(same[0].subsamples):
            found = [
                scorer(real.sample(frac=share / 100, random_state=seed)) for seed in range(3)
            ]
            theirs = ", ".join(str(row.subsamples[share]) for row in same)
            print(f"  a subsample of {share:2} %: {fmean(found):.0f}; SDNist's: {theirs}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--method", nargs="+", default=["auto"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--columns", nargs="+", default=[])
    parser.add_argument("--verify", action="store_true")
    options = parser.parse_args()
    if not options.folder:
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    folder = Path(options.folder).resolve() / "data/nist_acs"
    table = pd.read_csv(folder / "national2019.csv.gz", dtype=str, keep_default_na=False)
    rows = published(folder)
    if options.columns:
        rows = [row for row in rows if row.which in options.columns]
    if options.verify:
        verify(table, rows)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        for row, method in itertools.product(rows, options.method):
            real, domain = table[list(row.columns)], described(folder, row.columns)
            scorer = Scorer(real, since=row.since)
            scores, seconds = [], []
            for _ in range(options.runs):
                made, took = synthetic(
                    real,
                    Path(scratch),
                    domain=domain,
                    method=method,
                    epsilon=row.epsilon,
                    delta=row.delta,
                )
                scores.append(scorer(made))
                seconds.append(took)
            print(
                f"{row.which:20} {len(row.columns):2} columns, epsilon {row.epsilon:>2}, delta {row.delta}: {method} "
                f"{fmean(scores):.0f} ({min(scores):.0f} to {max(scores):.0f}; {fmean(seconds):.1f} s); "
                f"{row.system} {row.score}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
