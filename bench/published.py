"""Measures of the published benchmark of tabular synthesis, for `auto` and other methods, on the tables of it that are here.

    python bench/published.py [FOLDER] [--data adult bank] [--epsilon 0.2 1 5] [--method auto aim mst …] [--runs 3]
                              [--peer dpmm:aim …] [--environments FOLDER]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/adult and data/bank. The measures are those of Chen, Li, Gong,
McKenna, Wang, "Benchmarking Differentially Private Tabular Data Synthesis" (arXiv 2504.14061), delta = 1e-5:

- TVD: the mean over all pairs of columns, with numbers rounded to 100 steps between the least and the largest value of
  both tables, against the records that were released;
- query: the mean error of 1,000 counts of records that agree in three columns, with a random interval of a number and
  a random value of every other column, as a share of the records;
- models: macro F1 and area under the curve for the column to predict of models that are trained on the release and
  tested on a fifth of the records, which no release used: gradient boosting and a random forest of scikit-learn, in
  place of CatBoost and XGBoost, with their usual parameters.

That work cuts numbers into bins and merges rare values for a tenth of the budget before any method is run. Here tables
are described by the suggestions of the product, and a run learns the resolution of numbers within its budget. Compare methods
within one table of this bench; figures of the paper stem from other splits and other models. Other tables of the
benchmark are not part of the folder.

`--peer` runs methods of other projects beside, in the environments of bench/peers.py. They take codes: those of the values of the
real table and of intervals between its quantiles, which they are given for nothing (bench/coded.py).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from bench import peers, values
from bench.coded import Coding
from synth_engine import pipeline, tables
from synth_engine.domain import Domain
from synth_engine.errors import SynthError
from synth_engine.privacy.conversion import rho_for
from synth_engine.spec import Spec

TARGETS = {"adult": "income", "bank": "y"}
METHODS = ("auto", "aim", "mst", "privsyn", "bayesian-network", "dpsyn", "independent")
DELTA = "1e-5"
STEPS, QUERIES, COLUMNS_OF_A_QUERY = 100, 1_000, 3
MODELS = (
    ("boosting", HistGradientBoostingClassifier),
    ("forest", RandomForestClassifier),
)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A table in two parts, its description, and how its columns are read."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    path: Path
    domain: Domain
    target: str
    numeric: tuple[str, ...]


def read(folder: Path, name: str, work: Path) -> Task:
    table = values.load(folder, name)
    target = TARGETS[name]
    test = table.sample(frac=values.HELD_OUT, random_state=0)
    train = table.drop(test.index)
    path = work / f"{name}.csv"
    train.to_csv(path, index=False)
    numeric = tuple(column for column in table if values.is_numeric(table[column]))
    return Task(name, train, test, path, values.described(path), target, numeric)


def released(
    task: Task, work: Path, *, method: str, epsilon: str
) -> tuple[pd.DataFrame, float]:
    """The rows of one release, and the seconds of processor time that it took."""
    out = work / "synthetic.csv"
    spec = Spec(mechanism=method, epsilon=Fraction(epsilon), delta=Fraction(DELTA))
    started = time.process_time()
    release = pipeline.synthesize(task.path, domain=task.domain, spec=spec)
    tables.write(release.model, release.rows, seed=secrets.token_hex(32), path=out)
    seconds = time.process_time() - started
    return pd.read_csv(out, dtype=str, keep_default_na=False), seconds


def released_by(
    peer: str, task: Task, work: Path, *, epsilon: str, environments: peers.Environments
) -> tuple[pd.DataFrame, float]:
    """The rows of one release of another project, given as `environment:method`, and its seconds of processor time.

    Errors: SynthError with the last line of what it printed."""
    environment, method = peer.split(":")
    coding = Coding.of(task.train, numeric=task.numeric)
    codes, sizes, out = (work / name for name in ("codes.csv", "sizes.json", "drawn.csv"))
    coding.codes(task.train).to_csv(codes, index=False)
    sizes.write_text(json.dumps(coding.sizes))
    rho = f"{float(rho_for(Fraction(epsilon), Fraction(DELTA))):.9f}"
    given = [method, epsilon, DELTA, rho, str(secrets.randbits(31))]
    program = peers.PROGRAMS / f"with_{environment}.py"
    done = subprocess.run(
        [environments.python(environment), program, codes, sizes, *given, out],
        env=os.environ | peers.ONE_THREAD,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SynthError(done.stderr.strip().splitlines()[-1][:200])
    took = json.loads(done.stdout.splitlines()[-1])
    rows = coding.table(pd.read_csv(out), rng=np.random.default_rng())
    return rows, took["fit"] + took["rows"]


def number(column: pd.Series) -> Floats:
    """Cells that are no numbers count as one below all."""
    cells = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    return np.where(np.isnan(cells), np.nanmin(cells) - 1, cells)


def pair_error(task: Task, synthetic: pd.DataFrame) -> float:
    columns = [_codes(task, synthetic, name) for name in task.train]
    return fmean(
        0.5 * float(np.abs(_shares(first, second, 0) - _shares(first, second, 1)).sum())
        for first, second in itertools.combinations(columns, 2)
    )


def _codes(task: Task, synthetic: pd.DataFrame, name: str) -> tuple[npt.NDArray[np.int64], ...]:
    """The column of the real and of the synthetic table, in one set of codes from 0."""
    both = [task.train[name], synthetic[name]]
    if name in task.numeric:
        cells = np.concatenate([number(column) for column in both])
        span = max(float(np.ptp(cells)), 1e-9)
        labels = np.round((STEPS - 1) * (cells - cells.min()) / span).astype(np.int64)
    else:
        labels = np.concatenate([column.to_numpy(dtype=str) for column in both])
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes[: len(both[0])], codes[len(both[0]) :]


def _shares(
    first: tuple[npt.NDArray[np.int64], ...],
    second: tuple[npt.NDArray[np.int64], ...],
    place: int,
) -> Floats:
    sizes = [1 + max(int(one.max()) for one in column) for column in (first, second)]
    cells = first[place] * sizes[1] + second[place]
    return np.bincount(cells, minlength=sizes[0] * sizes[1]) / len(cells)


def query_error(task: Task, synthetic: pd.DataFrame) -> float:
    """Of the same queries for every release."""
    rng = np.random.default_rng(0)
    names = list(task.train)
    errors = []
    # Codes are compared much faster than texts.
    prepared = {
        name: tuple(number(table[name]) for table in (task.train, synthetic))
        if name in task.numeric
        else _codes(task, synthetic, name)
        for name in names
    }
    for _ in range(QUERIES):
        agree = [np.ones(len(table), dtype=np.bool_) for table in (task.train, synthetic)]
        for name in rng.choice(names, COLUMNS_OF_A_QUERY, replace=False):
            real = prepared[name][0]
            if name in task.numeric:
                low, high = np.sort(rng.uniform(real.min(), real.max(), 2))
                tests = [(one >= low) & (one <= high) for one in prepared[name]]
            else:
                # Each value is as likely, however many records have it.
                value = rng.choice(np.unique(real))
                tests = [one == value for one in prepared[name]]
            agree = [one & test for one, test in zip(agree, tests, strict=True)]
        errors.append(abs(float(agree[0].mean()) - float(agree[1].mean())))
    return fmean(errors)


def model_scores(task: Task, train: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Macro F1 and area under the curve of every model."""
    features = [name for name in task.test if name != task.target]
    words = [name for name in features if name not in task.numeric]

    def prepared(table: pd.DataFrame) -> pd.DataFrame:
        return table[features].assign(**{name: number(table[name]) for name in task.numeric})

    positive = sorted(task.test[task.target].unique())[-1]
    truth, labels = (table[task.target] == positive for table in (task.test, train))
    for name, make in MODELS:
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        encoder = make_column_transformer((codes, words), remainder="passthrough")
        model = make_pipeline(encoder, make(random_state=0))
        if labels.nunique() < 2:
            yield f"{name} F1", float(f1_score(truth, np.zeros(len(truth)), average="macro"))
            yield f"{name} AUC", 0.5
            continue
        model.fit(prepared(train), labels)
        chances = model.predict_proba(prepared(task.test))[:, 1]
        yield f"{name} F1", float(f1_score(truth, chances > 0.5, average="macro"))
        yield f"{name} AUC", float(roc_auc_score(truth, chances))


def scored(task: Task, synthetic: pd.DataFrame) -> dict[str, float]:
    distances = {
        "TVD": pair_error(task, synthetic),
        "query": query_error(task, synthetic),
    }
    return distances | dict(model_scores(task, synthetic))


def report(
    task: Task,
    methods: Sequence[str],
    *,
    epsilons: Sequence[str],
    runs: int,
    work: Path,
    environments: peers.Environments,
) -> None:
    """Print a line for each epsilon and method; methods of other projects have a colon."""
    real = dict(model_scores(task, task.train))
    shown = "  ".join(f"{key} {value:.3f}" for key, value in real.items())
    print(f"{task.name}: {len(task.train):,} records; trained on real records: {shown}")
    for epsilon, method in itertools.product(epsilons, methods):
        found: list[dict[str, float]] = []
        try:
            for _ in range(runs):
                if ":" in method:
                    synthetic, seconds = released_by(
                        method, task, work, epsilon=epsilon, environments=environments
                    )
                else:
                    synthetic, seconds = released(task, work, method=method, epsilon=epsilon)
                found.append(scored(task, synthetic) | {"CPU s": seconds})
        except SynthError as error:
            print(f"{task.name:6} epsilon {epsilon:>4} {method:17} did not run: {error}")
            continue
        means = "  ".join(f"{key} {fmean(each[key] for each in found):.4g}" for key in found[0])
        print(f"{task.name:6} epsilon {epsilon:>4} {method:17} {means}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--data", nargs="+", choices=sorted(TARGETS), default=sorted(TARGETS))
    parser.add_argument("--epsilon", nargs="+", default=["0.2", "1", "5"])
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", nargs="+", default=[], metavar="ENVIRONMENT:METHOD")
    parser.add_argument("--environments", type=Path, default=peers.default_environments())
    options = parser.parse_args()
    folder = Path(options.folder or "")
    if not (folder / "data").is_dir():
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    with tempfile.TemporaryDirectory() as work:
        for name in options.data:
            report(
                read(folder, name, Path(work)),
                [*options.method, *options.peer],
                epsilons=options.epsilon,
                runs=options.runs,
                work=Path(work),
                environments=peers.Environments(options.environments),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
