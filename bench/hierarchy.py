"""How long trees take beside sorting, on made-up points: python bench/hierarchy.py [POINTS, by default 10,000,000]

Points in four coordinates, most of them in clusters of all sizes: Morton codes, their sort, and a 16-way tree of about one and
a half million nodes by the basic rule, against `np.sort` of the codes in the same run. Exact noise is measured apart, on part of
the nodes. Memory is the most that the process has held above the codes themselves.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.codec import prefixes
from synth_engine.confidential import counts, growth, noise
from synth_engine.confidential.rows import Rows
from synth_engine.domain import Domain, Integer
from synth_engine.hierarchy import Points, Rule
from synth_engine.measurement import Noise

Result = TypeVar("Result")
BITS = 10
NODES = 1_500_000
PART = 50_000


class Exactly:
    """No noise: what is left is the tree."""

    def counts(self, vector: npt.NDArray[np.int64], noise: Noise) -> npt.NDArray[np.int64]:  # noqa: ARG002
        return vector


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.process_time()  # of the processor: others may be at work beside
    found = work()
    return time.process_time() - start, found


def clusters(number: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.uint16]]:
    """Half of the points anywhere near one of many centres, the more often the wider."""
    centres = rng.integers(0, 1 << BITS, (20_000, 4)).astype(np.float32)
    of = np.minimum((20_000 * rng.random(number, dtype=np.float32) ** 2).astype(np.int64), 19_999)
    found = {}
    for axis in range(4):
        drawn = centres[of, axis] + rng.standard_normal(number, dtype=np.float32) * 8
        found[f"c{axis}"] = np.clip(drawn, 0, (1 << BITS) - 1).astype(np.uint16)
    return found


def peak() -> float:
    """Gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(number: int) -> None:
    columns = clusters(number, np.random.default_rng(1))
    domain = Domain(attributes=tuple(Integer(name=name, low=0, high=(1 << BITS) - 1, width=1) for name in columns))
    points = prefixes.hierarchy(domain, domain.names)
    assert isinstance(points, Points)
    encoding, codes = timed(lambda: prefixes.of_codes(points, columns, domain))
    sorting, _ = timed(lambda: np.sort(codes))
    held = peak()
    rows = Rows(columns, domain=domain)
    counting, leaves = timed(lambda: counts.by_leaf(rows, points))
    law = Noise(law="discrete-laplace", scale=Fraction(1))

    def tree(threshold: int) -> growth.Growth:
        rule = Rule(name="basic", depth=8, threshold=threshold)
        return growth.grown(leaves, hierarchy=points, rule=rule, noise=law, sampler=Exactly())  # type: ignore[arg-type]

    low, high = 2, 1 << 16
    while high - low > max(1, low // 50):  # the threshold with about so many nodes
        middle = (low + high) // 2
        low, high = (middle, high) if sum(map(len, tree(middle).counts)) > NODES else (low, middle)
    growing, grown = timed(lambda: tree(high))
    nodes = sum(map(len, grown.counts))
    drawing, _ = timed(lambda: noise.noisy(np.zeros(PART, dtype=np.int64), law))
    print(f"{number:,} points: codes {encoding:.2f} s, np.sort of the codes {sorting:.2f} s")
    print(f"codes, sort and distinct codes {counting:.2f} s, a tree of {nodes:,} nodes {growing:.2f} s")
    print(f"codes, sort and tree / np.sort = {(counting + growing) / sorting:.2f}")
    print(f"exact noise: {drawing / PART * 1e6:.2f} microseconds a node, {drawing / PART * nodes:.1f} s for the tree")
    print(f"memory above codes: {peak() - held:.2f} GB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
