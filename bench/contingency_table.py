"""One table of all columns beside `auto`, `mst` and `independent`, on four groups of columns of the
discretised Adult.

    python bench/contingency_table.py [FOLDER] [--runs 3]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and tools/score.py and the data
they read. Mean total variation distances of single columns, pairs and triples (tvd1, tvd2, tvd3) of the
private part of the split, and what was expected of columns and pairs before the run.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import auto

GROUPS = (
    ("sex", "race", "marital-status", "income>50K"),
    ("sex", "race", "relationship", "marital-status", "income>50K"),
    ("workclass", "education-num", "marital-status", "sex", "income>50K"),
    ("workclass", "education-num", "marital-status", "occupation", "relationship"),
)
METHODS = ("contingency-table", "auto", "mst", "independent")
EPSILONS = ("0.1", "1")
FIGURES = ("tvd1", "tvd2", "tvd3", "expected columns", "expected")


def restricted(data: auto.Data, columns: tuple[str, ...]) -> auto.Data:
    """These columns alone."""
    places = [list(data.sizes).index(name) for name in columns]
    return auto.Data(
        data.name, data.codes[:, places], {name: data.sizes[name] for name in columns}
    )


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
    score = auto.script(folder, "score")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        adult = auto.read(folder, "adult", scratch)
        for columns in GROUPS:
            data = restricted(adult, columns)
            print(f"{', '.join(columns)}: {math.prod(data.sizes.values()):,} cells", flush=True)
            for epsilon in EPSILONS:
                for method in METHODS:
                    runs = []
                    for _ in range(options.runs):
                        one = auto.released(data, scratch, method=method, epsilon=epsilon)
                        codes = one.pop("codes")
                        runs.append(one | auto.scored(data, codes, score, learn=False))
                    means = "  ".join(
                        f"{figure} {fmean(one[figure] for one in runs):.4f}"
                        for figure in FIGURES
                    )
                    print(f"{epsilon:>4}  {method:<17}  {means}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
