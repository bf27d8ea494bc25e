"""How often do the intervals of regressions from noisy answers hold the coefficients of the real table, and
how wide are they?

    python bench/fits.py [FOLDER] [--tables adult bank …] [--methods auto mst] [--runs 2] [--fits 20]
        [--columns 10] [--records 0]
                         [--epsilon 1]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Of each table the first --columns
columns, and --records records drawn at random (0: all), are described by the suggestions of the product, each
accepted as it stands, and measured with delta = 1e-9 and fresh noise. Of every release all fits on one column
are asked for, and of least squares on two and three and of logits on two columns --fits each, the same in
every run; outcomes are numbers, or columns of two values. Printed: the share of fits that is offered and why
the others are not; the share of 95 % intervals, constants left out, that hold the coefficient of the real
binned table; the median of their widths over those of the real binned table as a sample, with privacy noise
alone and with sampling as well, for tables of at least 5,000 records; and, of least squares, how far the
binned coefficient is from that of the numbers as they are, in standard errors of the latter.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import values
from bench.interval_coverage import DELTA, GAUSSIAN, Codes, real_codes
from synth_engine import mechanisms, pipeline
from synth_engine.domain import Domain
from synth_engine.errors import InputError
from synth_engine.evaluation import fits
from synth_engine.evaluation.fits import FitRequest, Regression
from synth_engine.evaluation.marginals import PublishedCounts
from synth_engine.spec import Spec

TABLES = ("adult", "bank", "national2019", "ma2019", "fire", "adult_discretised")
FILES = {
    "ma2019": "nist_acs/ma2019.csv.gz",
    "adult_discretised": "adult/adult_discretised.csv.gz",
}
SHAPES: tuple[tuple[fits.Kind, int], ...] = (
    ("ols", 1),
    ("ols", 2),
    ("ols", 3),
    ("logit", 1),
    ("logit", 2),
)
LARGE = 5_000
SEED = 20

Floats = npt.NDArray[np.float64]


@dataclass
class Found:
    """Of one method: fits and intervals."""

    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    offered: Counter[tuple[str, int]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    intervals: Counter[str] = field(default_factory=Counter)
    private: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)


def load(folder: Path, name: str) -> pd.DataFrame:
    if name in FILES:
        return pd.read_csv(folder / "data" / FILES[name], dtype=str, keep_default_na=False)
    return values.load(folder, name)


def requests(domain: Domain, codes: Codes, number: int) -> Iterator[FitRequest]:
    """All fits on one regressor, and so many on several drawn at random; outcomes are numbers, or columns of
    two values."""
    rng = np.random.default_rng(SEED)
    names = [each.name for each in domain.modelled if len(np.unique(codes[each.name])) > 1]
    numbers = [each for each in names if fits.is_number(domain, each)]
    binary = [each for each in names if len(np.unique(codes[each])) == 2]
    for kind, regressors in SHAPES:
        outcomes = binary if kind == "logit" else sorted({*numbers, *binary})
        chosen = [
            (outcome, others)
            for outcome in outcomes
            for others in itertools.combinations([n for n in names if n != outcome], regressors)
        ]
        most = len(chosen) if regressors == 1 else min(number, len(chosen))
        for place in rng.permutation(len(chosen))[:most]:
            outcome, others = chosen[place]
            yield FitRequest(outcome=outcome, regressors=others, kind=kind)


def least_squares(table: Floats) -> tuple[Floats, Floats]:
    """Coefficients of a real table, the outcome last, and their standard errors."""
    regressors, outcome = table[:, :-1], table[:, -1]
    found: Floats = np.asarray(np.linalg.lstsq(regressors, outcome)[0], dtype=np.float64)
    squares = float(((outcome - regressors @ found) ** 2).sum())
    inverse = np.linalg.inv(regressors.T @ regressors)
    return found, np.sqrt(np.diag(inverse) * squares / (len(table) - len(found)))


def logit(table: Floats, start: Floats) -> tuple[Floats, Floats]:
    """The same of a logit; NaN where the table has none. start: where Newton's method begins."""
    regressors, outcome = table[:, :-1], table[:, -1]
    found = start
    for _ in range(30):
        share = 1 / (1 + np.exp(-np.clip(regressors @ found, -40, 40)))
        information = (regressors * (share * (1 - share))[:, None]).T @ regressors
        score = regressors.T @ (outcome - share)
        if np.linalg.cond(information) > 1e14:
            return np.full_like(found, np.nan), np.full_like(found, np.nan)
        found = found + np.linalg.solve(information, score)
    return found, np.sqrt(np.diag(np.linalg.inv(information)))


def binned(found: Regression, codes: Codes) -> Floats:
    """Real records as the numbers of their groups."""
    columns = [each.numbers[each.groups[codes[each.name]]] for each in found.columns]
    return np.column_stack([np.ones(len(columns[0])), *columns])


def as_they_are(found: Regression, table: pd.DataFrame, domain: Domain, codes: Codes) -> Floats:
    """Real records with numbers as they are in the file; what is no number there counts as in the binned
    table."""
    columns = []
    for each in found.columns:
        coded = each.numbers[each.groups[codes[each.name]]].copy()
        if fits.is_number(domain, each.name):
            exact = pd.to_numeric(table[each.name], errors="coerce").to_numpy(dtype=np.float64)
            coded[:, 0] = np.where(np.isnan(exact), coded[:, 0], exact)
        columns.append(coded)
    return np.column_stack([np.ones(len(table)), *columns])


def add(
    found: Found, name: str, published: PublishedCounts, table: pd.DataFrame, number: int
) -> None:
    """Everything about the fits of one release."""
    codes = real_codes(table, published.domain)
    for request in requests(published.domain, codes, number):
        shape = (request.kind, len(request.regressors))
        found.asked[shape] += 1
        try:
            fit = fits.fit(published, request)
        except InputError as refused:
            found.reasons[refused.rule.split("'")[0].split(",")[0]] += 1
            continue
        found.offered[shape] += 1
        real = binned(fit, codes)
        start = np.array([one.estimate for one in fit.coefficients])
        truth, error = least_squares(real) if request.kind == "ols" else logit(real, start)
        exact = as_they_are(fit, table, published.domain, codes)
        raw, raw_error = least_squares(exact)
        for place, one in enumerate(fit.coefficients):
            if not one.column:
                continue
            held = one.of_table.low <= truth[place] <= one.of_table.high
            for key in (name, f"{request.kind} {shape[1]}", ""):
                found.intervals[key] += 1
                found.held[key] += held
            if len(table) >= LARGE:
                width = 2 * GAUSSIAN * error[place]
                found.private.append((one.of_table.high - one.of_table.low) / width)
                found.whole.append((one.of_population.high - one.of_population.low) / width)
            if request.kind == "ols" and not one.value:
                found.raw.append(abs(truth[place] - raw[place]) / raw_error[place])


def measured(path: Path, domain: Domain, *, method: str, epsilon: str) -> PublishedCounts:
    """What fits are made from. No model is fitted, because none is used."""
    spec = Spec(mechanism=method, epsilon=Fraction(epsilon), delta=DELTA, parameters={})
    plan = mechanisms.plan(domain, spec)
    return fits.published(plan, pipeline.measure(path, plan=plan))


def show(method: str, found: Found) -> bool:
    """Print the figures of a method; whether they are as wanted."""
    asked, offered = found.asked.total(), found.offered.total()
    print(f"{method}: {offered} of {asked} fits are offered ({offered / max(asked, 1):.2f})")
    for shape, number in found.asked.items():
        print(
            f"  {shape[0]} on {shape[1]}: {found.offered[shape]} of {number} fits are offered"
        )
    for reason, number in found.reasons.most_common():
        print(f"  refused {number}: {reason}")
    for key in sorted(found.intervals):
        share = found.held[key] / found.intervals[key]
        print(
            f"  {key or 'all'}: {share:.4f} of {found.intervals[key]} intervals hold the coefficient"
        )
    if found.private:
        print(
            f"  median width over that of the real table: {median(found.private):.2f} of the table, "
            f"{median(found.whole):.2f} of the population"
        )
    if found.raw:
        print(
            f"  binned beside raw: {median(found.raw):.2f} standard errors apart in the median"
        )
    if not found.intervals[""]:
        return False
    return 0.92 <= found.held[""] / found.intervals[""] <= 0.98 and (
        not found.whole or median(found.whole) <= 3
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=["auto", "mst"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    if not given.folder:
        parser.error("name the folder that holds data/")
    found = {method: Found() for method in given.methods}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        for name in given.tables:
            table = load(Path(given.folder), name)
            table = table[list(table.columns[: given.columns])]
            if given.records and given.records < len(table):
                table = table.sample(given.records, random_state=SEED, ignore_index=True)
            path = Path(work) / f"{name}.csv"
            table.to_csv(path, index=False)
            domain = values.described(path)
            for method, figures in found.items():
                for _ in range(given.runs):
                    published = measured(path, domain, method=method, epsilon=given.epsilon)
                    add(figures, name, published, table, given.fits)
            print(
                f"{name}: {len(table):,} records; {time.monotonic() - started:.0f} s",
                flush=True,
            )
    good = [show(method, figures) for method, figures in found.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
