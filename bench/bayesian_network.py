"""Accuracy and time of `bayesian-network`: the discretised Adult, scored by the benchmark's own script, and tables of
20 and 45 columns.

    python bench/bayesian_network.py [FOLDER] [--runs 3]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and tools/score.py and the data they
read. Every run goes through the room, with the secure sampler: figures differ a little from time to time.

The scoring script trains models and needs scikit-learn beside the test requirements (pip install scikit-learn).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain, mechanisms, pipeline
from synth_engine.spec import Spec

SETTINGS = [
    ("1", "1e-9", 0), ("1", "1e-9", 1), ("1", "0", 0), ("0.1", "1e-9", 0), ("0.1", "0", 0), ("10", "1e-9", 0),
]  # fmt: skip
LARGE = [(20, 100_000), (45, 20_000), (45, 100_000)]
FIGURES = ("tvd1", "tvd2", "tvd3", "mi_err")
LEARNERS = ("lr_auc", "hgb_auc")


def release_of(
    table: Path, sizes: Path, *, epsilon: str, delta: str, degree: int
) -> pipeline.Release:
    spec = Spec(
        mechanism="bayesian-network",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters={"degree": degree},
    )
    return pipeline.synthesize(table, domain=domain.read(sizes), spec=spec)


def run(split: Path, *, score: Path, learn: bool, **setting: Any) -> dict[str, float]:
    """One release and one table as large as the noisy number of records; its score and seconds."""
    started = time.perf_counter()
    release = release_of(split / "train.csv", split / "domain.json", **setting)
    table = mechanisms.draw_table(release.model, release.rows, release.seed)
    seconds = time.perf_counter() - started
    table.to_csv(split / "synthetic.csv", index=False)
    names = ["train.csv", "synthetic.csv", "test.csv", "domain.json"]
    command = [
        sys.executable,
        str(score),
        *(str(split / name) for name in names),
        *([] if learn else ["--no-ml"]),
    ]
    found = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    expected = release.plan.expected_error(rows=release.rows)
    forecast = {"expected_tvd1": expected.mean, "expected_tvd2": expected.mean_pairs}
    return (
        {name: found.get(name, float("nan")) for name in (*FIGURES, *LEARNERS)}
        | forecast
        | {"seconds": seconds}
    )


def large(scratch: Path, *, columns: int, records: int) -> tuple[float, float]:
    """Seconds for a table of that shape and two parents, from file to table: by the clock, and of processor time, which
    counts where the machine is shared."""
    rng = np.random.default_rng(1)
    sizes = {
        f"column_{number}": int(size)
        for number, size in enumerate(rng.integers(2, 60, size=columns))
    }
    hidden = rng.random(records)
    codes = {
        name: ((hidden + rng.random(records)) / 2 * size).astype(int)
        for name, size in sizes.items()
    }
    pd.DataFrame(codes).to_csv(scratch / "large.csv", index=False)
    (scratch / "large.json").write_text(json.dumps(sizes))
    started, worked = time.perf_counter(), time.process_time()
    release = release_of(
        scratch / "large.csv", scratch / "large.json", epsilon="1", delta="1e-9", degree=2
    )
    mechanisms.draw_table(release.model, release.rows, release.seed)
    return time.perf_counter() - started, time.process_time() - worked


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Accuracy of the Bayesian network on Adult, and its time."
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    tools = Path(options.folder or "") / "tools"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for columns, records in LARGE:
            clock, worked = large(scratch, columns=columns, records=records)
            shape = f"{columns} columns, {records:,} records, two parents"
            print(f"{shape}: {clock:.1f} s, {worked:.1f} s of processor time", flush=True)
        if (
            not options.folder
            or not (tools / "split.py").is_file()
            or not (tools / "score.py").is_file()
        ):
            print(
                "Adult skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
            )
            return 0
        subprocess.run([sys.executable, str(tools / "split.py"), name], check=True)
        heads = (*FIGURES, *LEARNERS, "expected_tvd1", "expected_tvd2", "seconds")
        print("epsilon  delta  degree  " + "  ".join(f"{head:>13}" for head in heads))
        for epsilon, delta, degree in SETTINGS:
            setting = {"epsilon": epsilon, "delta": delta, "degree": degree}
            learn = (epsilon, delta) == ("1", "1e-9")
            runs = [
                run(scratch, score=tools / "score.py", learn=learn, **setting)
                for _ in range(options.runs)
            ]
            means = "  ".join(f"{fmean(one[head] for one in runs):>13.5f}" for head in heads)
            print(f"{epsilon:>7}  {delta:>5}  {degree:>6}  {means}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
