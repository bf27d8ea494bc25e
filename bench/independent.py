"""Accuracy and time of `independent` on the discretised Adult, scored by the benchmark's own script.

    python bench/independent.py [FOLDER] [--runs 3]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and tools/score.py and the data they
read. Every run goes through the room, with the secure sampler: figures differ a little from time to time.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain, mechanisms, pipeline
from synth_engine.spec import Spec

LOSSES = [("1", "1e-9"), ("1", "0"), ("0.1", "1e-9"), ("0.1", "0"), ("10", "1e-9"), ("10", "0")]
FIGURES = ("tvd1", "tvd2", "tvd3", "mi_err")


def run(split: Path, *, epsilon: str, delta: str, score: Path) -> dict[str, float]:
    """One release and one table as large as the noisy number of records; its score and seconds."""
    spec = Spec(mechanism="independent", epsilon=Fraction(epsilon), delta=Fraction(delta))
    started = time.perf_counter()
    release = pipeline.synthesize(
        split / "train.csv", domain=domain.read(split / "domain.json"), spec=spec
    )
    table = mechanisms.draw_table(release.model, release.rows, release.seed)
    seconds = time.perf_counter() - started
    table.to_csv(split / "synthetic.csv", index=False)
    names = ["train.csv", "synthetic.csv", "test.csv", "domain.json"]
    command = [sys.executable, str(score), *(str(split / name) for name in names), "--no-ml"]
    found = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    expected = release.plan.expected_error(rows=release.rows).mean
    return {name: found[name] for name in FIGURES} | {
        "expected_tvd1": expected,
        "seconds": seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Accuracy of the independent mechanism on Adult."
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    tools = Path(options.folder or "") / "tools"
    if (
        not options.folder
        or not (tools / "split.py").is_file()
        or not (tools / "score.py").is_file()
    ):
        print(
            "Skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
        )
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        split = Path(scratch)
        subprocess.run([sys.executable, str(tools / "split.py"), scratch], check=True)
        print(
            "epsilon  delta  "
            + "  ".join(f"{name:>13}" for name in (*FIGURES, "expected_tvd1", "seconds"))
        )
        for epsilon, delta in LOSSES:
            score = tools / "score.py"
            runs = [
                run(split, epsilon=epsilon, delta=delta, score=score)
                for _ in range(options.runs)
            ]
            means = "  ".join(f"{fmean(one[name] for one in runs):>13.5f}" for name in runs[0])
            print(f"{epsilon:>7}  {delta:>5}  {means}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
