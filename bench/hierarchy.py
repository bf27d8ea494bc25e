"""How long trees take beside sorting, on made-up points: python bench/hierarchy.py [POINTS, by default 10,000,000]

Points in four coordinates, most of them in clusters of all sizes: Morton codes, their sort, and a 16-way tree of about one and
a half million nodes by the basic rule, exact noise on each of them included, against `np.sort` of the codes in the same run.
Then five million texts, their words as often as Zipf has it: distinct counts and a tree by the improved rule, against polars'
value_counts of the texts, where polars is at hand (pip install polars; nothing else needs it). Memory is the most that the process has held above the codes themselves.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synth_engine.codec import Ranking, prefixes
from synth_engine.confidential import counts, growth, noise
from synth_engine.confidential.rows import Rows
from synth_engine.confidential.samplers import SecureSampler
from synth_engine.domain import Domain, Integer, Weak
from synth_engine.hierarchy import Rule, SpatialHierarchy
from synth_engine.measurement import Noise
from synth_engine.privacy import trees
from synth_engine.values import from_json

Result = TypeVar("Result")
BITS = 10
NODES = 1_500_000
TEXTS, WORDS = 5_000_000, 150_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Noisy:
    """The room's noise."""

    def counts(self, vector: npt.NDArray[np.int64], law: Noise) -> npt.NDArray[np.int64]:
        return noise.noisy(vector, law)


class Exactly(Noisy):
    """No noise: what is left is the tree."""

    def counts(self, vector: npt.NDArray[np.int64], law: Noise) -> npt.NDArray[np.int64]:  # noqa: ARG002
        return vector


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """The least of three times, of the processor: others may be at work beside."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return best, found


def clusters(number: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.uint16]]:
    """Half of the points anywhere near one of many centres, the more often the wider."""
    centres = rng.integers(0, 1 << BITS, (20_000, 4)).astype(np.float32)
    of = np.minimum(
        (20_000 * rng.random(number, dtype=np.float32) ** 2).astype(np.int64), 19_999
    )
    found = {}
    for axis in range(4):
        drawn = centres[of, axis] + rng.standard_normal(number, dtype=np.float32) * 8
        found[f"c{axis}"] = np.clip(drawn, 0, (1 << BITS) - 1).astype(np.uint16)
    return found


def peak() -> float:
    """Gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def of_points(number: int) -> None:
    columns = clusters(number, np.random.default_rng(1))
    domain = Domain(
        attributes=tuple(
            Integer(name=name, low=0, high=(1 << BITS) - 1, width=1) for name in columns
        )
    )
    points = prefixes.hierarchy(domain, domain.names)
    assert isinstance(points, SpatialHierarchy)
    encoding, codes = timed(lambda: prefixes.of_codes(points, columns, domain))
    sorting, _ = timed(lambda: np.sort(codes))
    held = peak()
    rows = Rows(columns, domain=domain)
    counting, leaves = timed(lambda: counts.by_leaf(rows, points))
    law = Noise(law="discrete-laplace", scale=Fraction(8))

    def tree(threshold: int, sampler: Noisy = Exactly()) -> growth.Growth:  # noqa: B008 - it holds nothing
        rule = Rule(name="basic", depth=8, threshold=threshold)
        return growth.grow_tree(leaves, hierarchy=points, rule=rule, noise=law, sampler=sampler)  # type: ignore[arg-type]

    low, high = 2, 1 << 16
    while high - low > max(1, low // 50):  # the threshold with about so many nodes
        middle = (low + high) // 2
        low, high = (
            (middle, high) if sum(map(len, tree(middle).counts)) > NODES else (low, middle)
        )
    bare, _ = timed(lambda: tree(high))
    growing, grown = timed(lambda: tree(high, Noisy()))
    nodes = sum(map(len, grown.counts))
    print(f"{number:,} points: codes {encoding:.2f} s, np.sort of the codes {sorting:.2f} s")
    print(
        f"codes and sort {counting:.2f} s, a tree of {nodes:,} nodes {growing:.2f} s, without its noise {bare:.2f} s"
    )
    print(f"codes, sort and tree with noise / np.sort = {(counting + growing) / sorting:.2f}")
    print(f"exact noise: {(growing - bare) / nodes * 1e9:.0f} nanoseconds a node")
    print(f"memory above codes: {peak() - held:.2f} GB")


def zipf(number: int, rng: np.random.Generator) -> pa.StringArray:
    """Texts of one to five syllables, the i-th commonest word with a chance of about 1 / i."""
    syllables = np.array(
        [a + b + c for a in "bdklmnprst" for b in "aeiou" for c in ("", "n", "r", "s")]
    )
    spelled = ["".join(rng.choice(syllables, size)) for size in rng.integers(1, 6, WORDS)]
    ranks = np.minimum(WORDS ** rng.random(number), WORDS - 1).astype(np.int64)
    return pa.array(spelled).take(pa.array(ranks))


def of_texts(number: int) -> None:
    texts = zipf(number, np.random.default_rng(2))
    attribute = Weak(
        name="word",
        values=from_json(
            {"set": "strings", "alphabet": LETTERS, "min_length": 1, "max_length": 20}
        ),
    )
    domain = Domain(attributes=(attribute,))
    words = prefixes.hierarchy(domain, ("word",))
    scale = Fraction(2)
    threshold = trees.least_threshold(scale=scale, branching=len(LETTERS) + 1)
    discount = trees.least_discount(scale=scale, threshold=threshold)
    rule = Rule(name="improved", depth=20, threshold=threshold, discount=discount)

    def tree() -> growth.Growth:
        ranking = Ranking(attribute)
        ranked = {"word": (ranking.places(texts), ranking.ranks)}
        rows = Rows({"word": np.zeros(number, dtype=np.uint16)}, domain=domain, ranked=ranked)
        law = Noise(law="discrete-laplace", scale=scale)
        leaves = counts.by_leaf(rows, words)
        return growth.grow_tree(
            leaves, hierarchy=words, rule=rule, noise=law, sampler=SecureSampler()
        )

    held = peak()
    growing, grown = timed(tree)
    above = peak() - held - 4 * number / 2**30
    opened = sum(map(len, grown.opened))
    print(
        f"{number:,} texts: distinct counts and a tree of {opened:,} opened nodes {growing:.2f} s, {above:.2f} GB above the texts and their codes"
    )
    if find_spec("polars") is None:
        print("polars is not at hand: no comparison")
        return
    import polars

    series = polars.from_arrow(texts)
    counting, _ = timed(series.value_counts)
    print(
        f"polars value_counts {counting:.2f} s; tree / value_counts = {growing / counting:.2f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["points"]:
        of_points(int(sys.argv[2]))
    elif sys.argv[1:2] == ["texts"]:
        of_texts(int(sys.argv[2]))
    else:  # each in a process of its own, as memory is the most that one has held
        for kind, number in (
            ("points", sys.argv[1] if len(sys.argv) > 1 else "10000000"),
            ("texts", str(TEXTS)),
        ):
            subprocess.run([sys.executable, __file__, kind, number], check=True)
