"""One table of all columns beside `auto`, `mst` and `independent`, on four groups of columns of the discretised Adult.

    python bench/contingency_table.py [FOLDER] [--runs 3]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and tools/score.py and the data they read. Every run
goes through the room, with its own noise; delta is 1e-9. Prints the mean total variation distances of columns, pairs and triples of
each group of columns, and what was expected of columns and pairs from public facts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean

import classic
import pandas as pd

GROUPS = (
    ("sex", "race", "marital-status", "income>50K"),
    ("sex", "race", "relationship", "marital-status", "income>50K"),
    ("workclass", "education-num", "marital-status", "sex", "income>50K"),
    ("workclass", "education-num", "marital-status", "occupation", "relationship"),
)
METHODS = ("contingency-table", "auto", "mst", "independent")
EPSILONS = ("0.1", "1")
FIGURES = ("tvd1", "tvd2", "tvd3", "expected_tvd1", "expected_tvd2")


def restrict(split: Path, columns: tuple[str, ...], folder: Path) -> int:
    """Writes the split of these columns alone, and returns the number of cells of their table."""
    sizes = json.loads((split / "domain.json").read_text())
    for name in ("train.csv", "test.csv"):
        pd.read_csv(split / name)[list(columns)].to_csv(folder / name, index=False)
    (folder / "domain.json").write_text(json.dumps({name: sizes[name] for name in columns}))
    return math.prod(sizes[name] for name in columns)


def main() -> int:
    parser = argparse.ArgumentParser(description="One table of all columns, on Adult.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    folder = Path(options.folder or "")
    if not options.folder or not (folder / "tools" / "split.py").is_file():
        print(
            "Skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
        )
        return 0
    score = classic.scorer(folder)
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, str(folder / "tools" / "split.py"), name], check=True)
        for number, columns in enumerate(GROUPS):
            part = Path(name) / str(number)
            part.mkdir()
            cells = restrict(Path(name), columns, part)
            print(f"{', '.join(columns)}: {cells:,} cells", flush=True)
            for epsilon in EPSILONS:
                for mechanism in METHODS:
                    runs = [
                        classic.run(
                            part, mechanism, epsilon, score=score, learn=False, seed=seed
                        )
                        for seed in range(options.runs)
                    ]
                    means = "  ".join(
                        f"{figure} {fmean(one[figure] for one in runs):.4f}"
                        for figure in FIGURES
                    )
                    print(f"{epsilon:>4}  {mechanism:<17}  {means}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
