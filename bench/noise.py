"""Processor time of a draw of noise, by law and width, and the ratio of OpenDP's discrete Gaussian to ours.

python bench/noise.py
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import opendp.prelude as dp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.confidential import noise
from synth_engine.measurement import Noise, NoiseLaw

SIZE, THEIR_SIZE = 1_000_000, 20_000
SIGMAS = (Fraction(1), Fraction(50), Fraction(2**20))


def nanoseconds(draw: Callable[[], object], size: int) -> int:
    """Of one draw, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        draw()
        best = min(best, time.process_time() - start)
    return round(best / size * 1e9)


def by_opendp(sigma: Fraction) -> int:
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=THEIR_SIZE), dp.l2_distance(T="i64")
    measurement = space >> dp.m.then_gaussian(scale=float(sigma))
    zeros = np.zeros(THEIR_SIZE, dtype=np.int64)
    return nanoseconds(lambda: measurement(zeros), THEIR_SIZE)


def main() -> None:
    dp.enable_features("contrib")
    noise.warm_up()
    zeros = np.zeros(SIZE, dtype=np.int64)
    for sigma in SIGMAS:
        found = {}
        for law in get_args(NoiseLaw):
            asked = Noise(law=law, scale=sigma)
            found[law] = nanoseconds(lambda asked=asked: noise.noisy(zeros, asked), SIZE)
        theirs = by_opendp(sigma)
        ratio = round(theirs / found["discrete-gaussian"], 1)
        print(
            json.dumps(
                {
                    "sigma": float(sigma),
                    "ns_per_draw": found | {"opendp": theirs},
                    "times_faster_than_opendp": ratio,
                }
            )
        )


if __name__ == "__main__":
    main()
