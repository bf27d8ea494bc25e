"""A description that is bought once beside one that every release learns, at equal total epsilon.

    python bench/bought.py [FOLDER] [--tables bank] [--runs 3] [--epsilon 1] [--releases 1 2 5]
        [--method auto] [--numbers]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Each table is described by the
suggestions of the product, but for its numbers, which have no bounds; with --numbers it has these alone.
`learned`: so many releases of equal parts of epsilon, each of which learns the numbers. `bought`: a run that
learns them, with twice the part of one release for learning (once where one release is made), and the same
number of releases under its description, of equal parts of the rest. delta is 0, so that parts of epsilon add
up exactly. Figures are means over releases and runs, each with fresh noise: KS, the Kolmogorov distance of a
number, and tvd2, the total variation distance of a pair of columns, numbers in tenths of the real table.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import values
from synth_engine import pipeline, tables
from synth_engine.domain import Domain, Scale
from synth_engine.plans import description, domain_learning
from synth_engine.spec import Spec

DECILES = np.linspace(0, 1, 11)[1:-1]


def undeclared(path: Path, real: pd.DataFrame) -> Domain:
    """The suggested description, its numbers without bounds."""
    if all(values.is_numeric(real[name]) for name in real):
        return Domain(attributes=tuple(_number(real[name]) for name in real))
    return Domain(
        attributes=tuple(
            _number(real[each.name]) if values.is_numeric(real[each.name]) else each
            for each in values.described(path).attributes
        )
    )


def _number(texts: pd.Series) -> Scale:
    is_whole = bool((values.numbers(texts) % 1 == 0).all())
    return Scale(
        name=str(texts.name),
        of="integer" if is_whole else "number",
        step=1 if is_whole else 0.01,
        missing=("",) if (texts == "").any() else None,
    )


def distances(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """KS and tvd2."""
    numeric = [name for name in real if values.is_numeric(real[name])]
    ks = [values.compared(real[name], synthetic[name]).distance for name in numeric]
    codes: dict[object, tuple[np.ndarray, np.ndarray]] = {}
    for name in real:
        if name in numeric:
            edges = np.unique(np.quantile(values.numbers(real[name]), DECILES))
            both = (
                np.searchsorted(edges, pd.to_numeric(table[name], errors="coerce"))
                for table in (real, synthetic)
            )
            codes[name] = tuple(both)  # type: ignore[assignment]
        else:
            known = {text: code for code, text in enumerate(sorted(set(real[name])))}
            codes[name] = tuple(  # type: ignore[assignment]
                table[name].map(known).fillna(len(known)).to_numpy(dtype=np.int64)
                for table in (real, synthetic)
            )
    pairs = [_tvd(codes[a], codes[b]) for a, b in itertools.combinations(codes, 2)]
    return float(np.mean(ks)), float(np.mean(pairs))


def _tvd(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    width = int(max(each.max() for each in other)) + 1
    cells = int(max(each.max() for each in one) + 1) * width
    shares = [
        np.bincount(a.astype(np.int64) * width + b, minlength=cells) / a.size
        for a, b in zip(one, other, strict=True)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def released(
    path: Path,
    domain: Domain,
    real: pd.DataFrame,
    *,
    epsilon: Fraction,
    method: str,
    work: Path,
) -> tuple[float, float]:
    """The distances of one release, of as many rows as it has."""
    spec = Spec(mechanism=method, epsilon=epsilon)
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    out = work / "synthetic.csv"
    tables.write(release.model, release.rows, seed=release.seed, path=out)
    return distances(real, values.texts_of(out))


def bought(path: Path, domain: Domain, *, epsilon: Fraction) -> Domain:
    """The description that a purchase of this epsilon makes."""
    plan = description.plan(domain, Spec(mechanism=description.MECHANISM, epsilon=epsilon))
    answers = pipeline.measure(path, plan=plan)
    return plan.described(answers, paid_by=plan.receipt(answers))


def report(
    folder: Path, name: str, *, runs: int, epsilon: Fraction, releases: list[int], method: str,
    numbers: bool,
) -> None:  # fmt: skip
    real = values.load(folder, name)
    if numbers:
        real = real[[column for column in real if values.is_numeric(real[column])]]
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        path = work / f"{name}.csv"
        real.to_csv(path, index=False)
        domain = undeclared(path, real)
        share = domain_learning.share(domain)
        for number in releases:
            of_one = epsilon / number
            part = share * of_one * min(number, 2)
            figures: dict[str, list[tuple[float, float]]] = {"learned": [], "bought": []}
            for _ in range(runs):
                again: dict[str, Any] = {"epsilon": of_one, "method": method, "work": work}
                figures["learned"] += [
                    released(path, domain, real, **again) for _ in range(number)
                ]
                description_ = bought(path, domain, epsilon=part)
                rest = again | {"epsilon": (epsilon - part) / number}
                figures["bought"] += [
                    released(path, description_, real, **rest) for _ in range(number)
                ]
            for way, found in figures.items():
                ks, tvd2 = np.mean(found, axis=0)
                sys.stdout.write(
                    f"{name} releases {number} {way}: KS {ks:.4f} tvd2 {tvd2:.4f}\n"
                )
            sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--tables", nargs="+", default=["bank"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--releases", nargs="+", type=int, default=[1, 2, 5])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--numbers", action="store_true")
    options = parser.parse_args()
    if options.folder is None:
        parser.error("give the folder that holds data/, or set SYNTHWEB_BENCHMARK")
    for name in options.tables:
        report(
            Path(options.folder),
            name,
            runs=options.runs,
            epsilon=Fraction(options.epsilon),
            releases=options.releases,
            method=options.method,
            numbers=options.numbers,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
