"""How often do intervals from several plausible tables hold the figures of the real table?

    python bench/implicates.py [FOLDER] [--methods independent mst] [--runs 5] [--implicates 10] [--epsilon 1]

FOLDER (or the environment variable SYNTHWEB_BENCHMARK) holds data/. Adult is described by the suggestions of the product and
released with delta = 1e-9 and fresh noise; of each release so many implicates are made, and their estimates combined by
(1 + 1/m) b and Student's t with m - 1 degrees of freedom (docs/implicates.md). Printed for each method: the share of 95 %
intervals that hold the real figure, for counts of one and of two columns that answers count and that are at least three
standard deviations of the noise in the real table, for counts of two columns of at least 100 that no answer counts, and for means
of the codes of numeric columns; and the mean ratio of widths to the plain Gaussian interval of one answer.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.interval_coverage import (
    DELTA,
    DEVIATIONS,
    GAUSSIAN,
    Codes,
    plain_deviation,
    real_codes,
)
from bench.values import described, load
from synth_engine import pipeline
from synth_engine.domain import Domain
from synth_engine.evaluation import marginals
from synth_engine.evaluation.marginals import MarginalQuery
from synth_engine.plans import implicates
from synth_engine.spec import Spec

MEANS = ("age", "hours-per-week", "education-num", "fnlwgt")
LEAST_UNMEASURED = 100
SHOWN = ("1-way counts", "2-way counts", "2-way counts, not measured", "means of codes")

Array = np.ndarray[Any, Any]


@dataclass
class Held:
    """Intervals that hold the real figure, of so many, and their widths as a ratio to the plain Gaussian interval."""

    held: int = 0
    number: int = 0
    ratios: list[float] = field(default_factory=list)

    def add(self, inside: Array, ratios: Array | None = None) -> None:
        self.held += int(inside.sum())
        self.number += inside.size
        if ratios is not None:
            self.ratios += ratios.tolist()


def interval(estimates: Array) -> tuple[Array, Array]:
    """Middles and half widths of combined estimates, shape (implicates, ...)."""
    number = len(estimates)
    spread = (1 + 1 / number) * estimates.var(axis=0, ddof=1)
    return estimates.mean(axis=0), stats.t.ppf(0.975, number - 1) * np.sqrt(spread)


def counts(codes: Codes, clique: Sequence[str], domain: Domain) -> Array:
    sizes = [domain.sizes[name] for name in clique]
    cells = [np.asarray(codes[name], dtype=np.int64) for name in clique]
    return np.bincount(
        np.ravel_multi_index(cells, sizes), minlength=int(np.prod(sizes))
    ).reshape(sizes)


def release(method: str, path: Path, domain: Domain, table: Any, given: argparse.Namespace, held: dict[str, Held]) -> None:  # fmt: skip
    """One release with its implicates."""
    spec = Spec(mechanism=method, epsilon=Fraction(given.epsilon), delta=DELTA, parameters={})
    made = pipeline.synthesize(path, domain=domain, spec=spec)
    published = marginals.publish(made.model, made.plan, made.answers)
    real = real_codes(table, published.domain)
    oneway = {
        name: plain_deviation(published.tables, (name,), {}) for name in published.domain.sizes
    }
    digest = made.plan.receipt(made.answers)["digest"]
    samples = []
    for number in range(1, given.implicates + 1):
        seed = implicates.seed_of(digest, number)
        model = implicates.fit(made.plan, made.answers, seed=seed)
        samples.append(model.sample(model.rows, seed=seed))
    for way in (1, 2):
        for clique in itertools.combinations(published.domain.names, way):
            asked = marginals.asked_of(published.domain, MarginalQuery(columns=clique))
            known = marginals.table_of(published, asked)
            exact = counts(real, clique, published.domain)
            middle, half = interval(
                np.stack([counts(each, clique, published.domain) for each in samples])
            )
            inside = np.abs(middle - exact) <= half
            # By the public deviation of the noise and not by the width of an interval: intervals are cut off at 0, so that
            # those of answers that are too low by chance are narrow.
            deviation = plain_deviation(published.tables, clique, oneway)
            if np.isfinite(deviation):
                chosen = known.measured & (exact >= DEVIATIONS * deviation)
                held[SHOWN[way - 1]].add(inside[chosen], half[chosen] / (GAUSSIAN * deviation))
            if way == 2:
                held[SHOWN[2]].add(inside[~known.measured & (exact >= LEAST_UNMEASURED)])
    for name in MEANS:
        if name in published.domain.sizes:
            middle, half = interval(np.array([np.mean(each[name]) for each in samples]))
            held[SHOWN[3]].add(np.array(abs(middle - np.mean(real[name])) <= half))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("SYNTHWEB_BENCHMARK"))
    parser.add_argument("--methods", nargs="+", default=["independent", "mst"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--implicates", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    if not given.folder:
        parser.error("name the folder that holds data/")
    table = load(Path(given.folder), "adult")
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "adult.csv"
        table.to_csv(path, index=False)
        domain = described(path)
        for method in given.methods:
            held = {shown: Held() for shown in SHOWN}
            started = time.process_time()
            for _ in range(given.runs):
                release(method, path, domain, table, given, held)
            for shown, each in held.items():
                if each.number:
                    ratio = (
                        f"; width {np.mean(each.ratios):.2f} of the plain interval"
                        if each.ratios
                        else ""
                    )
                    print(f"{method}, {shown}: {each.held / each.number:.3f} of {each.number:,} intervals hold{ratio}", flush=True)  # fmt: skip
            print(
                f"{method}: {time.process_time() - started:.0f} s of processor time", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
