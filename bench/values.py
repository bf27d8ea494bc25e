"""What a table's values are worth after a release: numbers as they were, not codes.

    python bench/values.py [FOLDER] [--tables bank adult national2019 fire] [--runs 3] [--epsilon 1] [--wide]
        [--small]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Each table is described by the
suggestions of the product, every one accepted as it stands, and released by `auto` with delta = 1e-9; of Bank
the target is named. A fifth of Bank is held out: a classifier is trained on synthetic and on real records and
tested on these. Figures are means over the runs, each with fresh noise. Two lines a column: Kolmogorov
distance, then real and synthetic median, mean, standard deviation after clipping at the real 99.5th
percentile, and 99th percentile.

With --small tables of 426 records and 31 columns of skewed numbers of very different sizes, all described
without bounds, are released by `independent`: how many columns hold a number at all, and how many releases
hold one that lies farther from the real range of its column than that range is wide, or that is more than
twice as far from 0 as any real one.

With --wide the same records are released as numbers among 10^3, 10^9 and 2^60 possible ones, each width in a
process of its own: distances, processor time and most memory, and their ratios to those of 10^3.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import pipeline, tables
from synth_engine.domain import Domain
from synth_engine.spec import Spec

DELTA = Fraction("1e-9")
HELD_OUT = 0.2
TARGETS = {"bank": "y"}
FIGURES = ("median", "mean", "sd clipped", "p99")


def load(folder: Path, name: str) -> pd.DataFrame:
    """The table as text, each cell as it is in the file."""
    data = folder / "data"
    if name == "bank":
        return pd.read_csv(
            data / "bank" / "bank-full.csv.gz", sep=";", dtype=str, keep_default_na=False
        )
    if name == "adult":
        return pd.read_csv(
            data / "adult" / "adult.csv.gz",
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
        )
    if name == "national2019":
        return pd.read_csv(
            data / "nist_acs" / "national2019.csv.gz", dtype=str, keep_default_na=False
        )
    with zipfile.ZipFile(data / "fire" / "fire.zip") as archive:
        (member,) = [each for each in archive.namelist() if each.endswith(".csv")]
        return pd.read_csv(io.BytesIO(archive.read(member)), dtype=str, keep_default_na=False)


def described(path: Path) -> Domain:
    """The description that follows from the suggestions, each accepted as it stands."""
    attributes = []
    for suggestion in pipeline.ingest(path)["suggestions"]:
        facts = {
            key: value
            for key, value in suggestion.items()
            if key
            not in ("why", "hint", "numbers", "odd", "provenance", "certainty", "alternatives")
        }
        attributes.append(facts)
    return Domain.from_json({"attributes": attributes})


def released(
    path: Path,
    domain: Domain,
    *,
    epsilon: str,
    target: str | None,
    out: Path,
    method: str = "auto",
) -> None:
    """Releases a table and draws one of as many rows into a file."""
    spec = Spec(
        mechanism=method,
        epsilon=Fraction(epsilon),
        delta=DELTA,
        parameters={"target": target} if target else {},
    )
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    tables.write(release.model, release.rows, seed=release.seed, path=out)


def texts_of(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@dataclass(frozen=True, kw_only=True)
class ColumnFigures:
    distance: float
    real: tuple[float, ...]
    synthetic: tuple[float, ...]


def numbers(column: pd.Series) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = pd.to_numeric(column, errors="coerce").dropna()
    return np.asarray(values, dtype=np.float64)


def is_numeric(column: pd.Series) -> bool:
    """Whether nearly all cells are numbers, and there are more than a few different ones."""
    values = pd.to_numeric(column, errors="coerce")
    return bool(values.notna().mean() > 0.5 and values.nunique() > 10)


def compared(real: pd.Series, synthetic: pd.Series) -> ColumnFigures:
    a, b = numbers(real), numbers(synthetic)
    at = np.union1d(a, b)
    below = [np.searchsorted(np.sort(x), at, side="right") / max(x.size, 1) for x in (a, b)]
    clip = float(np.percentile(a, 99.5))
    both = [
        (
            float(np.median(x)),
            float(x.mean()),
            float(np.minimum(x, clip).std()),
            float(np.percentile(x, 99)),
        )
        for x in (a, b)
    ]
    return ColumnFigures(
        distance=float(np.abs(below[0] - below[1]).max()), real=both[0], synthetic=both[1]
    )


def areas_under_curve(
    train: pd.DataFrame, test: pd.DataFrame, target: str
) -> tuple[float, float]:
    """Of gradient boosting on values as they are, and of a logistic regression on words and twentieths of
    numbers."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

    features = [str(name) for name in test if name != target]
    words = [name for name in features if not is_numeric(test[name])]
    numeric = [name for name in features if name not in words]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    boosting = make_pipeline(
        make_column_transformer((codes, words), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=0),
    )
    regression = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), words),
            (KBinsDiscretizer(20, quantile_method="averaged_inverted_cdf"), numeric),
        ),
        LogisticRegression(max_iter=500),
    )

    def prepared(table: pd.DataFrame) -> pd.DataFrame:
        known = {name: pd.to_numeric(table[name], errors="coerce") for name in numeric}
        return table[features].assign(**known)

    # Twentieths of a column with one very common value are fewer; that is no news.
    warnings.filterwarnings("ignore", message="Bins whose width")
    positive = sorted(test[target].unique())[-1]
    areas = []
    for model in (boosting, regression):
        model.fit(prepared(train), train[target] == positive)
        chances = model.predict_proba(prepared(test))[:, 1]
        areas.append(float(roc_auc_score(test[target] == positive, chances)))
    return areas[0], areas[1]


def report(folder: Path, name: str, *, runs: int, epsilon: str, work: Path) -> None:
    table = load(folder, name)
    target = TARGETS.get(name)
    test = table.sample(frac=HELD_OUT, random_state=0) if target else table.iloc[:0]
    train = table.drop(test.index)
    path, out = work / f"{name}.csv", work / "synthetic.csv"
    train.to_csv(path, index=False)
    domain = described(path)
    columns = [str(column) for column in train if is_numeric(train[column])]
    figures: dict[str, list[ColumnFigures]] = {column: [] for column in columns}
    areas: list[tuple[float, float]] = []
    seconds = time.process_time()
    for _ in range(runs):
        released(path, domain, epsilon=epsilon, target=target, out=out)
        synthetic = texts_of(out)
        for column in columns:
            if column in synthetic:
                figures[column].append(compared(train[column], synthetic[column]))
        if target:
            areas.append(areas_under_curve(synthetic, test, target))
    seconds = (time.process_time() - seconds) / runs
    print(
        f"{name}: {len(train):,} records, epsilon {epsilon}, {runs} runs, {seconds:.0f} s a run"
    )
    print(
        f"{'':14}KS     " + "".join(f"{figure + ' real, synthetic':>30}" for figure in FIGURES)
    )
    for column, each in figures.items():
        if not each:
            print(f"{column[:13]:13} left out")
            continue
        distance = float(np.mean([one.distance for one in each]))
        synthetic_means = np.mean([one.synthetic for one in each], axis=0)
        pairs = zip(each[0].real, synthetic_means, strict=True)
        cells = "".join(f"{real:15,.3f}{made:15,.3f}" for real, made in pairs)
        print(f"{column[:13]:13} {distance:.4f} {cells}")
    distances = [
        float(np.mean([one.distance for one in each])) for each in figures.values() if each
    ]
    within = sum(distance <= 0.03 for distance in distances)
    print(
        f"KS at most 0.03 in {within} of {len(distances)} columns, the largest {max(distances):.4f}"
    )
    if target:
        real = areas_under_curve(train, test, target)
        made = np.mean(areas, axis=0).tolist()
        for label, *area in zip(("boosting", "regression"), made, real, strict=True):
            print(
                f"AUC of {label}: trained on synthetic records {area[0]:.3f}, on real ones {area[1]:.3f}"
            )


WIDE = {"10^3": 10**3, "10^9": 10**9, "2^60": 2**60}


@dataclass(frozen=True, kw_only=True)
class Width:
    """What releases of one width cost. seconds: of processor time, of one run. memory: the most of the
    process, in MB."""

    distance: float
    seconds: float
    memory: float


def released_wide(label: str, runs: int, epsilon: str) -> Width:
    """Releases the same records as numbers among so many possible ones; in a process of its own, because the
    most memory that a process had does not fall again."""
    rng = np.random.default_rng(0)
    records, possible = 50_000, WIDE[label]
    ranks = np.minimum(rng.lognormal(0, 1, records) / 60, 1)
    values = [int(rank * (possible - 1)) for rank in ranks]
    scale = {
        "name": "x",
        "kind": "scale",
        "of": "integer",
        "low": "0",
        "high": str(possible - 1),
    }
    domain = Domain.from_json({"attributes": [scale]})
    with tempfile.TemporaryDirectory() as work:
        path, out = Path(work) / "wide.csv", Path(work) / "synthetic.csv"
        pd.DataFrame({"x": values}).to_csv(path, index=False)
        # What the first release of a process loads and compiles is no cost of its width.
        released(path, domain, epsilon=epsilon, target=None, out=out)
        distances, seconds = [], 0.0
        for _ in range(runs):
            before = time.process_time()
            released(path, domain, epsilon=epsilon, target=None, out=out)
            seconds += (time.process_time() - before) / runs
            synthetic = texts_of(out)["x"]
            distances.append(compared(pd.Series(map(str, values)), synthetic).distance)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Width(distance=float(np.mean(distances)), seconds=seconds, memory=memory)


def report_wide(*, runs: int, epsilon: str) -> None:
    """The same records as numbers among few and among very many possible ones."""
    found: dict[str, Width] = {}
    for label in WIDE:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
            found[label] = child.submit(released_wide, label, runs, epsilon).result()
    first = found["10^3"]
    for label, width in found.items():
        print(
            f"wide {label}: KS {width.distance:.4f}, ratio {width.distance / first.distance:.2f}; "
            f"{width.seconds:.2f} CPU s, ratio {width.seconds / first.seconds:.2f}; "
            f"most memory {width.memory:.0f} MB, ratio {width.memory / first.memory:.2f}"
        )


SMALL_RECORDS, SMALL_COLUMNS = 426, 31


def small_table(rng: np.random.Generator) -> pd.DataFrame:
    """Numbers as measured on cells under a microscope: skewed, of sizes from a hundredth to some hundreds,
    with up to six decimals, every sixth column from one factor; and one column of 0 and 1."""
    factors = rng.normal(size=(SMALL_RECORDS, 6))
    columns: dict[str, list[str]] = {}
    for column in range(SMALL_COLUMNS - 1):
        size = 10.0 ** (-2 + 5 * ((7 * column) % 30) / 29)
        spread = (0.1, 0.2, 0.3, 0.45, 0.6, 0.9)[(column * 5 // 6) % 6]
        normal = 0.8 * factors[:, column % 6] + 0.6 * rng.normal(size=SMALL_RECORDS)
        values = size * np.exp(spread * normal)
        decimals = max(0, 3 - round(np.log10(size)))
        columns[f"c{column}"] = [f"{value:.{decimals}f}" for value in values.tolist()]
    columns["benign"] = [str(int(draw < 0.63)) for draw in rng.random(SMALL_RECORDS).tolist()]
    return pd.DataFrame(columns)


def open_scale(name: str, texts: pd.Series) -> dict[str, object]:
    """A column of which nothing is described but that it holds numbers of so many decimals."""
    decimals = len(str(texts.iloc[0]).partition(".")[2])
    kind: dict[str, object] = {"name": name, "kind": "scale", "missing": None}
    if not decimals:
        return kind | {"of": "integer"}
    return kind | {"of": "number", "step": float(f"1e-{decimals}")}


def report_small(*, runs: int, epsilon: str) -> None:
    """How often columns of small tables are found, and how often a release holds what no real record is near
    to."""
    rng = np.random.default_rng(0)
    held, outside = [], [0, 0]
    with tempfile.TemporaryDirectory() as work:
        path, out = Path(work) / "small.csv", Path(work) / "synthetic.csv"
        for _ in range(runs):
            real = small_table(rng)
            real.to_csv(path, index=False)
            domain = Domain.from_json(
                {"attributes": [open_scale(str(name), real[name]) for name in real]}
            )
            spec = Spec(mechanism="independent", epsilon=Fraction(epsilon), delta=DELTA)
            release = pipeline.synthesize(path, domain=domain, spec=spec)
            tables.write(
                release.model, SMALL_RECORDS, seed=release.seed, path=out, overwrite=True
            )
            synthetic = texts_of(out)
            near, far = 0, [False, False]
            for name in real:
                a, b = numbers(real[name]), numbers(synthetic[name])
                if not b.size:
                    continue
                low, high = float(a.min()), float(a.max())
                beyond = (
                    bool(((b < 2 * low - high) | (b > 2 * high - low)).any()),
                    bool((np.abs(b) > 2 * max(abs(low), abs(high))).any()),
                )
                near += not any(beyond)
                far = [each or one for each, one in zip(far, beyond, strict=True)]
            held.append(near)
            outside = [each + one for each, one in zip(outside, far, strict=True)]
    print(
        f"small: {runs} releases of {SMALL_COLUMNS} columns at epsilon {epsilon}: {np.mean(held):.2f} "
        f"columns found a release; {outside[0]} releases hold a number farther from the real range than it "
        f"is wide, {outside[1]} one more than twice as far from 0"
    )


def argument_parser(doc: str, *, tables: list[str], runs: int) -> argparse.ArgumentParser:
    """The arguments of a bench that releases the tables of the folder. doc: its description; tables, runs:
    the defaults."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--tables", nargs="*", default=tables)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--epsilon", default="1")
    return parser


def report_tables(report: Callable[..., None], options: argparse.Namespace) -> int:
    """Reports each table; returns the exit code. report: takes folder, name, runs, epsilon and work, a folder
    of its own."""
    folder = Path(options.folder or "")
    if not (folder / "data").is_dir():
        print("give the folder with data/", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as work:
        for name in options.tables:
            report(folder, name, runs=options.runs, epsilon=options.epsilon, work=Path(work))
    return 0


def main() -> int:
    parser = argument_parser(
        __doc__ or "", tables=["bank", "adult", "national2019", "fire"], runs=3
    )
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    if options.wide:
        report_wide(runs=options.runs, epsilon=options.epsilon)
    if options.small:
        report_small(runs=options.runs, epsilon=options.epsilon)
    return report_tables(report, options) if options.tables else 0


if __name__ == "__main__":
    sys.exit(main())
