"""Seconds of a processor for the priors of every size of group, and records that are drawn anew in one of them.

    python bench/resample.py [FOLDER]        the folder with data/lodes_ri, by default ../shared

On all jobs of Rhode Island by block of work. The named alternative to the urn is a draw that may be seeded and rounds chances to floats, as most
libraries have it: numpy's gamma variates and multinomial, over the same groups and origins, in the same run.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.paper_c_map import Map, read
from synth_engine.confidential import growth
from synth_engine.privacy import dirichlet_multinomial, resampling

DELTA = Fraction(1, 10**5)
SECONDS, WORKERS = 10.0, 2e6


def seconds_of_priors(
    epsilon: Fraction, *, sizes: tuple[int, ...], origins: int
) -> tuple[float, dict[int, int]]:
    """Nothing of an earlier call is kept: each epsilon is asked for once."""
    start = time.process_time()
    found = resampling.parts(epsilon, DELTA, sizes=sizes, origins=origins)
    return time.process_time() - start, found


def drawn_a_second(commutes: Map, areas: str, priors: dict[int, int]) -> float:
    """Records a second of processor time, by the room's urn; the best of three."""
    part = commutes.areas[areas]
    parts = np.array([priors.get(int(size), 0) for size in commutes.sizes], dtype=np.int64)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        found = dirichlet_multinomial.draw_origins(
            commutes.work,
            part[commutes.home],
            parts=parts,
            shape=(commutes.sizes.size, int(part.max()) + 1),
            urn=dirichlet_multinomial.Urn(unit=resampling.UNIT),
            below=growth.uniform,
        )
        best = min(best, time.process_time() - start)
    assert found.size == commutes.work.size
    return commutes.work.size / best


def rounded_a_second(commutes: Map, areas: str, priors: dict[int, int]) -> float:
    """The same by gamma variates in floats, for one group after the other; once, of a hundredth of the groups."""
    part, rng = commutes.areas[areas], np.random.default_rng()
    origins, some = int(part.max()) + 1, range(0, commutes.sizes.size, 100)
    ends = np.cumsum(commutes.sizes)
    start, records = time.process_time(), 0
    for group in some:
        size = int(commutes.sizes[group])
        counts = np.bincount(
            part[commutes.home[ends[group] - size : ends[group]]], minlength=origins
        )
        chances = rng.standard_gamma(counts + priors[size] / resampling.UNIT)
        rng.multinomial(size, chances / chances.sum())
        records += size
    return records / (time.process_time() - start)


def main(folder: Path) -> int:
    commutes = read(folder / "data/lodes_ri")
    sizes = tuple(sorted({int(size) for size in commutes.sizes}))
    bad = 0
    for epsilon in (Fraction(6, 5), Fraction(2), Fraction(23, 5), Fraction(857, 100)):
        for areas in ("blocks", "tracts"):
            origins = int(commutes.areas[areas].max()) + 1
            seconds, priors = seconds_of_priors(epsilon, sizes=sizes, origins=origins)
            exact, rounded = (
                of(commutes, areas, priors) for of in (drawn_a_second, rounded_a_second)
            )
            met = seconds < SECONDS and exact >= WORKERS
            bad += not met
            print(
                f"epsilon {float(epsilon):<5} {areas:<7} ({origins:>6,} origins): priors of {len(sizes)} sizes {seconds:.2f} s, "
                f"{exact / 1e6:.1f} million records a second, {exact / rounded:,.1f} times the rounded draw; {'met' if met else 'NOT MET'}"
            )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(
        main(
            Path(
                sys.argv[1]
                if len(sys.argv) > 1
                else Path(__file__).resolve().parents[2] / "shared"
            )
        )
    )
