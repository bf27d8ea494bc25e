"""Repeats the points of the paper on adaptive histograms, on commutes of Rhode Island: python bench/paper_a.py [DATA]

Compares `adaptive` with the paper's basic histogram (8 levels, threshold ln 16 / epsilon of a level, leaves below two noise
scales to zero, the rest to a noisy total; half of epsilon for the tree, 0.48 for leaves, 0.02 for the total) and with a
resample of the source: earth-mover approximation cumulated by depth, and the Kolmogorov-Smirnov distance of commute distances
of homes within 5 miles of three places. Means of RUNS runs at equal epsilon. Noise of the comparison's tree is floating-point:
that of `adaptive` is what the room draws.

DATA is not needed; the table is examples/commutes/commutes.parquet, made by bench/commutes.py from LODES 2019.
"""

from __future__ import annotations

import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine import codec, mechanisms
from synth_engine.codec import places, prefixes
from synth_engine.confidential.growth import grown
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.session import open_session
from synth_engine.domain import Domain
from synth_engine.domain import read as read_domain
from synth_engine.hierarchy import Points, Rule
from synth_engine.measurement import Noise
from synth_engine.spec import Spec

ROOT = Path(__file__).resolve().parents[1]
RUNS = int(os.environ.get("RUNS", "5"))
EPSILONS = ("1/10", "1", "10")
DEPTHS = 8
CITIES = {"Providence": (41.824, -71.413), "Newport": (41.490, -71.313), "Westerly": (41.378, -71.827)}
RADIUS = 5 * 1.609344  # kilometres in five miles
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint64]


def load() -> tuple[Domain, Points, dict[str, npt.NDArray[np.uint16]]]:
    domain = read_domain(ROOT / "examples" / "commutes" / "points.domain.json")
    table = pq.read_table(ROOT / "examples" / "commutes" / "commutes.parquet", columns=list(domain.names))
    texts = {name: table[name].cast("string") for name in domain.names}
    points = prefixes.hierarchy(domain, domain.names)
    assert isinstance(points, Points)
    return domain, points, codec.encode(domain, texts)


def emd(points: Points, real: Codes, synthetic: Codes) -> Floats:
    """Cumulated over depths 0 to DEPTHS, as a share of the records."""
    found = []
    for depth in range(DEPTHS + 1):
        cells, owner = np.unique(
            np.concatenate([points.prefix(real, depth), points.prefix(synthetic, depth)]), return_inverse=True
        )
        counts = np.bincount(owner[: real.size], minlength=cells.size) - np.bincount(
            owner[real.size :], minlength=cells.size
        )
        found.append(2.0**-depth * np.abs(counts).sum() / real.size)
    return np.cumsum(found)


def resample(points: Points, real: Codes) -> Floats:
    """The expected value for a resample: the mean deviation of a count is nearly its root times sqrt(2 / pi)."""
    found = []
    for depth in range(DEPTHS + 1):
        counts = np.unique(points.prefix(real, depth), return_counts=True)[1]
        spread = np.sqrt(counts * (1 - counts / real.size) * 2 / np.pi)
        found.append(2.0**-depth * spread.sum() / real.size)
    return np.cumsum(found)


class Floating:
    """Floating-point noise: fast, and for comparisons alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def counts(self, vector: npt.NDArray[np.int64], noise: Noise) -> npt.NDArray[np.int64]:
        return np.rint(vector + self.rng.laplace(0, float(noise.scale), vector.size)).astype(np.int64)


def basic(points: Points, codes: Codes, *, epsilon: float, rng: np.random.Generator) -> Codes:
    """The paper's basic histogram, its second pass, and the total fixed."""
    scale = 2 * DEPTHS / epsilon
    rule = Rule(name="basic", depth=DEPTHS, threshold=max(1, round(np.log(16) * scale)))
    noise = Noise(law="discrete-laplace", scale=Fraction(scale))
    leaves, counts = np.unique(codes, return_counts=True)
    tree = grown((leaves, counts), hierarchy=points, rule=rule, noise=noise, sampler=Floating(rng))
    cells, levels = [], []
    for level, opened in zip(tree.levels(points), tree.opened, strict=True):
        closed = np.setdiff1d(np.arange(len(level)), opened)
        cells.append(level.prefixes[closed])
        levels.append(np.full(closed.size, level.level))
    cell, depth = np.concatenate(cells), np.concatenate(levels)
    order = np.argsort(cell)
    cell, depth = cell[order], depth[order]
    true = np.bincount(np.searchsorted(cell, codes, side="right") - 1, minlength=cell.size)
    noisy = true + rng.laplace(0, 1 / (0.48 * epsilon), cell.size)
    noisy[noisy < 2 / (0.48 * epsilon)] = 0
    total = round(codes.size + rng.laplace(0, 1 / (0.02 * epsilon)))
    exact = noisy / noisy.sum() * total
    whole = np.floor(exact).astype(np.int64)
    whole[np.argsort(whole - exact)[: total - whole.sum()]] += 1
    chosen = np.repeat(np.arange(cell.size), whole)
    width = np.array([1 << (points.dimensions * (points.depth - level)) for level in range(points.depth + 1)])
    return cell[chosen] + (rng.random(chosen.size) * width[depth[chosen]]).astype(np.uint64)


def distances(domain: Domain, codes: dict[str, npt.NDArray[np.uint16]]) -> dict[str, Floats]:
    """Commute distances in kilometres of homes near each city, sorted."""
    at = {}
    for name in domain.names:
        cuts = np.array(domain.attribute(name).cuts)  # type: ignore[attr-defined]
        at[name] = ((cuts[:-1] + cuts[1:]) / 2)[codes[name]]
    apart = places.great_circle(at["home_latitude"], at["home_longitude"], at["work_latitude"], at["work_longitude"])
    found = {}
    for city, (latitude, longitude) in CITIES.items():
        one = np.full(apart.size, latitude), np.full(apart.size, longitude)
        near = places.great_circle(at["home_latitude"], at["home_longitude"], *one) <= RADIUS
        found[city] = np.sort(apart[near])
    return found


def ks(one: Floats, other: Floats) -> float:
    at = np.concatenate([one, other])
    if not one.size or not other.size:
        return 1.0
    sides = (np.searchsorted(side, at, side="right") / side.size for side in (one, other))
    return float(np.abs(next(sides) - next(sides)).max())


def main() -> None:
    began = time.perf_counter()
    domain, points, columns = load()
    real = prefixes.of_codes(points, columns, domain)
    rows, truth = Rows(columns, domain=domain), distances(domain, columns)
    reference = resample(points, real)
    print(f"{real.size:,} commutes, {RUNS} runs; resample of the source at depths 2 to 8:")
    print("  " + " ".join(f"{value:.4f}" for value in reference[2:]))
    for epsilon in EPSILONS:
        sums: dict[str, list[Floats]] = {"basic": [], "adaptive": []}
        far: list[list[float]] = []
        totals, depths, spent = [], [], 0.0
        plan = mechanisms.plan(domain, Spec(mechanism="adaptive", epsilon=Fraction(epsilon)))
        for run in range(RUNS):
            rng = np.random.default_rng(run)
            start = time.perf_counter()
            answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
            model = plan.fit(answers)
            spent += time.perf_counter() - start
            drawn = model.sample(model.rows, seed=str(run))
            sums["adaptive"].append(emd(points, real, prefixes.of_codes(points, drawn, domain)))
            sums["basic"].append(emd(points, real, basic(points, real, epsilon=float(Fraction(epsilon)), rng=rng)))
            found = distances(domain, drawn)
            far.append([ks(truth[city], found[city]) for city in CITIES])
            totals.append(abs(model.rows - real.size) / float(answers.calls[0].event.scale))  # type: ignore[union-attr]
            depths.append(answers.growths[0].rule.depth)
        means = {name: np.mean(one, axis=0) for name, one in sums.items()}
        print(
            f"epsilon {epsilon}: depth {depths[0]}, {spent / RUNS:.1f} s a tree, total off by {max(totals):.2f} noise scales"
        )
        for name, one in means.items():
            print(f"  {name:9} " + " ".join(f"{value:.4f}" for value in one[2:]))
        print(
            "  adaptive / basic     "
            + " ".join(f"{a / b:.2f}" for a, b in zip(means["adaptive"][2:], means["basic"][2:], strict=True))
        )
        print(
            "  adaptive / resample  "
            + " ".join(f"{a / b:.2f}" for a, b in zip(means["adaptive"][2:], reference[2:], strict=True))
        )
        print(
            "  KS of distances      "
            + " ".join(f"{city} {value:.3f}" for city, value in zip(CITIES, np.mean(far, axis=0), strict=True))
        )
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main()
