"""The three mechanisms of the literature on the discretised Adult: accuracy, and processor time without noise.

    python bench/classic.py [FOLDER] [--runs 3] [--learn]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py and tools/score.py and the data they read. Every run
goes through the room, with the secure sampler: figures differ a little from time to time. With --learn, models are
trained on synthetic and tested on real records, which needs scikit-learn.

Beside them stand figures of other systems on the same split and domain, at the same delta, measured in November 2026.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain as domains
from synth_engine import mechanisms
from synth_engine.confidential import rows as confidential_rows
from synth_engine.confidential.session import open_session
from synth_engine.spec import Spec

MECHANISMS = ("mst", "aim", "privsyn")
EPSILONS = ("0.1", "1", "10")
FIGURES = ("tvd1", "tvd2", "tvd3", "mi_err")
LEARNERS = ("lr_auc", "hgb_auc")
ELSEWHERE = {
    "0.1": {
        "MST, google/dpsynth": (0.1052, 0.2153, 0.3311),
        "Independent, google/dpsynth": (0.0446, 0.1294, 0.2326),
    },
    "1": {
        "MST, google/dpsynth": (0.0152, 0.0632, 0.1309),
        "AIM, dpmm": (0.0181, 0.0525, 0.1052),
        "PrivSyn, its first public version": (0.0369, 0.1009, 0.1976),
        "SWIFT, google/dpsynth": (0.0153, 0.0477, 0.1020),
    },
    "10": {
        "MST, dpmm": (0.0016, 0.0428, 0.1048),
        "MST, google/dpsynth": (0.0026, 0.0430, 0.1047),
    },
}


def scorer(folder: Path) -> ModuleType:
    """The benchmark's own script."""
    found = importlib.util.spec_from_file_location("score", folder / "tools" / "score.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def run(
    split: Path, mechanism: str, epsilon: str, *, score: ModuleType, learn: bool, seed: int
) -> dict[str, float]:
    """One release and one table as large as the noisy number of records: its score, and seconds of processor time of
    everything between file and table, of which noise is a part, and of the model and the rows."""
    described = domains.read(split / "domain.json")
    table = confidential_rows.open_table(split / "train.csv", described)
    started = time.process_time()
    plan = mechanisms.plan(
        described, Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=Fraction("1e-9"))
    )
    answers = plan.run(open_session(table, domain=described, cap=plan.loss))
    asked = time.process_time()
    model = plan.fit(answers)
    codes = model.sample(model.rows, seed=str(seed))
    ended = time.process_time()
    pd.DataFrame(codes).to_csv(split / "synthetic.csv", index=False)
    files = [
        str(split / name) for name in ("train.csv", "synthetic.csv", "test.csv", "domain.json")
    ]
    found = score.score(*files, do_ml=learn)
    expected = plan.expected_error(rows=model.rows)
    times = {
        "seconds asking": asked - started,
        "seconds after": ended - asked,
        "tables": len(answers.measurements),
    }
    return (
        {name: found[name] for name in (*FIGURES, *(LEARNERS if learn else ()))}
        | times
        | {
            "expected_tvd1": expected.mean,
            "expected_tvd2": expected.mean_pairs,
        }
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Accuracy and time of mst, aim and privsyn on Adult."
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    folder = Path(options.folder or "")
    if not options.folder or not (folder / "tools" / "split.py").is_file():
        print(
            "Skipped: give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it."
        )
        return 0
    score = scorer(folder)
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, str(folder / "tools" / "split.py"), name], check=True)
        run(
            Path(name), "aim", "1", score=score, learn=False, seed=0
        )  # compiles what is compiled once
        for epsilon in EPSILONS:
            for mechanism in MECHANISMS:
                runs = [
                    run(
                        Path(name),
                        mechanism,
                        epsilon,
                        score=score,
                        learn=options.learn,
                        seed=seed,
                    )
                    for seed in range(options.runs)
                ]
                means = "  ".join(
                    f"{head} {fmean(one[head] for one in runs):.4f}" for head in runs[0]
                )
                print(f"{epsilon:>4}  {mechanism:<8}  {means}", flush=True)
            for system, (one, two, three) in ELSEWHERE[epsilon].items():
                print(
                    f"{epsilon:>4}  {system}:  tvd1 {one:.4f}  tvd2 {two:.4f}  tvd3 {three:.4f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
