"""Accuracy and time of `auto` beside `independent` and `mst`, on public tables, through the room with its own
noise.

    python bench/auto.py [FOLDER] [--data adult national2019 …] [--epsilon 0.1 1 10] [--method auto mst …]
        [--runs 3]
                         [--learn] [--target COLUMN] [--large]
                             [--against-all [--cache FILE] [--limit SECONDS] [--document FILE]]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds tools/split.py, tools/score.py and data/. Prints
a line for each setting: mean total variation distances of all pairs and of 200 triples, seconds of processor
time for fit and rows (reading, counting and noise apart), and what was expected from public facts. `--learn`
trains models on Adult and on made tables (needs scikit-learn); `--large`: one million records and thirty
columns; `--against-all`: one table of `auto` beside all other methods for tables, over all data by default
(bench/against.py).

Domains of tables without a description are the integer codes of their values: for a benchmark, not for a
release.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import itertools
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import against, against_page, commutes, made, values
from synth_engine import domain as domains
from synth_engine import mechanisms, pipeline, tables
from synth_engine.domain import Domain
from synth_engine.inference.error_forecast import ErrorForecast
from synth_engine.spec import Spec

PLANTED = ("xor", "checker", "gate", "clusters", "plain")
"""Made tables with a relation that pairs do not show, and one (`plain`) without."""
REAL = ("adult", "national2019", "ma2019", "fire", "retail", "bank", "commutes")
DATA = (*REAL, *PLANTED, *made.KINDS)
UNLESS_ASKED = DATA[:5]
"""Tables that are measured without `--data`."""
METHODS = ("auto", "independent", "mst")
DELTA = "1e-9"
BINS = 100
"""Numbers of the survey of more values than this are cut into as many bins of about equal counts."""
DEGREES = 40
"""Latitudes and longitudes of commutes are cut into so many equal parts."""
COMMUTES = 50_000
"""Number of commutes: a sample of those that are alone between their two blocks, so that their classes are
known together."""
CLASSES = {"age": "SA", "pay": "SE", "industry": "SI"}
"""Classes of jobs of three codes each, and the beginnings of the names of their columns."""
TWENTIETHS = 20
"""Numbers of Bank are released as numbers, and compared by as many bins of about equal counts."""
EPSILONS = ["0.1", "1", "10"]
MOST_RUNS = 10
"""Of a setting in the document."""
Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """Integer codes and the number of codes of each column."""

    name: str
    codes: Matrix
    sizes: dict[str, int]
    test: Matrix | None = None
    file: File | None = None

    @property
    def digest(self) -> str:
        """Which table it is, for figures that are stored."""
        return hashlib.sha256(
            json.dumps(self.sizes).encode() + self.codes.tobytes()
        ).hexdigest()[:16]


@dataclass(frozen=True)
class File:
    """A table that is released with a description of its own, and how texts of its columns become codes."""

    path: Path
    domain: Domain
    coded: Callable[[pd.DataFrame], Matrix]


def read(folder: Path, name: str, scratch: Path, *, seed: int = 0) -> Data:
    """The table of that name; seed: of a made table."""
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
        return _planted(folder, name, scratch, seed)
    if name in made.KINDS:
        table, sizes = made.table(name, seed=seed)
        return _divided(name, table.to_numpy(), sizes)
    if name == "bank":
        return _bank(folder, scratch)
    if name == "fire":
        sizes = json.loads((folder / "data/fire/fire-domain.json").read_text())
        with zipfile.ZipFile(folder / "data/fire/fire.zip") as archive:
            listed = next(
                one
                for one in archive.namelist()
                if one.endswith(".csv") and "__MACOSX" not in one
            )
            frame = pd.read_csv(archive.open(listed), usecols=list(sizes))
        return Data(name, frame[list(sizes)].to_numpy(dtype=np.int64), sizes)
    if name == "retail":
        return _retail(folder)
    if name == "commutes":
        return _commutes(folder)
    return _survey(folder, name)


def _planted(folder: Path, kind: str, scratch: Path, seed: int) -> Data:
    script = folder / "tools/planted.py"
    subprocess.run(
        [sys.executable, str(script), kind, str(scratch / "made.csv"), "--seed", str(seed)],
        check=True,
    )
    sizes = json.loads((scratch / "domain.json").read_text())
    codes = pd.read_csv(scratch / "made.csv")[list(sizes)].to_numpy()
    return _divided(kind, codes, sizes)


def _divided(kind: str, codes: Matrix, sizes: dict[str, int]) -> Data:
    """A made table, a fifth of which is held out where there is a column to predict."""
    if "label" not in sizes:
        return Data(kind, codes, sizes)
    codes = np.random.default_rng(0).permutation(codes)
    cut = len(codes) * 4 // 5
    return Data(kind, codes[:cut], sizes, codes[cut:])


def _bank(folder: Path, scratch: Path) -> Data:
    """Bank, described by the suggestions of the product."""
    table = values.load(folder, "bank")
    test = table.sample(frac=values.HELD_OUT, random_state=0)
    train = table.drop(test.index)
    path = scratch / "bank.csv"
    train.to_csv(path, index=False)
    coders = {name: _coder(train[name]) for name in train}

    def coded(frame: pd.DataFrame) -> Matrix:
        return np.stack([coder(frame[name]) for name, coder in coders.items()], axis=1)

    codes = coded(train)
    sizes = {
        str(name): 1 + max(int(codes[:, at].max()), _last_code(train[name]))
        for at, name in enumerate(coders)
    }
    return Data("bank", codes, sizes, coded(test), File(path, values.described(path), coded))


def _last_code(column: pd.Series) -> int:
    """The code of a text that the real table does not have; numbers always have a bin."""
    return 0 if values.is_numeric(column) else column.nunique()


def _coder(column: pd.Series) -> Callable[[pd.Series], npt.NDArray[np.int64]]:
    if values.is_numeric(column):
        edges = np.unique(
            np.quantile(values.numbers(column), np.linspace(0, 1, TWENTIETHS + 1)[1:-1])
        )

        def bins(texts: pd.Series) -> npt.NDArray[np.int64]:
            # A text that is no number counts as one beyond all.
            cells = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
            return np.searchsorted(edges, cells, side="right").astype(np.int64)

        return bins
    known = {text: code for code, text in enumerate(sorted(column.unique()))}
    return lambda texts: texts.map(known).fillna(len(known)).to_numpy(np.int64)


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


def _commutes(folder: Path) -> Data:
    """Homes and places of work in Rhode Island: county, town, and bins of latitude and longitude of both,
    which towns nearly determine."""
    data = folder / "data/lodes_ri"
    blocks = pd.read_csv(data / "ri_xwalk.csv.gz", dtype=str, keep_default_na=False)
    places = commutes.places_of(blocks)
    for degrees in ("latitude", "longitude"):
        places[degrees] = pd.cut(places[degrees], DEGREES, labels=False)
    jobs = pd.read_csv(
        data / "ri_od_main_JT00_2019.csv.gz", dtype={"h_geocode": str, "w_geocode": str}
    )
    jobs = jobs[jobs["S000"] == 1].sample(COMMUTES, random_state=0)
    table = pd.concat(
        [
            places.loc[jobs[f"{end[0]}_geocode"]].add_prefix(f"{end}_").reset_index(drop=True)
            for end in ("home", "work")
        ],
        axis=1,
    )
    for name, of in CLASSES.items():
        table[name] = jobs[[f"{of}{number:02}" for number in (1, 2, 3)]].to_numpy().argmax(1)
    codes = table.apply(lambda column: pd.factorize(column, sort=True)[0]).astype("int64")
    return Data(
        "commutes", codes.to_numpy(), {str(name): int(codes[name].max()) + 1 for name in codes}
    )


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


def script(folder: Path, name: str) -> ModuleType:
    """A script of the benchmark's folder as a module."""
    found = importlib.util.spec_from_file_location(name, folder / f"tools/{name}.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


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
    path, domain = _described(data, scratch)
    chosen = {"target": target} if target and method == "auto" else {}
    spec = _spec(method, epsilon, delta=delta, parameters=chosen)
    started = time.process_time()
    plan = mechanisms.plan(domain, spec)
    pipeline.confirm(plan)
    answers = pipeline.measure(path, plan=plan)
    measured, begun = time.process_time() - started, time.process_time()
    model = plan.fit(answers)
    fitted, begun = time.process_time() - begun, time.process_time()
    rows = _drawn(data, model, scratch)
    drawn = time.process_time() - begun
    expected = plan.expected_error(rows=len(data.codes))
    return {
        "codes": rows,
        "fit": fitted,
        "rows": drawn,
        "whole": measured + fitted + drawn,
        "expected columns": expected.mean,
        "expected": expected.mean_pairs,
    }


def _spec(
    method: str,
    epsilon: str,
    *,
    delta: str = DELTA,
    parameters: Mapping[str, Any] | None = None,
) -> Spec:
    return Spec(
        mechanism=method,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters or {},
    )


def _described(data: Data, scratch: Path) -> tuple[Path, Domain]:
    """The file of the table, and its description."""
    if data.file is not None:
        return data.file.path, data.file.domain
    table, sizes = scratch / "table.csv", scratch / "sizes.json"
    pd.DataFrame(data.codes, columns=list(data.sizes)).to_csv(table, index=False)
    sizes.write_text(json.dumps(data.sizes))
    return table, domains.read(sizes)


def _drawn(data: Data, model: mechanisms.Model, scratch: Path) -> Matrix:
    seed = secrets.token_hex(32)
    if data.file is None:
        codes = model.sample(model.rows, seed=seed)
        return np.stack([codes[name] for name in data.sizes], axis=1).astype(np.int64)
    synthetic = scratch / "synthetic.csv"
    tables.write(model, model.rows, seed=seed, path=synthetic)
    return data.file.coded(pd.read_csv(synthetic, dtype=str, keep_default_na=False))


def scored(data: Data, found: Matrix, score: ModuleType, *, learn: bool) -> dict[str, float]:
    """As the benchmark's script does it; for the seconds it takes, without tables that are larger than
    needed."""
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
        # Threads of several programs on few cores wait for one another.
        with threadpool_limits(limits=1):
            models = score.ml(found, data.test, data.sizes, place, names, names[-1])
        figures |= {"lr_auc": models["lr_auc"], "hgb_auc": models["hgb_auc"]}
    return figures


class Measure:
    """Measures one run of one method on one table; the table that was read last is not read again."""

    def __init__(self, folder: Path, scratch: Path, score: ModuleType) -> None:
        self._folder, self._scratch, self._score = folder, scratch, score
        self._last: tuple[tuple[str, int], Data] | None = None
        self._digests: dict[tuple[str, int], str] = {}

    def data(self, name: str, run: int) -> Data:
        which = self._which(name, run)
        if self._last is None or self._last[0] != which:
            self._last = which, read(self._folder, name, self._scratch, seed=which[1])
        return self._last[1]

    def digest(self, name: str, run: int) -> str:
        which = self._which(name, run)
        if which not in self._digests:
            self._digests[which] = self.data(name, run).digest
        return self._digests[which]

    @staticmethod
    def _which(name: str, run: int) -> tuple[str, int]:
        """Made tables have the number of the run as their seed: all methods get the same ones."""
        return name, run if name in (*PLANTED, *made.KINDS) else 0

    def figures(self, name: str, run: int, *, epsilon: str, method: str) -> dict[str, float]:
        data = self.data(name, run)
        if method == against.REAL:
            if data.test is None:
                return {}
            learned = scored(data, data.codes, self._score, learn=True)
            return {against.AREA: learned[against.AREA]}
        one = released(data, self._scratch, method=method, epsilon=epsilon)
        codes = one.pop("codes")
        return scored(data, codes, self._score, learn=True) | one

    def forecast(self, name: str, run: int, *, epsilon: str, method: str) -> ErrorForecast:
        data = self.data(name, run)
        _, domain = _described(data, self._scratch)
        estimate = mechanisms.estimate(domain, _spec(method, epsilon), rows=len(data.codes))
        return estimate.errors


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
            f"{name}: 1,000,000 x {wide.shape[1]}: {found['whole']:.0f} s of processor time (fit "
            f"{found['fit']:.1f}, rows {found['rows']:.1f}), {clock:.0f} s by the clock with writing the "
            f"file and a second fit, {memory} MB",
            flush=True,
        )


def _against_all(options: argparse.Namespace, measure: Measure) -> None:
    cache = against.Cache(options.cache, limit=options.limit)
    against.compare(
        options.data or against.DATA,
        options.epsilon,
        options.method or against.METHODS,
        runs=options.runs,
        measure=measure,
        cache=cache,
    )
    if options.document:
        # Everything stored, not only what was asked for this time.
        blocks = list(
            against.stored(
                (*against.DATA, *made.KINDS),
                EPSILONS,
                runs=MOST_RUNS,
                measure=measure,
                cache=cache,
            )
        )
        picture = options.document.parent / "images" / "auto.svg"
        picture.write_text(against_page.chart(blocks))
        options.document.write_text(against_page.page(blocks, picture="images/auto.svg"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--data", nargs="+", choices=DATA)
    parser.add_argument("--epsilon", nargs="+", default=EPSILONS)
    parser.add_argument("--method", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--target", default="")
    for flag in ("--learn", "--large", "--against-all"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--cache", type=Path, default=against.default_cache())
    parser.add_argument("--limit", type=float, default=1800.0)
    parser.add_argument("--document", type=Path)
    options = parser.parse_args()
    if not options.folder:
        parser.error("give the folder of the benchmark data, or set SYNTHWEB_BENCHMARK to it")
    folder = Path(options.folder).resolve()
    score = script(folder, "score")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if options.large:
            large(folder, scratch)
            return 0
        if options.against_all:
            _against_all(options, Measure(folder, scratch, score))
            return 0
        for which in options.data or UNLESS_ASKED:
            data = read(folder, which, scratch)
            for epsilon, method in itertools.product(
                options.epsilon, options.method or METHODS
            ):
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
