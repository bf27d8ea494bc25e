"""Accuracy and time of `auto` beside `independent` and `mst`, on public tables, through the room with its own noise.

    python bench/auto.py [FOLDER] [--data adult national2019 …] [--epsilon 0.1 1 10] [--method auto mst …] [--runs 3]
                         [--learn] [--target COLUMN] [--large]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py, tools/score.py and data/. Prints a line for
each setting: mean total variation distances of all pairs and of 200 triples, seconds of processor time for fit and rows
(reading, counting and noise apart), and what was expected from public facts. `--learn` trains models on Adult and on made tables (needs
scikit-learn); `--large`: one million records and thirty columns. Published k-marginal scores: bench/kmarginal.py.

Domains of tables without a description are the integer codes of their values: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import domain as domains
from synth_engine import pipeline
from synth_engine.spec import Spec

PLANTED = ("xor", "checker", "gate", "clusters", "plain")
"""Made tables with a relation that pairs do not show, and one (`plain`) without."""
DATA = ("adult", "national2019", "ma2019", "fire", "retail", *PLANTED)
METHODS = ("auto", "independent", "mst")
DELTA = "1e-9"
BINS = 100
"""Numbers of the survey of more values than this are cut into as many bins of about equal counts."""
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """Integer codes and the number of codes of each column."""

    name: str
    codes: Matrix
    sizes: dict[str, int]
    test: Matrix | None = None


def read(folder: Path, name: str, scratch: Path) -> Data:
    if name == "adult":
        subprocess.run(
            [sys.executable, str(folder / "tools/split.py"), str(scratch)], check=True
        )
        sizes = json.loads((scratch / "domain.json").read_text())
        train, test = (
            pd.read_csv(scratch / f"{part}.csv")[list(sizes)].to_numpy()
            for part in ("train", "test")
        )
        return Data(name, train, sizes, test)
    if name in PLANTED:
        return _planted(folder, name, scratch)
    if name == "fire":
        sizes = json.loads((folder / "data/fire/fire-domain.json").read_text())
        with zipfile.ZipFile(folder / "data/fire/fire.zip") as archive:
            table = next(
                one
                for one in archive.namelist()
                if one.endswith(".csv") and "__MACOSX" not in one
            )
            frame = pd.read_csv(archive.open(table), usecols=list(sizes))
        return Data(name, frame[list(sizes)].to_numpy(dtype=np.int64), sizes)
    if name == "retail":
        return _retail(folder)
    return _survey(folder, name)


def _planted(folder: Path, kind: str, scratch: Path) -> Data:
    script = folder / "tools/planted.py"
    subprocess.run([sys.executable, str(script), kind, str(scratch / "made.csv")], check=True)
    sizes = json.loads((scratch / "domain.json").read_text())
    codes = pd.read_csv(scratch / "made.csv")[list(sizes)].to_numpy()
    codes = np.random.default_rng(0).permutation(codes)
    cut = len(codes) * 4 // 5
    return Data(kind, codes[:cut], sizes, codes[cut:])


def _retail(folder: Path, top: int = 50) -> Data:
    frame = pd.read_csv(
        folder / "data/transactions/retail.dat.gz", header=None, names=["basket"], sep="\t"
    )
    baskets = [list(map(int, str(one).split())) for one in frame["basket"]]
    commonest = np.bincount(np.concatenate([np.array(one) for one in baskets])).argsort()[::-1][
        :top
    ]
    place = {int(item): column for column, item in enumerate(commonest)}
    codes = np.zeros((len(baskets), top), dtype=np.int64)
    for row, basket in enumerate(baskets):
        codes[row, [place[item] for item in basket if item in place]] = 1
    return Data("retail", codes, {f"item_{item}": 2 for item in commonest})


def _survey(folder: Path, name: str, columns: list[str] | None = None) -> Data:
    frame = pd.read_csv(
        folder / f"data/nist_acs/{name}.csv.gz", dtype=str, keep_default_na=False
    )
    codes, sizes = [], {}
    for column in columns or [one for one in frame.columns if not one.startswith("Unnamed")]:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        many = (
            frame[column].nunique() > BINS
            and numbers.notna().sum() > 0
            and column not in ("PUMA", "INDP")
        )
        if many:
            edges = np.unique(np.quantile(numbers.dropna(), np.linspace(0, 1, BINS)))
            code = np.where(
                numbers.isna(), 0, 1 + np.searchsorted(edges, numbers.fillna(0), side="right")
            )
        else:
            code = pd.factorize(frame[column], sort=True)[0]
        codes.append(pd.factorize(code, sort=True)[0])
        sizes[column] = int(codes[-1].max()) + 1
    return Data(name, np.stack(codes, axis=1).astype(np.int64), sizes)


def released(
    data: Data,
    scratch: Path,
    *,
    method: str,
    epsilon: str,
    delta: str = DELTA,
    target: str = "",
) -> dict[str, Any]:
    """One release and one table of it: codes, seconds, and what was expected."""
    table, sizes = scratch / "table.csv", scratch / "sizes.json"
    pd.DataFrame(data.codes, columns=list(data.sizes)).to_csv(table, index=False)
    sizes.write_text(json.dumps(data.sizes))
    chosen = {"target": target} if target and method == "auto" else {}
    spec = Spec(
        mechanism=method, epsilon=Fraction(epsilon), delta=Fraction(delta), parameters=chosen
    )
    started = time.process_time()
    release = pipeline.synthesize(table, domain=domains.read(sizes), spec=spec)
    whole, begun = time.process_time() - started, time.process_time()
    model = release.plan.fit(release.answers)
    fitted, begun = time.process_time() - begun, time.process_time()
    codes = model.sample(release.rows, seed=release.seed)
    drawn = time.process_time() - begun
    forecast = release.plan.expected_error(rows=len(data.codes))
    rows = np.stack([codes[name] for name in data.sizes], axis=1).astype(np.int64)
    return {
        "codes": rows,
        "fit": fitted,
        "rows": drawn,
        "whole": whole + drawn,
        "expected": forecast.mean_pairs,
    }


def scored(data: Data, found: Matrix, score: ModuleType, *, learn: bool) -> dict[str, float]:
    """As the benchmark's script does it; for the seconds it takes, without tables that are larger than needed."""
    names = list(data.sizes)
    place = {name: axis for axis, name in enumerate(names)}
    triples = list(itertools.combinations(names, 3))
    some = np.random.default_rng(0).choice(len(triples), min(200, len(triples)), replace=False)

    def mean(cliques: list[tuple[str, ...]]) -> float:
        return fmean(
            float(score.tvd(data.codes, found, clique, data.sizes, place)) for clique in cliques
        )

    figures = {
        "tvd1": mean([(name,) for name in names]),
        "tvd2": mean(list(itertools.combinations(names, 2))),
        "tvd3": mean([triples[at] for at in sorted(some)]) if triples else 0.0,
    }
    if learn and data.test is not None:
        models = score.ml(found, data.test, data.sizes, place, names, names[-1])
        figures |= {"lr_auc": models["lr_auc"], "hgb_auc": models["hgb_auc"]}
    return figures


def large(folder: Path, scratch: Path) -> None:
    for name in ("adult", "national2019"):
        data = read(folder, name, scratch)
        rng = np.random.default_rng(1)
        columns = [at % len(data.sizes) for at in range(30)]
        rows = rng.integers(0, len(data.codes), (1 + 29 // len(data.sizes), 1_000_000))
        wide = np.stack(
            [data.codes[rows[at // len(data.sizes)], c] for at, c in enumerate(columns)], axis=1
        )
        sizes = list(data.sizes.values())
        million = Data(name, wide, {f"c{at}": sizes[c] for at, c in enumerate(columns)})
        started = time.perf_counter()
        found = released(million, scratch, method="auto", epsilon="1")
        clock, memory = (
            time.perf_counter() - started,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )
        print(
            f"{name}: 1,000,000 x {wide.shape[1]}: {found['whole']:.0f} s of processor time (fit {found['fit']:.1f}, rows "
            f"{found['rows']:.1f}), {clock:.0f} s by the clock with writing the file and a second fit, {memory} MB",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--data", nargs="+", choices=DATA, default=[*DATA[: -len(PLANTED)]])
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default="")
    for flag in ("--learn", "--large"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if not options.folder:
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    folder = Path(options.folder).resolve()
    module = importlib.util.spec_from_file_location("score", folder / "tools/score.py")
    assert module is not None and module.loader is not None
    score = importlib.util.module_from_spec(module)
    module.loader.exec_module(score)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if options.large:
            large(folder, scratch)
            return 0
        for which in options.data:
            data = read(folder, which, scratch)
            for epsilon, method in itertools.product(options.epsilon, options.method):
                runs = []
                for _ in range(options.runs):
                    one = released(
                        data, scratch, method=method, epsilon=epsilon, target=options.target
                    )
                    runs.append(
                        scored(data, one.pop("codes"), score, learn=options.learn) | one
                    )
                means = "  ".join(
                    f"{key} {fmean(run[key] for run in runs):.4g}" for key in runs[0]
                )
                print(f"{which:13} epsilon {epsilon:>4} {method:12} {means}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
