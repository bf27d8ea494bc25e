"""Processor time of a draw of noise, by law and width, and the ratio of OpenDP's discrete Gaussian to rounded Gaussian noise.

python bench/noise.py
"""

from __future__ import annotations

import json
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.confidential import noise
from synth_engine.measurement import Noise, NoiseLaw

SIZES: dict[NoiseLaw, int] = {
    "discrete-laplace": 1_000_000,
    "discrete-gaussian": 20_000,
    "rounded-gaussian": 1_000_000,
}
SIGMAS = (Fraction(1), Fraction(50), Fraction(2**20))


def nanoseconds(law: NoiseLaw, sigma: Fraction) -> float:
    counts, asked = np.zeros(SIZES[law], dtype=np.int64), Noise(law=law, scale=sigma)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        noise.noisy(counts, asked)
        best = min(best, time.process_time() - start)
    return best / SIZES[law] * 1e9


def main() -> None:
    for sigma in SIGMAS:
        found = {law: round(nanoseconds(law, sigma)) for law in SIZES}
        ratio = round(found["discrete-gaussian"] / found["rounded-gaussian"], 1)
        print(
            json.dumps(
                {"sigma": float(sigma), "ns_per_draw": found, "times_faster_than_opendp": ratio}
            )
        )


if __name__ == "__main__":
    main()
